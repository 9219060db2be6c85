"""Models that people know: those that are here, and the way to the others."""

from typing import NamedTuple

import streamlit as st

from blocks.cost.units import prefixed
from blocks.model.faults import N_
from pages.ui import address, bringing, brought
from pages.ui.language import _, current_language, listing, literal

HOME, ENCODER = "app.py", "pages/encoder.py"
FRANCE = "The capital of France is"
MARY = "When Mary and John went to the store, John gave a drink to"
CLASS = "今天下午老师在教室里讲注意力机制，学生们听得很"


class RealModel(NamedTuple):
    """A published model: its name on the hub, its size, what it reads, and what to try first.

    `file`: what another package calls it, where one holds it.
    """

    title: str
    name: str
    n_parameters: int
    languages: tuple[str, ...]
    license: str
    texts: dict[str, str]
    page: str = HOME
    file: str = ""


ENGLISH, CHINESE = N_("English"), N_("Chinese")
MODELS = (
    RealModel(
        "SmolLM2 135M Instruct",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        134_515_008,
        (ENGLISH,),
        "Apache-2.0",
        {"en": FRANCE},
        file="folder:SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
    RealModel("GPT-2 small", "openai-community/gpt2", 124_439_808, (ENGLISH,), "MIT", {"en": MARY}),
    RealModel(
        "Qwen3 0.6B",
        "Qwen/Qwen3-0.6B",
        596_049_920,
        (ENGLISH, CHINESE),
        "Apache-2.0",
        {"en": FRANCE, "zh": CLASS},
    ),
    RealModel(
        "Gemma 3 270M",
        "google/gemma-3-270m",
        268_098_176,
        (ENGLISH, CHINESE),
        "Gemma",
        {"en": FRANCE, "zh": CLASS},
    ),
    RealModel(
        "BERT base",
        "google-bert/bert-base-uncased",
        109_482_240,
        (ENGLISH,),
        "Apache-2.0",
        {"en": "The capital of France is [MASK]."},
        page=ENCODER,
    ),
)


def real_models() -> None:
    """Those that are here lead on; the others come from the hub, where this serves one person."""
    names = (*brought.folders(), *brought.on_this_machine())
    may_fetch = address.serves_one_person()
    for model in MODELS:
        preset = here(model, names)
        if preset or may_fetch:
            _row(model, preset)
    if not may_fetch and not any(here(model, names) for model in MODELS):
        st.markdown(_("No real model is on this server. Whoever runs it adds one: `make model`."))
    if names:
        bringing.choose(names, key="real_model")
    bringing.say_faults()


def here(model: RealModel, names: tuple[str, ...]) -> str:
    """The name under which it opens at once; empty where it has to be fetched first."""
    for known in (model.file, f"{brought.LOCAL}hub/{model.name}"):
        if known in names:
            return known
    fetched = brought.HUB + model.name
    return fetched if brought.is_here(fetched) else ""


def _row(model: RealModel, preset: str) -> None:
    key = model.title.lower().replace(" ", "_")
    with st.container(gap=None, key=f"real_{key}"):
        if preset:
            text = model.texts.get(current_language(), model.texts["en"])
            query = {"lang": current_language(), "preset": preset, "text": text}
            st.page_link(model.page, label=f"**{model.title}**", query_params=query)
        else:
            st.markdown(f"**{model.title}**")
        st.caption(says_what(model, is_here=bool(preset)))
        if not preset:
            bringing.from_hub(model.name, key=key)


def says_what(model: RealModel, *, is_here: bool) -> str:
    """Its size, languages and license, and whether it is here."""
    text = _("{n} parameters · {languages} · license {license}")
    if is_here:
        text = _("{n} parameters · {languages} · license {license} · on this machine")
    return text.format(
        n=prefixed(model.n_parameters),
        languages=listing([_(each) for each in model.languages]),
        license=literal(model.license),
    )

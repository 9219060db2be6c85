"""Models that people know: those that are here, and the way to the others."""

import streamlit as st

from blocks.cost.units import prefixed
from blocks.model.kinds import Architecture
from blocks.weights.known import MODELS, RealModel
from pages.ui import address, bringing, brought
from pages.ui.language import _, current_language, enumeration

PAGES = {Architecture.ENCODER: "pages/encoder.py"}  # of those that do not run on Home


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
    if may_fetch:
        st.caption(says_where(is_alone=address.is_alone()))
        bringing.hub_by_name("home_hub")
    if names:
        bringing.choose(names, key="real_model")
    bringing.say_faults()


def here(model: RealModel, names: tuple[str, ...]) -> str:
    """The name under which it opens at once; empty where it has to be fetched first."""
    return model.file if model.file in names else brought.from_the_hub(model.name)


def _row(model: RealModel, preset: str) -> None:
    key = model.title.lower().replace(" ", "_")
    with st.container(gap=None):
        st.markdown(says_what(model, is_here=bool(preset)))
        if not preset:
            bringing.from_hub(model.name, key=key)
            return
        text = model.texts.get(current_language(), model.texts["en"])
        if path := PAGES.get(model.architecture):
            query = {"lang": current_language(), "preset": preset, "text": text}
            st.page_link(path, label=_("Open it"), query_params=query)
        else:
            st.button(
                _("Open it"),
                on_click=bringing.open_model,
                args=(preset, text),
                key=f"{key}_open",
            )


def says_what(model: RealModel, *, is_here: bool) -> str:
    """Its size, languages and license, and whether it is here."""
    text = _("**{title}** · {n} parameters · {languages} · license {license}")
    if is_here:
        text = _("**{title}** · {n} parameters · {languages} · license {license} · is here")
    return text.format(
        title=model.title,
        n=prefixed(model.n_parameters),
        languages=enumeration([_(each) for each in model.languages]),
        license=model.license,
    )


def says_where(*, is_alone: bool) -> str:
    """Whose disk keeps what is fetched."""
    if is_alone:
        return _(
            "Models are fetched into the Hugging Face cache of this machine and opened there. A "
            "fetch that was stopped is resumed."
        )
    return _(
        "Models are kept on this server until it needs the space. A fetch that was stopped is "
        "resumed."
    )

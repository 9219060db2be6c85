"""Questions that people have, each with the panel that answers it."""

from collections.abc import Iterable
from typing import Any

import streamlit as st

from blocks.model.faults import N_
from pages.page.frame import PAGE_OF_PART
from pages.stage import link
from pages.state.link_fields.compare import Kept, text_of
from pages.words.language import _

BLOCK, ENCODER, GPT = "pages/block.py", "pages/encoder.py", "pages/gpt.py"
PARAMETERS, COST = "pages/parameters.py", "pages/cost.py"
ATTENTION = PAGE_OF_PART["attention"]
ONE_PASS, TRAINING, PHASES = "pages/forward_pass.py", "pages/training.py", "pages/phases.py"
INSTRUMENTS = "pages/instruments.py"
COURSE, SHARED_HEADS = {"preset": "course"}, {"preset": "llama-3.1-8b"}
Way = tuple[str, str, dict[str, Any]]
EXPERIMENTS: tuple[Way, ...] = (
    (N_("What is a Transformer? Watch one at work"), ONE_PASS, {}),
    (N_("What comes next? A small GPT tells a story"), GPT, {"panel": "next"}),
    (N_("Why this word? Hide one token at a time"), GPT, {"panel": "leave-one-out"}),
    (N_("Which word is hidden? An encoder guesses"), ENCODER, {"panel": "prediction"}),
    (
        N_("How does a model translate? Watch it align two languages"),
        "pages/seq2seq.py",
        {"panel": "decoding"},
    ),
    (N_("Where does a word read from? Step by step"), ATTENTION, {"panel": "steps"}),
    (
        N_("How does a head find what came before?"),
        BLOCK,
        {"preset": "induction", "layer": "1", "token": "26", "panel": "heads"},
    ),
    (N_("Train a model yourself and watch it learn"), TRAINING, {}),
    (N_("Which setting is best? Train several"), TRAINING, {"panel": "sweep"}),
    (N_("When does a model understand? Grokking"), PHASES, {"panel": "grokking"}),
    (N_("Five features in two numbers? Superposition"), PHASES, {"panel": "superposition"}),
    (
        N_("What loss will a larger run reach? Predict it, then train and see"),
        "pages/scaling.py",
        {"panel": "predict"},
    ),
    (
        N_("How small can a model be and still do its job?"),
        "pages/efficiency.py",
        {"preset": "translator", "panel": "frontier"},
    ),
    (
        N_("Why can deeper models be trained with pre-norm?"),
        PAGE_OF_PART["norm"],
        {**COURSE, "panel": "theory"},
    ),
    (N_("Can a token peek ahead? Look for a leak"), "pages/masks.py", {"panel": "leaks"}),
    (
        N_("Can I trust this picture? Instruments tested on models whose answers are known"),
        INSTRUMENTS,
        {"panel": "chart"},
    ),
    (
        N_("Can a whole model be read? A circuit of a few dozen weights"),
        INSTRUMENTS,
        {"panel": "circuit"},
    ),
    (
        N_("Why must a GPT not peek? Training with and without the mask"),
        "pages/masks.py",
        {"panel": "peeking"},
    ),
    (N_("How does word order get into the model?"), PAGE_OF_PART["position"], {"panel": "kinds"}),
    (
        N_("Mixture of experts: which token goes where?"),
        PAGE_OF_PART["feed_forward"],
        {**COURSE, "n_experts": "8", "n_active_experts": "2", "panel": "experts"},
    ),
    (
        N_("Do more heads cost more parameters?"),
        BLOCK,
        {**COURSE, "n_heads": "16", "panel": "parameters"},
    ),
    (
        N_("Where are GPT-2's 124 million parameters? Part by part"),
        PARAMETERS,
        {"preset": "gpt2-small", "panel": "breakdown"},
    ),
    (N_("What does it take to train GPT-2?"), COST, {"preset": "gpt2-small", "panel": "training"}),
    (
        N_("MHA or GQA? Two models side by side"),
        "pages/compare.py",
        {
            **SHARED_HEADS,
            "kept": text_of((Kept("MHA", (*SHARED_HEADS.items(), ("n_kv_heads", "32"))),)),
            "context_len": "32768",
            "panel": "differences",
        },
    ),
)
ARCHITECTURES: tuple[Way, ...] = (
    (N_("Parameters of GPT-2, Llama, Qwen and more"), PARAMETERS, {"panel": "published"}),
    (N_("Paste a config.json"), PARAMETERS, {"panel": "config-json"}),
    (N_("FLOPs, memory and run time"), COST, {"panel": "flops"}),
    (N_("Two models side by side"), "pages/compare.py", {"panel": "differences"}),
)


def questions(ways: Iterable[Way]) -> None:
    """Each leads to the panel that answers it."""
    state = link.as_query()
    for question, page, values in ways:
        kept = {name: state[name] for name in _kept(page, values, state) if name in state}
        st.page_link(page, label=_(question), query_params={**kept, **values})


def _kept(page: str, values: dict[str, Any], state: dict[str, str]) -> tuple[str, ...]:
    """What a question takes along: a text that was typed only to a model that can read it."""
    if page in (ONE_PASS, ATTENTION):
        return "lang", "preset", "text"
    is_elsewhere = "preset" in {**values, **state} or page == TRAINING
    return ("lang",) if is_elsewhere else ("lang", "text")

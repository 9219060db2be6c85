"""Home: the model drawn once, and every part of the drawing leads to where it is explored."""

import streamlit as st

from blocks.faults import N_
from blocks.kinds import Architecture
from blocks.run import Run
from pages.figures import strip
from pages.ui import labelled, link, words
from pages.ui.chart import show
from pages.ui.compare.fields import Kept, text_of
from pages.ui.frame import PAGE_OF_PART, close_page, open_page, recorded
from pages.ui.inputs import vector_controls
from pages.ui.language import _

TITLE = N_("See a Transformer work")
BLOCK, ENCODER, GPT = "pages/block.py", "pages/encoder.py", "pages/gpt.py"
TRAINING = "pages/training.py"
COURSE = {"preset": "course"}
INTRODUCTION = {
    True: N_(
        "A small Transformer that learned to tell stories runs on this machine; everything you see "
        "is measured in that run. Type a sentence, click a part, or start with a question."
    ),
    False: N_(
        "A Transformer block with random weights runs on this machine; everything you see is "
        "measured in that run. Type a sentence, click a part, or start with a question."
    ),
}
EXPERIMENTS = (
    (N_("What comes next? A small GPT tells a story"), GPT, {}),
    (N_("Which word is hidden? An encoder guesses"), ENCODER, {}),
    (N_("How does it translate? Watch it align two languages"), "pages/seq2seq.py", {}),
    (N_("Where does a word read from? Step by step"), PAGE_OF_PART["attention"], {}),
    (
        N_("How does a head find what came before? Induction"),
        BLOCK,
        {"preset": "induction", "layer": "1", "token": "26", "panel": "heads"},
    ),
    (N_("Train one yourself, and watch it learn"), TRAINING, {}),
    (
        N_("Why does pre-norm train deeper?"),
        PAGE_OF_PART["norm"],
        {**COURSE, "race": "true", "panel": "race"},
    ),
    (N_("Can a token peek ahead? Look for a leak"), "pages/masks.py", {}),
    (N_("How does the order of the words get in?"), PAGE_OF_PART["position"], {}),
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
        N_("Where do GPT-2's 124 million parameters sit? Piece by piece"),
        "pages/parameters.py",
        {"preset": "gpt2-small"},
    ),
    (
        N_("What does it take to train GPT-2?"),
        "pages/cost.py",
        {"preset": "gpt2-small", "panel": "training"},
    ),
    (
        N_("Grouped heads against a key for each: two models side by side"),
        "pages/compare.py",
        {**COURSE, "n_kv_heads": "2", "kept": text_of((Kept("MHA", (*COURSE.items(),)),))},
    ),
)


def main() -> None:
    """Ten seconds: what this is, and what to do first."""
    run = open_page(TITLE, Architecture.BLOCK)
    st.markdown(_(INTRODUCTION[bool(run.weights)]))
    recorded(run)
    layer = labelled.selected_layer(run)
    left, right = st.columns([5, 6], gap="large")
    with left:
        show(draw_block, run, layer, key="home_strip", alt=words.strip_alt, on_click=choose_part)
        st.caption(_("This block just ran. Click a part to open it; wider wire, larger RMS."))
    with right:
        sentence(run)
        experiments()
    close_page(TITLE)
    if stage := st.session_state.pop("part_chosen", None):
        part = labelled.one_stage(run, layer, stage)["part"]
        st.switch_page(PAGE_OF_PART.get(part, BLOCK), query_params=link.elsewhere())


def sentence(run: Run) -> None:
    """Your own sentence, and on to what it does in the block."""
    st.subheader(_("Type a sentence"))
    vector_controls(run)
    if st.button(_("See it pass through the block"), type="primary", icon=":material/play_arrow:"):
        st.switch_page(BLOCK, query_params=link.elsewhere())


def draw_block(run: Run, layer: int):
    """The block, as it ran."""
    return strip.block_strip(labelled.stages(run, layer), selected="", _=_)


def choose_part(customdata: list) -> None:
    """A part of the drawing was clicked."""
    link.change("stage", customdata[0])
    st.session_state["part_chosen"] = customdata[0]


def experiments() -> None:
    """Questions that a class asks, one click each."""
    st.subheader(_("Or start with a question"))
    state = link.as_query()
    for question, page, values in EXPERIMENTS:
        names = ("lang",) if "preset" in values or page == TRAINING else ("lang", "text")
        kept = {name: state[name] for name in names if name in state}
        query = {**kept, **values}
        st.page_link(page, label=_(question), icon=":material/science:", query_params=query)


main()

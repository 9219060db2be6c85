"""What rounding to a few bits does to each matrix, and to the numbers of one row."""

from functools import lru_cache, partial

import streamlit as st

from blocks.cost.units import bytes_text
from blocks.efficiency import quantization, rounding
from blocks.efficiency import rounding_facts as facts_of
from blocks.efficiency.compression import Compression, layers
from blocks.efficiency.quantization import BITS, Granularity, Quantization, RangeRule
from blocks.efficiency.rounding import Rounding
from blocks.efficiency.rounding_facts import RoundingFacts, Rows
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.page.frame import section
from pages.panels.efficiency import exemption, rounding_picture, score_text, shared
from pages.panels.efficiency.matrix_map_picture import matrix_name
from pages.panels.efficiency.recipe_words import in_words
from pages.panels.efficiency.rounded_score import what_it_still_can_do
from pages.server import starts
from pages.show import phone
from pages.show.chart import columns, show
from pages.show.choices import chooses
from pages.show.controls import choose, pick, slide, slider, switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.said import say
from pages.show.steps import in_steps
from pages.stage import present
from pages.state.link_fields.efficiency import GROUP_SIZES
from pages.state.values import State
from pages.words.language import _, fill

GRANULARITY_NAMES = {
    "tensor": N_("per matrix"),
    "channel": N_("per row"),
    "group": N_("per group within a row"),
}
RANGE_NAMES = {
    "absmax": N_("full range"),
    "percentile": N_("99.5th percentile"),
    "least_error": N_("minimum squared error"),
    "hqq": "HQQ",
}
ROUNDING_NAMES = {"nearest": N_("to nearest"), "gptq": "GPTQ", "awq": "AWQ"}
GRID_FIELDS = ("n_bits", "granularity", "group_size", "symmetric_grid", "range_rule", "rounding")
CODE = (quantization.quantize, quantization.affine_grid, rounding.gptq, rounding.awq)


@lru_cache(maxsize=32)
def rounding_facts(weights: str, how: Compression, matrix: str) -> RoundingFacts:
    rows_of = partial(rounded_rows, weights, how)
    return facts_of.rounding_facts(starts.calibrated(weights), how, matrix, rows_of)


@lru_cache(maxsize=2048)
def rounded_rows(weights: str, how: Compression, names: tuple[str, ...]) -> Rows:
    return facts_of.rounded_rows(starts.calibrated(weights), how, names)


def chosen(run: Run, state: State) -> Compression:
    """The rounding that the reader has set."""
    rounding = Rounding(state.rounding)
    return Compression(
        quantization=_grid(state), rounding=rounding, exempt=exemption.chosen(run, state)
    )


def _grid(state: State) -> Quantization:
    return Quantization(
        n_bits=state.n_bits,
        granularity=Granularity(state.granularity),
        group_size=state.group_size,
        symmetric=state.symmetric_grid,
        range_rule=RangeRule(state.range_rule),
    )


def says_rounding(facts: RoundingFacts) -> str:
    """What is saved, and which matrix pays most."""
    text = _(
        "Including scales, each weight takes {bits:.2f} bits; the total shrinks from {before} "
        "(at 16 bits) to {after}. The signal-to-noise ratio is lowest in "
        "{worst}: {least:.1f} dB; the median matrix has {median:.1f} dB. Each additional "
        "6 dB halves the error."
    )
    return text.format(
        bits=facts.bits_a_weight,
        before=bytes_text(facts.n_bytes_before),
        after=bytes_text(facts.n_bytes),
        worst=matrix_name(facts.worst["matrix"], _),
        least=facts.worst["sqnr"],
        median=facts.median_sqnr,
    )


def says_grid(facts: RoundingFacts) -> str:
    """Whose numbers are drawn, and how many points they use."""
    grid = facts.grid
    text = _(
        "In row {row:from_one} of {matrix}, the row with the largest relative error, the weights "
        "shown use {n_used} of {points} grid points."
    )
    return fill(text, grid, matrix=matrix_name(grid.matrix, _), points=len(grid.points))


@section
def what_rounding_loses(run: Run, state: State) -> None:
    """Bits, grids and rounding; the noise of each matrix; the numbers of one row."""
    place = explained(("quantization",), CODE, key="rounding")
    how = chosen(run, state)
    if nothing := exemption.says_nothing_left(run, how.exempt, in_layers=False):
        place.info(nothing, icon=":material/lightbulb:")
        exemption.exempt_controls(run, how, state=state)
        return
    weights = score_text.measured(run, state)
    at = weights, how, state.rounded_matrix
    is_known = _rounded(weights, how)
    if is_known:
        with place:
            say(says_rounding, *at, facts=rounding_facts)
    with present.aside():
        chosen_way, onward = st.columns(2, vertical_alignment="bottom")
        with chosen_way:
            rounding_control()
        with onward:
            shared.way_to(how, _("Show this model on all pages"), "use_rounded")
    exemption.exempt_controls(run, how, state=state)
    if not is_known:
        return
    left, right = columns([6, 5])
    with left:
        show(rounding_picture.number_line, *at, facts=rounding_facts, key="number_line")
    with right:
        show(
            rounding_picture.noise,
            *at,
            facts=rounding_facts,
            key="noise",
            on_click=shared.look_at_matrix,
        )
    found = rounding_facts(*at)
    note(says_grid(found))
    with present.aside():
        what_it_still_can_do(run, how, state)
    download("rounding.csv", lambda: found.rows.to_csv(index=False), "text/csv")


def _rounded(weights: str, how: Compression) -> bool:
    """Whether all matrices are rounded; as far as the reader lets it."""
    each_layer = layers(starts.calibrated(weights), how)
    steps = [partial(rounded_rows, weights, how, names) for names in each_layer]
    what = weights, how
    return not in_steps(steps, what=what, key="rounded_rows", shows_parts=False).is_stopped


def rounding_control(place: str = "") -> None:
    """How a number finds its point; `place`: which of several such lists it is."""
    names = ROUNDING_NAMES
    pick("rounding", _("Rounding"), Rounding, label_of=lambda name: _(names[name]), place=place)


@chooses("n_bits", "symmetric_grid", "granularity", "group_size", "range_rule")
def grid_controls(_run: Run, state: State) -> None:
    said = in_words(Compression(quantization=_grid(state)))
    phone.folded(said, partial(_grid_controls, state), key="grid_fold")


def _grid_controls(state: State) -> None:
    left, middle, right = st.columns(3)
    with left:
        slider("n_bits", _("bits"), least=BITS[0], most=BITS[-1])
        switch("symmetric_grid", _("symmetric about 0"))
    with middle:
        names = GRANULARITY_NAMES
        choose(
            "granularity",
            _("Granularity of the grid"),
            Granularity,
            label_of=lambda name: _(names[name]),
        )
        if state.granularity == Granularity.GROUP:
            slide("group_size", _("weights per group"), GROUP_SIZES)
    with right:
        pick("range_rule", _("Range of the grid"), RangeRule, label_of=lambda n: _(RANGE_NAMES[n]))

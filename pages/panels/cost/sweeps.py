"""How time and memory grow here: one size of a layer, number formats, ways to attend."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.cost import pass_time, sweep, timing
from blocks.cost import sweep_facts as facts_of
from blocks.cost.fit import n_parameters
from blocks.cost.operations import Phase, Tokens
from blocks.cost.sweep import LONGEST_PASS, Point, Sweep, Swept
from blocks.cost.sweep_facts import Formats, FormulaFacts, Reading, SweepFacts, format_facts
from blocks.cost.units import bytes_text, rounded
from blocks.model.devices import available_dtypes
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.numbers import readable
from pages.figures.units import duration
from pages.page.frame import section
from pages.panels.attention.kinds import (
    how_they_grow,
    pairs,
    pairs_facts,
    says_theory,
    theory_table,
)
from pages.panels.cost import shared, sweeps_picture
from pages.panels.cost.sweeps_picture import SWEPT_NAMES
from pages.server.settings import memory_budget
from pages.show.chart import show
from pages.show.controls import choose, slide, switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.said import tell
from pages.show.steps import in_series
from pages.show.tables import show_table
from pages.stage import present
from pages.state.link_fields.cost import DIRECTIONS, SWEEP_LENGTHS, SWEPT
from pages.state.values import State
from pages.words.language import _, sentences

ALIKE = 0.1  # of a ratio of times
DTYPES = ("float32", "bfloat16", "float16")
DIRECTION_NAMES = {"forward": N_("forward"), "forward_backward": N_("forward and backward")}
READINGS = {
    Reading.HEADS: N_(
        "With more heads, the same matrix products are divided among them: FLOPs stay the "
        "same, and only the number of scores grows."
    ),
    Reading.SLOWER: N_(
        "Time grows more slowly than FLOPs: small sizes leave the device partly idle; larger "
        "ones use it better."
    ),
    Reading.FASTER: N_(
        "Time grows faster than FLOPs: perhaps the data no longer fit into a cache, "
        "or the machine is busy with other work."
    ),
    Reading.ALIKE: N_("Time grows in step with FLOPs."),
}
CODE = (sweep.swept, pass_time.measure_layer, timing.measure_times)
Found = tuple[tuple[Sweep, ...], tuple[Point, ...]]


sweep_facts = lru_cache(maxsize=64)(facts_of.sweep_facts)
formula_facts = lru_cache(maxsize=64)(facts_of.formula_facts)


def says_formula(facts: FormulaFacts) -> str:
    """How the FLOPs grow, which time may follow or not."""
    if facts.exponent is None:
        return _("Only one size is possible here, so there is no growth to see.")
    return _(
        "By formula, the FLOPs of one layer grow as {what}^{theory:.2f} over the three largest "
        "sizes. Measure whether time does too."
    ).format(what=_what(facts.what), theory=facts.exponent)


def _what(swept: Swept) -> str:
    return "n" if swept is Swept.TOKENS else _(SWEPT_NAMES[swept])


def says_growth(facts: SweepFacts) -> str:
    """How time and memory grow, beside the FLOPs."""
    series = facts.lines[0].place.dtype
    if series not in facts.exponents["seconds"]:
        return _("One size gives no slope: measure the others too.")
    text = _(
        "As {what} doubles over the three largest sizes, time grows about as "
        "{what}^{time:.2f}, FLOPs as {what}^{theory:.2f} by formula, and peak memory as "
        "{what}^{memory:.2f}."
    )
    said = text.format(
        what=_what(facts.what),
        time=facts.exponents["seconds"][series],
        theory=facts.exponents["flops"][series],
        memory=facts.exponents["bytes"][series],
    )
    return sentences(said, _(READINGS[facts.reading]))


def says_formats(facts: Formats) -> str:
    """Which number format pays, at the longest text that all that were measured share."""
    said = _("At n = {n:,}, float32 takes {time}.").format(n=facts.n, time=duration(facts.seconds))
    return sentences(said, *(_compared(name, ratio) for name, ratio in facts.speedups))


def says_bytes(facts: pd.DataFrame) -> str:
    """What fewer bits save by formula, and what has to be measured."""
    text = _(
        "By formula, the weights of the whole model take {most} in float32 and {least} in "
        "16-bit formats. bfloat16 covers about the same range as float32, in coarser steps; "
        "float16 ends at {end}. Whether fewer bytes save time depends on the device: measure "
        "it here."
    )
    rows = facts.set_index("format")
    sizes, end = rows["n_bytes"].map(bytes_text), readable(rows["largest"]["float16"])
    return text.format(most=sizes["float32"], least=sizes["bfloat16"], end=end)


def formats_table(facts: pd.DataFrame) -> pd.DataFrame:
    """What each format takes, how far it reaches, how finely it divides."""
    return pd.DataFrame(
        {
            _("number format"): facts["format"],
            _("weights of the model"): facts["n_bytes"].map(bytes_text),
            _("largest number"): facts["largest"].map(readable),
            _("gap between 1 and the next number"): facts["step"].map(readable),
        }
    )


def _compared(name: str, ratio: float) -> str:
    if abs(ratio - 1) < ALIKE:
        return _("{dtype} is about as fast as float32 here.").format(dtype=name)
    if ratio > 1:
        text = _("{dtype} pays off here: it is {ratio} times as fast as float32.")
        return text.format(dtype=name, ratio=rounded(ratio))
    text = _("{dtype} is slower here: it takes {ratio} times as long as float32.")
    return text.format(dtype=name, ratio=rounded(1 / ratio))


def says_skipped(facts: SweepFacts) -> str:
    said = [_refused(series, each) for series, each in facts.skipped]
    return sentences(_("Not measured."), *said) if said else ""


def _refused(series: str, refused: Point) -> str:
    if refused.n_bytes:
        text = _(
            "{dtype}: from size {size:,} up, a pass needs about {need}, more than a single "
            "run may use."
        )
        return text.format(dtype=series, size=refused.size, need=bytes_text(refused.n_bytes))
    text = _(
        "{dtype}: from size {size:,} up, a pass would take about {time}, more than the "
        "limit of {most}."
    )
    times = {"time": duration(refused.seconds), "most": duration(LONGEST_PASS)}
    return text.format(dtype=series, size=refused.size, **times)


def says_how(facts: SweepFacts) -> str:
    """What was measured, and how."""
    text = _(
        "Measured here: {where}. One layer of this model, with random weights and input "
        "(seed {seed}), {start}; medians of up to {repeats} samples after warm-up (error "
        "bars: quartiles). Memory is the peak beyond weights and input{counted}."
    )
    on_cpu = _(", counted tensor by tensor; memory used inside kernels is not included")
    place = facts.lines[0].place
    dtypes = ", ".join(line.place.dtype for line in facts.lines)
    said = text.format(
        where=shared.where(place._replace(dtype=dtypes)),
        seed=facts.lines[0].seed,
        start=_start(facts.lines[0]),
        repeats=facts.repeats,
        counted=on_cpu if place.device == "cpu" else "",
    )
    return sentences(said, shared.busy(facts.load))


def _start(line: Sweep) -> str:
    """What stays."""
    if line.what is Swept.TOKENS:
        return _("batch size 1")
    if line.what is Swept.BATCH:
        return f"n = {line.tokens.n:,}"
    return _("batch size 1, n = {n:,}").format(n=line.tokens.n)


def sweep_controls(state: State) -> None:
    """What doubles, in which direction, and how long a text is where that stays."""
    left, middle, right = st.columns(3)
    with left:
        choose("swept", _("What to double"), SWEPT, label_of=lambda name: _(SWEPT_NAMES[name]))
    with middle:
        label = _("Type of pass")
        names = DIRECTION_NAMES
        choose("sweep_direction", label, DIRECTIONS, label_of=lambda name: _(names[name]))
    with right:
        if state.swept != Swept.TOKENS:
            slide("sweep_len", _("n · tokens"), SWEEP_LENGTHS)


def chosen_sweep(run: Run, state: State) -> Sweep:
    """The line that the reader has set."""
    return Sweep(
        config=shared.of_one_kind(run.config),
        tokens=Tokens(Phase.PREFILL, state.sweep_len),
        what=Swept(state.swept),
        is_backward=state.sweep_direction != DIRECTIONS[0],
        place=shared.place(run, "measure_sweep", state),
        seed=run.seed,
    )


def format_sweeps(run: Run, state: State) -> tuple[Sweep, ...]:
    """A line for each number format that the device has."""
    tokens = Tokens(Phase.PREFILL, state.sweep_len)
    place = shared.place(run, "measure_dtypes", state)
    config = shared.of_one_kind(run.config)
    return tuple(
        Sweep(config, tokens, Swept.TOKENS, False, place._replace(dtype=dtype), run.seed)
        for dtype in formats_here(run)
    )


def formats_here(run: Run) -> tuple[str, ...]:
    """The number formats that are compared, of those that the device has."""
    here = available_dtypes(run.device)
    return tuple(dtype for dtype in DTYPES if dtype in here)


@section
def how_it_grows(run: Run, state: State) -> None:
    """One size doubles, and one layer is measured at each."""
    with explained(("roofline",), CODE, key="sweeps"), present.aside():
        sweep_controls(state)
    shared.say_one_kind(run.config)
    text = _("Measure one layer")
    line = chosen_sweep(run, state)
    if not shared.measure_button("measure_sweep", text, state, again=_("Measure again")):
        tell(says_formula(formula_facts(line)))
        show(sweeps_picture.flops, line, facts=formula_facts, key="sweep_flops")
        return
    shown = measured((line,), "sweep_steps", "measure_sweep")
    facts = sweep_facts(*shown)
    if facts.rows.empty:
        return
    st.info(says_growth(facts), icon=":material/trending_up:")
    both_pictures(shown, "sweep")
    note(says_how(facts))


@section
def which_format_pays(run: Run, state: State) -> None:
    """The same layer in each number format, as n doubles."""
    text = _("Measure float32, bfloat16 and float16")
    with explained(("roofline",), CODE[1:2], key="formats"):
        is_asked = shared.measure_button("measure_dtypes", text, state, again=_("Measure again"))
    shared.say_one_kind(run.config)
    formats = n_parameters(run.config), formats_here(run)
    known = format_facts(*formats)
    if is_asked:
        _formats_measured(run, state)
    else:
        tell(says_bytes(known))
        show(sweeps_picture.formats, *formats, facts=format_facts, key="format_reach")
    show_table(formats_table(known), key="formats_by_formula")
    if not is_asked:
        note(
            _(
                "This measures one layer of the model in each format for n = 16 to 4,096, one "
                "forward pass at a time."
            )
        )


def _formats_measured(run: Run, state: State) -> None:
    """What was measured, as far as it goes."""
    shown = measured(format_sweeps(run, state), "dtype_steps", "measure_dtypes")
    facts = sweep_facts(*shown)
    if facts.rows.empty:
        return
    if facts.formats:
        tell(says_formats(facts.formats))
    both_pictures(shown, "formats")
    note(says_how(facts))


@section
def which_attention_pays(run: Run, state: State) -> None:
    """Explicit, fused, window, block-sparse and linear attention, as n doubles."""
    with explained(("attention_kinds",), key="growth_of_kinds"), present.aside():
        switch("measure_kinds", _("Measure how time and memory grow with n on this machine"))
    if state.measure_kinds:
        how_they_grow(run, state)
        return
    longest = state.kinds_up_to
    tell(says_theory(longest))
    show(pairs, longest, facts=pairs_facts, key="kinds_pairs")
    show_table(theory_table(), key="kinds_theory")


def measured(wanted: tuple[Sweep, ...], key: str, asked_by: str) -> Found:
    """As far as they are measured."""
    budget = memory_budget(wanted[0].place.device)
    done = in_series(facts_of.Sweeps(wanted, budget), key=key, asked_by=asked_by)
    found = wanted, tuple(done.found)
    if said := says_skipped(sweep_facts(*found)):
        note(said)
    return found


def both_pictures(shown: Found, key: str) -> None:
    """Time and memory beside each other, and their numbers to keep."""
    left, right = st.columns(2)
    with left:
        show(sweeps_picture.time, *shown, facts=sweep_facts, key=f"{key}_time")
    with right:
        show(sweeps_picture.memory, *shown, facts=sweep_facts, key=f"{key}_memory")
    rows = sweep_facts(*shown).rows
    download(f"{key}.csv", lambda: rows.to_csv(index=False), "text/csv")

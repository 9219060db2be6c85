"""Whether whole numbers of 8 bits are multiplied faster here: matrix by matrix, and all of it."""

from functools import lru_cache

import pandas as pd

from blocks.cost.timing import Place
from blocks.cost.units import bytes_text
from blocks.efficiency import int8_times, packed
from blocks.efficiency.int8_passes import Int8Passes
from blocks.efficiency.int8_times import (
    ALIKE,
    Int8Facts,
    Int8Times,
    MatrixBytes,
    PassTimes,
    ProductTimes,
    shapes_of,
)
from blocks.efficiency.names import compression_of
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Look, bars, line
from pages.figures.numbers import readable
from pages.figures.units import duration
from pages.page.frame import section
from pages.panels.cost.shared import busy, measure_button, where
from pages.panels.efficiency import score_text
from pages.panels.efficiency.recipe_words import exempt_in_words
from pages.panels.efficiency.teaching import teacher_of
from pages.server import starts
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.fold import details
from pages.show.said import say
from pages.show.steps import in_series
from pages.show.tables import show_whole
from pages.state.values import State
from pages.words.language import _, enumeration, fill, ngettext, say_fault, sentences
from pages.words.numbers import percent

CODE = (packed.PackedProduct, packed.run_packed, int8_times.measure_product)


@lru_cache(maxsize=32)
def int8_facts(found: tuple[ProductTimes, ...], passes: tuple[PassTimes, ...] = ()) -> Int8Facts:
    return Int8Facts(found, passes)


@lru_cache(maxsize=32)
def matrix_bytes(weights: str) -> MatrixBytes:
    """The matrices of a model; `weights` names it as it was trained."""
    return MatrixBytes(shapes_of(starts.calibrated(weights)))


def says_bytes(facts: MatrixBytes) -> str:
    """What is expected of fewer bytes, before anything is timed."""
    text = _(
        "In float32 the {n_matrices} matrices take {float32}, **{times_fewer:readable} times as "
        "many bytes** to read as in int8 ({int8}). int8 is faster only where reading fewer bytes "
        "and integer arithmetic save more time than rounding the inputs costs. Does that hold for "
        "one token, or for many?"
    )
    return fill(text, facts, float32=bytes_text(facts.float32), int8=bytes_text(facts.int8))


def says_int8(facts: Int8Facts) -> str:
    """For each number of tokens at once, which is faster and by how much."""
    text = _(
        "Each of the model's {n} matrices is applied once to n tokens. From bytes alone, "
        "int8 should be {ratio} times as fast:"
    )
    ratio = readable(facts.matrices.times_fewer)
    lead = text.format(n=facts.matrices.n_matrices, ratio=ratio)
    return sentences(lead, *(_of_matrices(facts, n) for n in facts.tokens))


def _of_matrices(facts: Int8Facts, n: int) -> str:
    return _verdict(f"n = {n}", facts.seconds("float32", n), facts.seconds("int8", n))


def _verdict(what: str, float32: float, int8: float) -> str:
    ratio = float32 / int8
    text = _("{what}: int8 is as fast as float32 ({int8}).")
    if ratio > ALIKE:
        text = _("{what}: int8 is **{ratio} times as fast** ({int8} against {float32}).")
    elif ratio < 1 / ALIKE:
        text = _("{what}: int8 takes {inverse} times as long ({int8} against {float32}).")
    return text.format(
        what=what,
        ratio=readable(ratio),
        inverse=readable(1 / ratio),
        int8=duration(int8),
        float32=duration(float32),
    )


def says_passes(facts: Int8Facts) -> str:
    """The whole model in int8 beside itself in float32: one token, then a batch."""
    text = _("In passes through the whole model, everything but these matrices stays in float32.")
    verdicts = (_verdict(_what(each), each.float32, each.int8) for each in facts.passes)
    mixed = _("With int8 only for the matrices that it speeds up: {each}.")
    return sentences(text, *verdicts, mixed.format(each=enumeration(map(_mixed, facts.passes))))


def _what(each: PassTimes) -> str:
    text = ngettext("{n:,} token at a time", "{n:,} tokens at once", each.n_tokens)
    return text.format(n=each.n_tokens)


def _mixed(each: PassTimes) -> str:
    text = _("{what}: {time} ({n} of {all} matrices in int8)")
    time = duration(each.mixed)
    return text.format(what=_what(each), time=time, n=each.n_mixed, all=each.n_int8)


def says_how(facts: Int8Facts, series: Int8Times) -> str:
    """What was measured, and where."""
    text = _(
        "Measured here: {where}. With torch's packed kernel, weights have one grid per "
        "row and activations one grid per token; activation grids are recomputed on every "
        "call, which is included in the timing ({share} of the int8 time). Sums are "
        "accumulated in int32. Matrices timed alone hold random numbers (seed {seed}); "
        "each time is the second fastest of {repeats} samples."
    )
    place = Place(series.device, "float32, int8", series.attempt)
    share = percent(facts.rounding_share)
    how = {"share": share, "seed": series.seed, "repeats": int8_times.REPEATS}
    return sentences(text.format(where=where(place), **how), busy(facts.load))


def int8_table(facts: Int8Facts) -> pd.DataFrame:
    """One row per shape and number of tokens."""
    return pd.DataFrame([vars(each) for each in facts.times])


def pass_table(facts: Int8Facts) -> pd.DataFrame:
    """A row for each pass of the whole model, as it is read."""
    return pd.DataFrame(
        {
            _("whole model"): [_what(each) for each in facts.passes],
            "float32": [duration(each.float32) for each in facts.passes],
            "int8": [duration(each.int8) for each in facts.passes],
            _("int8 where faster"): [duration(each.mixed) for each in facts.passes],
            _("kept at full precision"): [_stays(each.recipe) for each in facts.passes],
        }
    )


def _stays(recipe: str) -> str:
    """What is not in int8 by this recipe; by that of the original nothing is."""
    return exempt_in_words(compression_of(recipe).exempt) if recipe else _("all")


def bytes_read(facts: MatrixBytes) -> Chart:
    """Bytes of the matrices of each shape: what float32 reads, and what int8 does."""
    each = [MatrixBytes((shape,)) for shape in facts.shapes]
    text = _("{n} of size<br>{out} × {read}")
    names = [text.format(n=n, out=n_out, read=n_in) for n_out, n_in, n in facts.shapes]
    looks = {"float32": Look("float32"), "int8": Look(_("int8, packed"), palette.ATTENTION)}
    sizes = {kind: [getattr(matrix, kind) for matrix in each] for kind in looks}
    return Chart(
        _("Matrix sizes in bytes, by shape"),
        (),
        Axis(_("matrices, out × in"), names=names),
        Axis(_("bytes"), from_0=True, unit="B"),
        [
            bars("n", look, rows={"n": sizes[kind], "said": [*map(bytes_text, sizes[kind])]})
            for kind, look in looks.items()
        ],
        hover="{name}: {said}",
        tall=280,
        legend=Legend.FOOT,
    )


def times(facts: Int8Facts) -> Chart:
    """float32, int8, what of int8 it takes to round activations, and what the bytes promise."""
    int8, rounding = _("int8, packed"), _("int8: rounding activations")
    promised, blue = _("expected from bytes alone"), palette.ATTENTION
    looks = {
        "float32": Look("float32", palette.FEED_FORWARD, "square", size=9),
        "int8": Look(int8, blue, "circle", size=9),
        "rounding": Look(rounding, blue, "circle-open", size=9, width=1.5, dash="dot"),
        "promised": Look(promised, palette.BEFORE, "x", size=9, width=2, dash="dot"),
    }
    found = {kind: [facts.seconds(kind, n) for n in facts.tokens] for kind in [*looks][:3]}
    found["promised"] = [each / facts.matrices.times_fewer for each in found["float32"]]
    every = [seconds for line in found.values() for seconds in line]
    ends = min(every), max(every)
    return Chart(
        _("Time for all matrices, one after another"),
        (),
        Axis(_("n · tokens at once"), names=[f"{n:,}" for n in facts.tokens]),
        Axis(_("time (logarithmic)"), ends, is_log=True, said=duration),
        [
            line("s", look, rows={"s": found[kind], "said": [*map(duration, found[kind])]})
            for kind, look in looks.items()
        ],
        hover="{name}: {said}",
        tall=280,
        legend=Legend.FOOT,
    )


@section
def is_int8_faster(run: Run, state: State) -> None:
    """Every matrix of the model in float32 and in int8, when the reader asks."""
    place = explained(("quantization",), CODE, key="int8")
    if fault := packed.packed_fault():
        place.info(say_fault(fault), icon=":material/block:")
        return
    weights = score_text.measured(run, state)
    label = _("Measure float32 and int8 here (a few seconds)")
    if not measure_button("measure_int8", label, state, again=_("Measure again")):
        with place:
            say(says_bytes, weights, facts=matrix_bytes)
        show(bytes_read, weights, facts=matrix_bytes, key="int8_bytes")
        return
    series = Int8Times(shapes=matrix_bytes(weights).shapes, attempt=state.measure_int8)
    done = in_series(series, key="int8_steps", asked_by="measure_int8")
    found = (tuple(done.found),)
    if not int8_facts(*found).tokens:
        return
    with place:
        say(says_int8, *found, facts=int8_facts)
    show(times, *found, facts=int8_facts, key="int8_times")
    whole = starts.original(run.weights)
    has_passes = starts.has_task(whole) and not done.is_stopped
    at = (*found, _passes(whole, series.attempt) if has_passes else ())
    facts = int8_facts(*at)
    if len(facts.passes) == Int8Passes.n_steps:
        say(says_passes, *at, facts=int8_facts)
    note(says_how(facts, series))
    _in_numbers(facts)


def _passes(weights: str, attempt: int) -> tuple[PassTimes, ...]:
    series = Int8Passes(origin=teacher_of(weights), attempt=attempt)
    return tuple(in_series(series, key="int8_passes", asked_by="measure_int8").found)


def _in_numbers(facts: Int8Facts) -> None:
    with details(_("In numbers")):
        shown = pd.DataFrame(
            {
                _("matrix"): [f"{each.n_out} × {each.n_in}" for each in facts.times],
                _("number of matrices"): [each.n_matrices for each in facts.times],
                _("tokens at once"): [each.n_tokens for each in facts.times],
                "float32": [duration(each.float32) for each in facts.times],
                "int8": [duration(each.int8) for each in facts.times],
            }
        )
        show_whole(shown)
        if facts.passes:
            show_whole(pass_table(facts))
        rows = int8_table(facts)
        download("int8.csv", lambda: rows.to_csv(index=False), "text/csv")

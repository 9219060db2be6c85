"""Whether whole numbers of 8 bits are multiplied faster here: measured, matrix by matrix."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.cost.timing import Place
from blocks.cost.units import bytes_text
from blocks.efficiency import int8_times
from blocks.efficiency.int8_times import (
    ALIKE,
    Int8Facts,
    Int8Times,
    MatrixBytes,
    ProductTimes,
    shapes_of,
)
from blocks.observe.run import Run
from pages.figures.numbers import readable
from pages.figures.units import duration
from pages.panels.cost.shared import busy, measure_button, where
from pages.panels.efficiency import int8_picture
from pages.ui import link, starts
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.frame import section
from pages.ui.language import _, say_fault, sentences
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.steps import in_series
from pages.ui.tables import show_whole

CODE = (int8_times.PackedProduct, int8_times.measure_product)


@lru_cache(maxsize=32)
def int8_facts(found: tuple[ProductTimes, ...]) -> Int8Facts:
    """What was measured so far."""
    return Int8Facts(found)


@lru_cache(maxsize=32)
def matrix_bytes(weights: str) -> MatrixBytes:
    """The matrices of a model; `weights` names it as it was trained."""
    return MatrixBytes(shapes_of(starts.calibrated(weights)))


def says_bytes(facts: MatrixBytes) -> str:
    """What is expected of fewer bytes, before anything is timed."""
    text = _(
        "All {n} matrices take {float32} in float32 and {int8} in int8: **{ratio} times fewer "
        "bytes** to read. int8 is faster only where this and integer arithmetic save more time "
        "than rounding the inputs takes: with one token, or with many?"
    )
    return text.format(
        n=facts.n_matrices,
        float32=bytes_text(facts.float32),
        int8=bytes_text(facts.int8),
        ratio=readable(facts.times_fewer),
    )


def says_int8(facts: Int8Facts) -> str:
    """For each number of tokens at once, which is faster and by how much."""
    text = _(
        "All {n} matrices of the model, each applied once to n tokens. By bytes alone, int8 "
        "should be {ratio} times as fast:"
    )
    ratio = readable(facts.matrices.times_fewer)
    lead = text.format(n=facts.matrices.n_matrices, ratio=ratio)
    return sentences(lead, *(_verdict(facts, n) for n in facts.tokens))


def _verdict(facts: Int8Facts, n_tokens: int) -> str:
    ratio = facts.times_as_fast(n_tokens)
    text = _("n = {n}: int8 is as fast as float32 ({int8}).")
    if ratio > ALIKE:
        text = _("n = {n}: int8 is **{ratio} times as fast** ({int8} for {float32}).")
    elif ratio < 1 / ALIKE:
        text = _("n = {n}: int8 takes {inverse} times as long ({int8} for {float32}).")
    return text.format(
        n=n_tokens,
        ratio=readable(ratio),
        inverse=readable(1 / ratio),
        int8=duration(facts.seconds("int8", n_tokens)),
        float32=duration(facts.seconds("float32", n_tokens)),
    )


def says_how(facts: Int8Facts, series: Int8Times) -> str:
    """What was measured, and where."""
    text = _(
        "Measured here: {where}. torch's packed kernel: weights on one grid per row, "
        "activations on one grid, recomputed each time and included ({share} of the int8 "
        "time); sums in int32. Random numbers (seed {seed}); second fastest of {repeats} "
        "samples."
    )
    place = Place(series.device, "float32, int8", series.attempt)
    share = percent(facts.rounding_share)
    how = {"share": share, "seed": series.seed, "repeats": int8_times.REPEATS}
    return sentences(text.format(where=where(place), **how), busy(facts.load))


def int8_table(facts: Int8Facts) -> pd.DataFrame:
    """One row per shape and number of tokens."""
    return pd.DataFrame([vars(each) for each in facts.times])


@section
def is_int8_faster(run: Run) -> None:
    """Every matrix of the model in float32 and in int8, when the reader asks."""
    place = explained(("quantization",), CODE, key="int8")
    if fault := int8_times.packed_fault():
        place.info(say_fault(fault), icon=":material/block:")
        return
    weights = starts.original(run.weights)
    label = _("Measure float32 and int8 here (about a second)")
    if not measure_button("measure_int8", label, again=_("Measure again")):
        with place:
            say(says_bytes, weights, facts=matrix_bytes)
        show(int8_picture.bytes_read, weights, facts=matrix_bytes, key="int8_bytes")
        return
    shapes = matrix_bytes(weights).shapes
    series = Int8Times(shapes=shapes, attempt=link.value("measure_int8"))
    done = in_series(series, key="int8_steps", asked_by="measure_int8")
    found = (tuple(done.found),)
    facts = int8_facts(*found)
    if not facts.tokens:
        return
    with place:
        say(says_int8, *found, facts=int8_facts)
    show(int8_picture.times, *found, facts=int8_facts, key="int8_times")
    note(says_how(facts, series))
    _in_numbers(facts)


def _in_numbers(facts: Int8Facts) -> None:
    with st.expander(_("In numbers")):
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
        rows = int8_table(facts)
        download("int8.csv", lambda: rows.to_csv(index=False), "text/csv")

"""The wide layer at widths from 1 to 8 times d_model."""

import functools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.inspection import permuted, ratios
from blocks.inspection import ratios as measures
from blocks.inspection.ratios import count_wide, flops_per_token
from blocks.model import devices
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.panels.feed_forward import shared, width_picture
from pages.ui import cached
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.numbers import percent
from pages.ui.settings import memory_budget
from pages.ui.steps import in_steps

if TYPE_CHECKING:
    from torch import Tensor


def ratio_config(run: Run, ratio: int) -> ModelConfig:
    """The same model with another d_ff."""
    return run.config.replace(d_ff=ratio * run.config.d_model)


def affordable_ratios(run: Run) -> tuple[int, ...]:
    """The ratios whose layer fits into the memory of this server."""
    dtype = devices.DTYPES[run.dtype]
    return tuple(
        ratio
        for ratio in ratios.RATIOS
        if ratios.is_affordable(ratio_config(run, ratio), dtype, memory_budget())
    )


@lru_cache(maxsize=128)
def at_ratio(run: Run, layer: int, ratio: int) -> dict[str, float]:
    """Cost by formula, and a real run of the layer at this ratio with weights from the seed."""
    config, x, before = ratio_config(run, ratio), shared.layer_input(run, layer), base(run, layer)
    stream, attention = _tensors(run, layer)
    place: dict[str, Any] = {
        "seed": run.seed,
        "device": run.device,
        "dtype": devices.DTYPES[run.dtype],
    }
    with cached.turn(run.device):
        write = ratios.at_width(config, layer, x, **place)
        block = cached.model(run).layers[layer]
        after = ratios.with_write(block, stream, attention, write)
        return {
            "ratio": ratio,
            "parameters": count_wide(config),
            "flops": flops_per_token(config),
            "write_rms": ratios.rms(write),
            "stream_rms": ratios.rms(stream),
            "change": ratios.relative_change(after, before),
        }


@lru_cache(maxsize=4)
def base(run: Run, layer: int) -> "Tensor":
    """What the run's own layer gives, in evaluation: (batch, seq, d_model)."""
    x, (stream, attention) = shared.layer_input(run, layer), _tensors(run, layer)
    with cached.turn(run.device):
        block = cached.model(run).layers[layer]
        write = permuted.output(cached.feed_forward(run, layer), x)
        return ratios.with_write(block, stream, attention, write)


def _tensors(run: Run, layer: int) -> tuple["Tensor", "Tensor"]:
    """The stream to which the feed-forward part adds, and what attention wrote."""
    found = cached.recording(run)  # takes a turn of its own
    is_parallel = run.config.norm.norm_placement == "parallel"
    stream = found.tensor("resid_pre" if is_parallel else "resid_mid", layer)
    return stream, found.tensor("attention_out", layer)


def own_ratio(run: Run) -> float:
    """d_ff / d_model of this run."""
    return run.config.d_ff / run.config.d_model


def own_write(run: Run, layer: int) -> float:
    """RMS of what this run's own layer wrote."""
    return ratios.rms(cached.recording(run).tensor("feed_forward_out", layer))


RATIO_COLUMNS = ("ratio", "parameters", "flops", "write_rms", "stream_rms", "change")


def ratio_rows(found: Sequence[Mapping[str, float]]) -> shared.Rows:
    """One row a ratio: RATIO_COLUMNS."""
    return tuple(tuple(row[name] for name in RATIO_COLUMNS) for row in found)


def ratio_frame(rows: shared.Rows) -> pd.DataFrame:
    """The same as a frame."""
    return pd.DataFrame(list(rows), columns=list(RATIO_COLUMNS))


def ratios_table(rows: tuple[tuple[float, ...], ...]) -> None:
    """The sweep, exactly."""
    names = ["d_ff / d_model", _("parameters"), _("FLOPs per token"), _("RMS of each output")]
    names += [_("RMS of the stream"), _("change of the output")]
    table = pd.DataFrame(list(rows), columns=names)
    table[names[:3]] = table[names[:3]].astype(int)
    count = st.column_config.NumberColumn(format="localized")
    config = {names[1]: count, names[2]: count}
    st.dataframe(
        table.round(4),
        hide_index=True,
        key="ratio_table",
        column_config=config,
        height="content",
    )


def ratio_sentence(run: Run, layer: int, rows: tuple[tuple[float, ...], ...]) -> str:
    """What eight times the width costs and does."""
    first, last = rows[0], rows[-1]
    text = _(
        "From {low:.0f} to {high:.0f} times d_model, parameters and FLOPs grow "
        "{cost:.1f}-fold ({few:,} to {many:,} parameters, {ops:,} to {more:,} FLOPs per "
        "token). The output's RMS goes from {small:.3f} to {large:.3f}; this run's own "
        "layer, {weights}, adds RMS {own:.3f} to a stream of {stream:.3f}."
    )
    return text.format(
        low=first[0],
        high=last[0],
        cost=last[1] / first[1],
        few=int(first[1]),
        many=int(last[1]),
        ops=int(first[2]),
        more=int(last[2]),
        small=first[3],
        large=last[3],
        weights=shared.weights(run),
        own=own_write(run, layer),
        stream=last[4],
    )


def too_wide(run: Run, wanted: tuple[int, ...]) -> str:
    """Which ratios were left out for want of memory."""
    text = _("Ratios above {most} need more memory than this server allows and are left out.")
    return text.format(most=max(wanted, default=0))


def ratio_note(run: Run) -> str:
    """What was run, and what is compared with what."""
    text = _(
        "FLOPs are exact: 2 · d_model · d_ff per matrix and token. At each ratio the "
        "layer itself ran on its real input, in evaluation mode, with random weights "
        "(seed {seed}), since trained ones fit one width only. The change is the RMS of "
        "the difference from the output of this run's layer."
    )
    note = text.format(seed=run.seed)
    if not run.weights and run.config.d_ff % run.config.d_model == 0:
        note += " " + _("At this run's own ratio it is 0: the weights are the same.")
    return note


def ratio_alt(_run: Run, _layer: int, rows: tuple[tuple[float, ...], ...]) -> str:
    """The sweep in words."""
    text = _("ratio {ratio:.0f}: {n:,} parameters, {flops:,} FLOPs, RMS {rms:.3f}, change {change}")
    listed = [
        text.format(
            ratio=row[0], n=int(row[1]), flops=int(row[2]), rms=row[3], change=percent(row[5])
        )
        for row in rows
    ]
    return "; ".join(listed)


@section
def other_widths(run: Run, layer: int) -> None:
    """What the width costs, by formula, and what the layer then writes, by running it."""
    code = (measures.count_wide, measures.flops_per_token, measures.at_width)
    place = explained(("feed_forward", "parameters"), code, key="ratio")
    wanted = affordable_ratios(run)
    if len(wanted) < len(measures.RATIOS):
        note(too_wide(run, wanted))
    steps = [functools.partial(at_ratio, run, layer, ratio) for ratio in wanted]
    done = in_steps(steps, what=("ratios", run, layer), key="ratios")
    if not done.found:
        return
    rows = ratio_rows(done.found)
    place.info(ratio_sentence(run, layer, rows), icon=":material/lightbulb:")
    pictures = {"cost": draw_cost, "written": draw_written, "changed": draw_changed}
    for column, (name, draw) in zip(st.columns(3), pictures.items(), strict=True):
        with column:
            show(draw, run, layer, rows, key=f"ratio_{name}", alt=ratio_alt)
    note(ratio_note(run))
    ratios_table(rows)


def draw_cost(run: Run, layer: int, rows: tuple[tuple[float, ...], ...]) -> Picture:
    """Parameters and FLOPs."""
    return width_picture.cost(ratio_frame(rows), own=own_ratio(run), _=_)


def draw_written(run: Run, layer: int, rows: tuple[tuple[float, ...], ...]) -> Picture:
    """The size of the write."""
    own, size = own_ratio(run), own_write(run, layer)
    return width_picture.written(ratio_frame(rows), own=own, own_rms=size, _=_)


def draw_changed(run: Run, layer: int, rows: tuple[tuple[float, ...], ...]) -> Picture:
    """How far the output moves."""
    return width_picture.changed(ratio_frame(rows), own=own_ratio(run), _=_)

"""What differs, and the numbers of both, in tables."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd

from blocks.inspection.settings import differing
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.ui import labelled, starts, terms
from pages.ui.compare import measured, trade_offs
from pages.ui.compare.fields import COUNTED
from pages.ui.compare.measured import PairTimes
from pages.ui.compare.sides import Pair
from pages.ui.cost.units import duration
from pages.ui.language import _
from pages.ui.numbers import readable
from pages.ui.tables import show_whole
from pages.ui.terms import NOTHING

KINDS = {
    "embedding": N_("token embedding"),
    "position": N_("positional encoding"),
    "attention": N_("attention"),
    "cross_attention": N_("cross-attention"),
    "feed_forward": N_("feed-forward"),
    "router": N_("router"),
    "norm": N_("norms"),
    "pooler": N_("pooler"),
    "output": N_("output"),
}


class Row(NamedTuple):
    """A number of both: what it is, A's, B's, and how such a number is written.

    `is_between`: there is only one, which lies between them, and stands as B's.
    """

    label: str
    a: float
    b: float
    said: Callable[[float], str]
    is_between: bool = False


def kind(name: str) -> str:
    """What a parameter is there for."""
    return _(KINDS[name])


def settings_frame(pair: Pair) -> pd.DataFrame:
    """Only the settings that differ."""
    found = {**_of_runs(pair), **differing(pair.a.config, pair.b.config)}
    rows = [(name, terms.value(a), terms.value(b)) for name, (a, b) in found.items()]
    return pd.DataFrame(rows, columns=[_("setting"), "A", "B"])


def _of_runs(pair: Pair) -> dict[str, tuple[Any, Any]]:
    """What differs in how they are used: weights, mask, number format."""
    ours, theirs = (_used(run) for run in pair.both)
    return {
        name: (ours.get(name), theirs.get(name))
        for name in dict.fromkeys((*ours, *theirs))
        if ours.get(name) != theirs.get(name)
    }


def _used(run: Run) -> dict[str, Any]:
    mask = run.mask
    title = starts.POCKET_TITLES.get(run.weights, run.weights)
    found = {
        "weights": _(title) if run.weights else _("random (from the seed)"),
        "dtype": run.dtype,
        "mask_kind": str(mask.mask_kind),
    }
    sizes = {"sliding_window": "window_size", "prefix": "prefix_len"}
    if name := sizes.get(str(mask.mask_kind)):
        found[name] = getattr(mask, name)
    return found


def settings(pair: Pair) -> None:
    """The same as a table on the page, where anything differs."""
    table = settings_frame(pair)
    if len(table):
        show_whole(table)


def counted_rows(pair: Pair, n: int, weight_format: str) -> list[Row]:
    """What is counted of both, where either has it; nothing is built."""
    a, b = (measured.summary(run.config, n, weight_format) for run in pair.both)
    return [
        Row(
            trade_offs.title(name, n, weight_format),
            float(getattr(a, name)),
            float(getattr(b, name)),
            lambda value, name=name: trade_offs.said(name, value),
        )
        for name in COUNTED
        if getattr(a, name) or getattr(b, name)
    ]


def run_rows(pair: Pair) -> list[Row]:
    """What the runs of both show."""
    streams = [measured.over_layers(run, "resid_post", "rms")["value"] for run in pair.both]
    ends = [float(stream.iloc[-1]) for stream in streams]
    growth = [float(stream.iloc[-1] / stream.iloc[0]) for stream in streams]
    entropy = [measured.mean_entropy(run) for run in pair.both]
    rows = [
        Row(_("RMS of the stream after the last layer"), *ends, readable),
        Row(_("growth of the stream over the layers"), *growth, _times),
        Row(_("entropy of the heads, mean (bits)"), *entropy, "{:.2f}".format),
    ]
    if pair.reads_the_same:
        apart = float(measured.distances(pair).mean())
        label = _("distance of heads with the same number, mean (0 to 1)")
        rows.append(Row(label, 0.0, apart, "{:.3f}".format, is_between=True))
    return rows


def time_rows(found: PairTimes) -> list[Row]:
    """The middle of all rounds, and the fastest: whatever else runs here only adds time."""
    fastest = min(found.a.seconds), min(found.b.seconds)
    return [
        Row(_("forward pass here, median"), found.a.median, found.b.median, duration),
        Row(_("forward pass here, fastest round"), *fastest, duration),
    ]


def numbers_frame(rows: list[Row]) -> pd.DataFrame:
    """Both, their ratio, and their difference, which is as long as they are."""
    return pd.DataFrame(
        {
            _("quantity"): [row.label for row in rows],
            "A": [_said(row, row.a) for row in rows],
            "B": [NOTHING if row.is_between else _said(row, row.b) for row in rows],
            _("B ÷ A"): [_ratio(row) for row in rows],
            _("B − A"): [_change(row) for row in rows],
        }
    )


def _said(row: Row, value: float) -> str:
    return row.said(value) if value else NOTHING


def _change(row: Row) -> str:
    return signed(row.b - row.a, row.said)


def signed(change: float, said: Callable[[float], str]) -> str:
    """A change with its sign, as long as any other."""
    return ("+" if change > 0 else "−") + said(abs(change)) if change else "0"


def _ratio(row: Row) -> str:
    if not row.a or not row.b or not math.isfinite(row.b / row.a):
        return NOTHING
    return _times(row.b / row.a)


def _times(ratio: float) -> str:
    return f"{readable(ratio)}\N{NO-BREAK SPACE}×"


def numbers(rows: list[Row]) -> None:
    """The same as a table on the page."""
    show_whole(numbers_frame(rows))


def stages_frame(pair: Pair, layer: int) -> pd.DataFrame:
    """RMS of every stage of a layer that both have, and its change."""
    a, b = (labelled.stages(run, layer).set_index("stage") for run in pair.both)
    common = [stage for stage in b.index if stage in a.index]
    return pd.DataFrame(
        {
            _("stage"): [b["label"][stage] for stage in common],
            "RMS · A": [a["rms"][stage] for stage in common],
            "RMS · B": [b["rms"][stage] for stage in common],
            _("B − A"): [b["rms"][stage] - a["rms"][stage] for stage in common],
        }
    ).round(4)


def stages(pair: Pair, layer: int) -> None:
    """The same as a table on the page."""
    show_whole(stages_frame(pair, layer))

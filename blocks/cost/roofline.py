"""The roofline: how fast an operation can be at best, and how fast it is here.

An operation of F FLOPs that moves B bytes has the intensity F/B. It takes at least F/peak for its
arithmetic and B/bandwidth for its bytes; the longer of the two is the estimate. Williams, Waterman
and Patterson 2009.
"""

import math
from collections.abc import Mapping
from enum import StrEnum

import pandas as pd

from blocks.cost.device_peak import DevicePeak
from blocks.cost.operations import Operation, Tokens, operation_sizes, operations
from blocks.cost.timing import Times
from blocks.model.config import ModelConfig


class Bound(StrEnum):
    """What an operation waits for; `START`: it is so small that its start takes longer."""

    COMPUTE = "compute"
    MEMORY = "memory"
    START = "start"


STEPS = ("scores", "softmax", "values")
COUNTED = (
    "operation",
    "group",
    "times",
    "is_fused",
    "flops",
    "bytes",
    "intensity",
    "flops_formula",
    "flops_numbers",
    "bytes_formula",
    "bytes_numbers",
)


def count_operations(config: ModelConfig, tokens: Tokens, *, itemsize: int) -> pd.DataFrame:
    """One row per operation of one layer, columns `COUNTED`; all of it exact by formula.

    `flops`, `bytes`: of doing it once; a layer does it `times` times. Bytes in letters are
    numbers moved: each takes `itemsize`.
    """
    sizes = operation_sizes(config, tokens)
    rows = [_counted(each, sizes, itemsize) for each in operations(config, tokens.phase)]
    return pd.DataFrame(rows, columns=list(COUNTED))


def _counted(operation: Operation, sizes: dict[str, int], itemsize: int) -> tuple[object, ...]:
    flops, moved = operation.flops.count(sizes), operation.moved.count(sizes) * itemsize
    return (
        operation.name,
        operation.group,
        operation.times,
        bool(operation.instead_of),
        flops,
        moved,
        flops / moved,
        operation.flops.formula(),
        operation.flops.numbers(sizes),
        f"{itemsize} · ({operation.moved.formula()})",
        f"{itemsize} · ({operation.moved.numbers(sizes)})",
    )


def roof(intensity: float, peak: DevicePeak) -> float:
    """FLOP/s that can be reached at most at this intensity."""
    return min(peak.flops_per_s, intensity * peak.bytes_per_s)


def estimate_seconds(flops: float, n_bytes: float, peak: DevicePeak) -> float:
    """Arithmetic or bytes, whichever takes longer."""
    return max(flops / peak.flops_per_s, n_bytes / peak.bytes_per_s)


def bound_by(flops: float, n_bytes: float, peak: DevicePeak) -> Bound:
    """Return what bounds the time: starting a kernel, computing, or moving bytes."""
    if estimate_seconds(flops, n_bytes, peak) < peak.start_seconds:
        return Bound.START
    return Bound.COMPUTE if flops / n_bytes >= peak.ridge else Bound.MEMORY


def roofline(
    counted: pd.DataFrame, peak: DevicePeak, measured: Mapping[str, Times]
) -> pd.DataFrame:
    """`count_operations` with estimate beside measurement.

    Adds estimated_s, roof_flops_per_s, bound; measured_s (the median), low_s, high_s (quartiles),
    measured_flops_per_s and share (of the roof), NaN where there is no measurement.
    """
    known = zip(counted["operation"], counted["flops"], counted["bytes"], strict=True)
    rows = [
        _estimated(flops, n_bytes, peak) + _measured(flops, measured.get(name))
        for name, flops, n_bytes in known
    ]
    names = ["estimated_s", "roof_flops_per_s", "bound"]
    names += ["measured_s", "low_s", "high_s", "measured_flops_per_s"]
    table = counted.join(pd.DataFrame(rows, columns=names, index=counted.index))
    return table.assign(share=table["estimated_s"] / table["measured_s"])


def _estimated(flops: int, n_bytes: int, peak: DevicePeak) -> tuple[float, float, str]:
    seconds = estimate_seconds(flops, n_bytes, peak)
    return seconds, flops / seconds, str(bound_by(flops, n_bytes, peak))


def _measured(flops: int, times: Times | None) -> tuple[float, float, float, float]:
    if times is None:
        return (math.nan,) * 4
    return times.median, *times.quartiles, flops / times.median


def as_run(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that a model runs where nobody looks: attention at once, not step by step."""
    fused = set(table["operation"][table["is_fused"]])
    in_steps = {f"{name.removesuffix('fused')}{step}" for name in fused for step in STEPS}
    return table[~table["operation"].isin(in_steps)]


def total_seconds(table: pd.DataFrame, column: str) -> float:
    """The sum over the operations of one layer; what is done once a model is left out."""
    rows = as_run(table)
    rows = rows[rows["operation"] != "unembed"]
    return float((rows[column] * rows["times"]).sum(skipna=False))


def batch_at_ridge(d_in: int, d_out: int, *, itemsize: int, peak: DevicePeak) -> int | None:
    """Rows from which on a product with weights of (d_in, d_out) is bound by arithmetic.

    Solved for rows: 2·rows·d_in·d_out = ridge·itemsize·(rows·(d_in + d_out) + d_in·d_out). None
    where the rows themselves weigh so much that no number of them is enough.
    """
    weights, per_row = d_in * d_out, d_in + d_out
    gained = 2 * weights - peak.ridge * itemsize * per_row
    return math.ceil(peak.ridge * itemsize * weights / gained) if gained > 0 else None

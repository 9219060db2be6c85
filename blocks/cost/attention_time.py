"""Time and peak memory of ways to attend, measured on the device in front of you."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
import torch

from blocks.cost.peak_memory import peak_memory
from blocks.model import devices
from blocks.model.attention_kinds import AttentionKind, attend_as, default_reach, pairs_scored
from blocks.model.embedding import random_tensor

REPEATS, LONGEST = 5, 500
TAIL = 3


@dataclass(frozen=True)
class Measured:
    """One way to attend at one length: the fastest of some passes, and the most memory at once."""

    kind: AttentionKind
    seq_len: int
    milliseconds: float
    peak_bytes: int


def measure_attention(
    kind: AttentionKind,
    seq_len: int,
    *,
    n_heads: int,
    d_head: int,
    device: str,
    dtype: torch.dtype,
    seed: int = 0,
) -> Measured:
    """Attend once in each head on random q, k, v (N(0, 1), from `seed`); no gradients.

    Of `REPEATS` passes the fastest counts, since whatever else the machine does only adds time;
    where they take more than `LONGEST` milliseconds together, fewer. The sparse kinds have the
    reach of `default_reach`. On a CPU, memory is counted tensor by tensor: what a fused kernel
    uses inside itself is not seen.
    """
    attend = attend_as(kind, default_reach(seq_len))
    q, k, v = (
        random_tensor(n_heads, seq_len, d_head, seed=seed + i).to(device, dtype)[None]
        for i in range(3)
    )
    place = torch.device(device)
    with torch.no_grad():
        with peak_memory(place) as memory:  # counting slows it down: this pass is not timed
            attend(q, k, v)
        times: list[float] = []
        while len(times) < REPEATS and sum(times) < LONGEST:
            devices.synchronize(place)
            start = time.perf_counter()
            attend(q, k, v)
            devices.synchronize(place)
            times.append(1000 * (time.perf_counter() - start))
    return Measured(kind, seq_len, min(times), memory.peak_bytes)


def estimate_peak(
    kind: AttentionKind, seq_len: int, *, n_heads: int, d_head: int, itemsize: int
) -> int:
    """Bytes at the peak: the operands, and the scores, of which full attention holds three maps.

    Linear attention has no scores but a map of d_head × d_head in each head.
    """
    operands = 4 * seq_len * d_head
    if kind is AttentionKind.FULL:
        scores = 3 * seq_len**2
    else:
        scores = 12 * seq_len * max(64, math.isqrt(seq_len))
    square = d_head**2 if kind is AttentionKind.LINEAR else 0
    return n_heads * (operands + scores + square) * itemsize


def slopes(table: pd.DataFrame, of: str) -> dict[str, float]:
    """For each kind the exponent s in `of` ~ n^s, fitted over its longest lengths.

    `table`: kind, seq_len and the column `of`; kinds with fewer than two lengths are left out.
    """
    found = {}
    for kind, rows in table.groupby("kind"):
        rows = rows.sort_values("seq_len")[-TAIL:]
        if len(rows) > 1:
            log_n, log_y = rows["seq_len"].map(math.log2), rows[of].map(math.log2)
            found[str(kind)] = float(log_n.cov(log_y) / log_n.var())
    return found


def scored_pairs(lengths: Sequence[int]) -> pd.DataFrame:
    """Count what each way scores in one head at each length: kind, seq_len, pairs (exact)."""
    rows = [
        (str(kind), n, pairs_scored(kind, default_reach(n), n))
        for kind in AttentionKind
        for n in lengths
    ]
    return pd.DataFrame(rows, columns=["kind", "seq_len", "pairs"])


@dataclass(frozen=True)
class GrowthFacts:
    """Measurements of ways to attend at several lengths; `of`: the cost that is drawn."""

    found: tuple[Measured, ...]
    of: str = "milliseconds"

    @property
    def table(self) -> pd.DataFrame:
        """One row a measurement: kind, seq_len, milliseconds, peak_bytes."""
        return pd.DataFrame([vars(each) for each in self.found]).astype({"kind": str})

    def exponents(self, of: str) -> dict[str, float]:
        """Estimate the exponent of n with which the cost of each kind grows."""
        return slopes(self.table, of)

    @property
    def longest(self) -> list[Measured]:
        """The measurements at the longest text, fastest first."""
        n = max(each.seq_len for each in self.found)
        return sorted((e for e in self.found if e.seq_len == n), key=lambda e: e.milliseconds)

    @property
    def times_slower(self) -> float:
        """The time of the slowest kind at the longest text, by that of the fastest."""
        return self.longest[-1].milliseconds / self.longest[0].milliseconds

    @property
    def memory(self) -> tuple[int, int]:
        """The least and the most bytes of a kind at the longest text."""
        found = [each.peak_bytes for each in self.longest]
        return min(found), max(found)


@dataclass(frozen=True)
class GrowthSeries:
    """Ways to attend, each at some lengths: what `measure_attention` finds of each."""

    cases: tuple[tuple[AttentionKind, int], ...]
    n_heads: int
    d_head: int
    device: str
    dtype: str
    seed: int
    is_timed: ClassVar[bool] = True

    @property
    def n_steps(self) -> int:
        """Number of measurements."""
        return len(self.cases)

    def results(self, done: Sequence[Measured]) -> Iterator[Measured]:
        """Yield the measurements one after the other."""
        sizes = {"n_heads": self.n_heads, "d_head": self.d_head, "seed": self.seed}
        dtype = devices.DTYPES[self.dtype]
        for kind, n in self.cases[len(done) :]:
            yield measure_attention(kind, n, **sizes, device=self.device, dtype=dtype)

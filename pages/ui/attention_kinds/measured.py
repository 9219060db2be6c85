"""Ways to attend on this run's queries, keys and values, and what they cost here: kept."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks import count_parameters, devices
from blocks.attention import share_among_queries
from blocks.attention_kinds import AttentionKind, Reach
from blocks.cost.attention_time import Measured, estimate_peak, measure_attention, slopes
from blocks.inspection import other_attention, sharing, tiles
from blocks.kv_cache import kv_cache_bytes_per_token
from blocks.legal import divisors
from blocks.probe import record
from blocks.run import Run
from pages.ui import cached
from pages.ui.settings import memory_budget

MOST_HEADS = 12
MIB = 2**20


@lru_cache(maxsize=4)
def qkv(run: Run, layer: int) -> tuple:
    """Queries, keys and values of a layer, first sequence: each (n_heads, seq, d_head)."""
    model = cached.model(run)
    with cached.turn(run.device):
        seen = record(
            model,
            run.values(),
            mask=run.build_mask(),
            keep={f"layers.{layer}.{name}" for name in "qkv"},
            replace=run.replacements(model),
            training_seed=run.seed if run.training else None,
        )
    found = (seen.tensor(name, layer)[:1] for name in "qkv")
    return tuple(share_among_queries(x, run.config.n_heads)[0] for x in found)


@lru_cache(maxsize=32)
def maps(run: Run, layer: int, head: int, reach: Reach) -> NDArray[np.uint8]:
    """One head's map in each way to attend, side by side, one byte a cell."""
    q, k, _v = (x[head] for x in qkv(run, layer))
    return other_attention.maps(q.float(), k.float(), reach)


@lru_cache(maxsize=32)
def errors(run: Run, layer: int, head: int, reach: Reach) -> pd.DataFrame:
    """How far each way to attend is from the full one, in one head."""
    return other_attention.errors(*(x[head] for x in qkv(run, layer)), reach)


def steps(run: Run, lengths: tuple[int, ...]) -> list[Callable[[], Measured]]:
    """One measurement a way to attend and a length, those that fit into the memory budget."""
    config = run.config
    itemsize = devices.DTYPES[run.dtype].itemsize
    sizes = {"n_heads": config.n_heads, "itemsize": itemsize}
    return [
        _step(kind, n, config.n_heads, config.d_head, run)
        for n in lengths
        for kind in AttentionKind
        if estimate_peak(kind, n, **sizes) <= memory_budget()
    ]


def _step(kind: AttentionKind, n: int, n_heads: int, d_head: int, run: Run):
    return lambda: timed(kind, n, n_heads, d_head, run.device, run.dtype, run.seed)


@lru_cache(maxsize=512)
def timed(
    kind: AttentionKind, n: int, n_heads: int, d_head: int, device: str, dtype: str, seed: int
) -> Measured:
    """Measured once and kept, so that moving on and coming back shows the same numbers."""
    with cached.turn(device):
        return measure_attention(
            kind,
            n,
            n_heads=n_heads,
            d_head=d_head,
            device=device,
            dtype=devices.DTYPES[dtype],
            seed=seed,
        )


def table(found: tuple[Measured, ...]) -> pd.DataFrame:
    """One row a measurement: kind, seq_len, milliseconds, peak_bytes."""
    columns = ("kind", "seq_len", "milliseconds", "peak_bytes")
    rows = [[getattr(each, name) for name in columns] for each in found]
    return pd.DataFrame(rows, columns=list(columns)).astype({"kind": str})


def costs(found: tuple[Measured, ...], of: str) -> pd.DataFrame:
    """One row a measurement: kind, seq_len, value in ms or MiB."""
    scale = 1 if of == "milliseconds" else MIB
    found_table = table(found)
    return found_table.assign(value=found_table[of] / scale)


def exponents(found: tuple[Measured, ...], of: str) -> dict[str, float]:
    """How time or memory grows with n in each kind, as the exponent of n."""
    return slopes(table(found), of)


def shared(run: Run) -> tuple[Run, ...]:
    """The same model with keys and values for every head, for groups of heads, and for all."""
    n_heads = run.config.n_heads
    between = [n for n in divisors(n_heads) if 1 < n < n_heads]
    middle = between[len(between) // 2 :][:1]
    return tuple(_with(run, n) for n in dict.fromkeys((n_heads, *middle, 1)))


def _with(run: Run, n_kv_heads: int) -> Run:
    config = run.config.replace(n_kv_heads=n_kv_heads)
    return replace(run.untouched, config=config, weights="")


@lru_cache(maxsize=16)
def sharing_row(run: Run, layer: int) -> dict:
    """What sharing saves, and how alike the heads read: parameters, bytes, cosines."""
    parts = count_parameters(run.config).set_index("part")["count"]
    itemsize = devices.DTYPES[run.dtype].itemsize
    kv_bytes = kv_cache_bytes_per_token(run.config, itemsize)
    alike = sharing.likeness(_pattern(run, layer), run.config.n_kv_heads)
    return {
        "n_kv_heads": run.config.n_kv_heads,
        "kv_parameters": int(parts["k_proj"] + parts["v_proj"]),
        "parameters": int(parts.sum()),
        "cache_bytes": kv_bytes,
        "cache_bytes_full": kv_bytes * run.config.max_seq_len,
        "within": alike.within,
        "across": alike.across,
    }


@lru_cache(maxsize=3)
def _pattern(run: Run, layer: int):
    """The pattern of one layer; nothing else of the run is kept."""
    if layer == 0:  # which reads nothing that later layers wrote: they need not be drawn
        run = replace(run, config=run.config.replace(n_layers=1))
    model = run.build()
    with cached.turn(run.device):
        seen = record(model, run.values(), mask=run.build_mask(), keep={f"layers.{layer}.pattern"})
    return seen.pattern(layer)[:1]


@lru_cache(maxsize=16)
def shared_tiles(runs: tuple[Run, ...], layer: int) -> NDArray[np.uint8]:
    """The first heads of each, a row of tiles each, one byte a cell."""
    patterns = [_pattern(run, layer)[:, :MOST_HEADS] for run in runs]
    codes = tiles.encode_layers(patterns, runs[0].build_mask())
    return tiles.tile(tiles.shrink(codes), n_shown(runs[0]))


def n_shown(run: Run) -> int:
    """How many heads of each are drawn."""
    return min(run.config.n_heads, MOST_HEADS)

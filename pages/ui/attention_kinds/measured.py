"""Ways to attend on this run's queries, keys and values, and what they cost here: kept."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks import count_parameters
from blocks.cost.attention_time import Measured, estimate_peak, measure_attention, slopes
from blocks.inspection import other_attention, sharing, tiles
from blocks.inspection.output_change import output_change
from blocks.model import devices
from blocks.model.attention import share_among_queries
from blocks.model.attention_kinds import AttentionKind, Reach
from blocks.model.config import ModelConfig
from blocks.model.kv_cache import kv_cache_bytes_per_token
from blocks.model.legal import divisors
from blocks.observe.recording import record
from blocks.observe.run import Run
from pages.ui import cached
from pages.ui.changes.measured import reads_tokens
from pages.ui.settings import memory_budget

if TYPE_CHECKING:
    from torch import Tensor

MOST_HEADS = 12
MIB = 2**20
_MOVED = {True: "kl_bits", False: "relative"}


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
    """One measurement a way to attend and a length, those that fit into the memory budget.

    None where heads are so wide that not every way fits at any length.
    """
    config = run.config
    itemsize = devices.DTYPES[run.dtype].itemsize
    sizes = {"n_heads": config.n_heads, "d_head": config.d_head, "itemsize": itemsize}
    fit = [
        (kind, n)
        for n in lengths
        for kind in AttentionKind
        if estimate_peak(kind, n, **sizes) <= memory_budget()
    ]
    if {kind for kind, _n in fit} != set(AttentionKind):
        return []
    return [_step(kind, n, config.n_heads, config.d_head, run) for kind, n in fit]


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


def shared(run: Run) -> tuple[int, ...]:
    """How many keys and values: as many as the model has, fewer, and one for all heads."""
    n = run.config.n_kv_heads
    between = [each for each in divisors(n) if 1 < each < n]
    middle = between[len(between) // 2 :][:1]
    return tuple(dict.fromkeys((n, *middle, 1)))


def with_shared(run: Run, n_kv_heads: int) -> ModelConfig:
    """The model that has so many keys and values."""
    return run.config.replace(n_kv_heads=n_kv_heads)


@lru_cache(maxsize=16)
def sharing_row(run: Run, n_kv_heads: int, layer: int) -> dict:
    """What sharing saves, how alike the heads read, and how far the output moved.

    Parameters, bytes, cosines; `moved` is the mean over the tokens, of logits KL in bits, else
    |after − before| / |before|.
    """
    config = with_shared(run, n_kv_heads)
    parts = count_parameters(config).set_index("part")["count"]
    itemsize = devices.DTYPES[run.dtype].itemsize
    kv_bytes = kv_cache_bytes_per_token(config, itemsize)
    found = _read_with(run, n_kv_heads, layer)
    alike = sharing.likeness(found.pattern, n_kv_heads)
    return {
        "n_kv_heads": n_kv_heads,
        "kv_parameters": int(parts["k_proj"] + parts["v_proj"]),
        "parameters": int(parts.sum()),
        "cache_bytes": kv_bytes,
        "cache_bytes_full": kv_bytes * config.max_seq_len,
        "within": alike.within,
        "across": alike.across,
        "moved": found.moved,
    }


class _Reading(NamedTuple):
    pattern: "Tensor"
    moved: float


@lru_cache(maxsize=6)
def _read_with(run: Run, n_kv_heads: int, layer: int) -> _Reading:
    """The pattern of one layer where keys and values are averaged in all layers."""
    model, untouched = cached.model(run), run.untouched
    before = cached.recording(untouched).output[0]  # takes a turn of its own
    places = [f"layers.{i}.{name}" for i in range(run.config.n_layers) for name in "kv"]
    with cached.turn(run.device):
        seen = record(
            model,
            untouched.values(),
            mask=untouched.build_mask(),
            keep={f"layers.{layer}.pattern"},
            replace=dict.fromkeys(places, partial(sharing.pooled, n_kv_heads=n_kv_heads)),
        )
        change = output_change(before, seen.output[0], is_logits=reads_tokens(run))
    return _Reading(seen.pattern(layer)[:1], float(change[_MOVED[reads_tokens(run)]].mean()))


@lru_cache(maxsize=16)
def shared_tiles(run: Run, layer: int) -> NDArray[np.uint8]:
    """The first heads with each number of keys and values, a row of tiles each, a byte a cell."""
    patterns = [_read_with(run, n, layer).pattern[:, :MOST_HEADS] for n in shared(run)]
    codes = tiles.encode_layers(patterns, run.build_mask())
    return tiles.tile(tiles.shrink(codes), n_shown(run))


def n_shown(run: Run) -> int:
    """How many heads of each are drawn."""
    return min(run.config.n_heads, MOST_HEADS)

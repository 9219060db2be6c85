"""Heads that share keys and values (GQA, MQA): made of a model's own, and how alike they read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from blocks.cost import count_parameters
from blocks.model import devices
from blocks.model.config import OPTIONS, ModelConfig
from blocks.model.kv_cache import kv_cache_bytes, kv_cache_bytes_per_token
from blocks.model.legal import divisors
from blocks.model.parts import BESIDE_LATENTS
from blocks.observe.run import Run


class Likeness(NamedTuple):
    """Mean cosine of the maps of two heads: of one group, and of two; None where no such two."""

    within: float | None
    across: float | None


def likeness(some: Iterable[Tensor], n_kv_heads: int) -> Likeness:
    """How alike heads read that share keys and values, and heads that do not.

    `some`: queries of a pattern at a time, (batch, n_heads, query, key); the query heads of one
    group stand side by side.
    """
    each = (pattern.float().transpose(0, 1).flatten(1) for pattern in some)
    products = torch.stack([flat @ flat.T for flat in each]).sum(0)
    lengths = products.diagonal().sqrt()
    cosine = products / (lengths[:, None] * lengths).clamp(min=1e-12)
    n_heads, device = len(products), products.device
    group = torch.arange(n_heads, device=device) // (n_heads // n_kv_heads)
    is_alike = group[:, None] == group
    is_pair = ~torch.eye(n_heads, dtype=torch.bool, device=device)
    return Likeness(_mean(cosine[is_alike & is_pair]), _mean(cosine[~is_alike]))


def pooled(x: Tensor, n_kv_heads: int) -> Tensor:
    """Keys or values averaged until `n_kv_heads` of them are left: (batch, heads, seq, d_head).

    Each stands again in the place of those it is the mean of, so that a model reads on. The mean
    of projections is the projection by their mean, with which Ainslie et al. 2023, section 2.1,
    begin to train a model with fewer keys and values.
    """
    groups = x.unflatten(1, (n_kv_heads, -1))
    return groups.mean(dim=2, keepdim=True).expand_as(groups).flatten(1, 2)


def _mean(values: Tensor) -> float | None:
    return float(values.mean()) if values.numel() else None


@dataclass(frozen=True)
class Shared:
    """A model with fewer heads of keys and values: what it takes, and what becomes of its maps.

    `cache_bytes`: of the cache for a token, `full_cache_bytes` for the longest text; `moved`: how
    far the output moved, mean over tokens (of logits KL in bits, else |after − before| / |before|).
    """

    config: ModelConfig
    kv_parameters: int
    parameters: int
    cache_bytes: int
    full_cache_bytes: int
    likeness: Likeness
    moved: float

    @property
    def n_kv_heads(self) -> int:
        """How many heads of keys and values are left."""
        return self.config.n_kv_heads


@dataclass(frozen=True)
class SharingFacts:
    """The same layer with each number of keys and values, the run's own first, one last.

    `is_logits`: whether the output is a score for each token, and `moved` KL in bits.
    """

    rows: tuple[Shared, ...]
    is_logits: bool

    @property
    def grouped(self) -> Shared | None:
        """The first with heads both in one group and in two."""
        return next((row for row in self.rows if None not in row.likeness), None)


@dataclass(frozen=True)
class CachedKind:
    """A way to keep keys and values: exact parameters of attention, and bytes of a token."""

    config: ModelConfig
    parameters: int
    cache_bytes: int

    @property
    def full_cache_bytes(self) -> int:
        """Bytes of the cache of the longest text."""
        return self.cache_bytes * self.config.max_seq_len


@dataclass(frozen=True)
class CachedKinds:
    """MHA first, then GQA and MQA, latent attention last."""

    rows: tuple[CachedKind, ...]

    @property
    def times_saved(self) -> float:
        """How many times the bytes of latents heads with keys and values of their own take."""
        return self.rows[0].cache_bytes / self.rows[-1].cache_bytes


def cached_kinds(config: ModelConfig, itemsize: int) -> CachedKinds:
    """MHA, GQA, MQA and MLA of one width and number of heads, exactly; the model's own among them.

    GQA has the model's groups or as many as are nearest to √n_heads; MLA its own latent or one of
    4 · d_head and half a head that is rotated, as in DeepSeek-V2. All are without what latents are
    not combined with: every layer keeps every token.
    """
    barred = (each for each in OPTIONS.values() if each.bar is BESIDE_LATENTS)
    config = config.replace(**{each.name: each.default for each in barred})
    of_heads = config.replace(d_kv_latent=0)
    n, own = config.n_heads, of_heads.n_kv_heads
    groups = own if 1 < own < n else min(divisors(n), key=lambda each: abs(each - n**0.5))
    counts = dict.fromkeys((n, groups, 1))
    latent = config if config.is_latent else config.replace(d_kv_latent=4 * config.d_head)
    configs = (*(of_heads.replace(n_kv_heads=each) for each in counts), latent)
    return CachedKinds(tuple(_cached(each, itemsize) for each in configs))


def _cached(config: ModelConfig, itemsize: int) -> CachedKind:
    table = count_parameters(config)
    parameters = int(table.loc[table["group"] == "attention", "count"].sum())
    return CachedKind(config, parameters, kv_cache_bytes_per_token(config, itemsize))


def kv_head_counts(config: ModelConfig) -> tuple[int, ...]:
    """How many keys and values: as many as the model has, fewer, and one for all heads."""
    n = config.n_kv_heads
    between = [each for each in divisors(n) if 1 < each < n]
    middle = between[len(between) // 2 :][:1]
    return tuple(dict.fromkeys((n, *middle, 1)))


def shared_by(run: Run, n_kv_heads: int, alike: Likeness, moved: float) -> Shared:
    """What a model of so many keys and values takes, and what became of its maps and output."""
    config = run.config.replace(n_kv_heads=n_kv_heads)
    itemsize = devices.DTYPES[run.dtype].itemsize
    parts = count_parameters(config).set_index("part")["count"]
    return Shared(
        config=config,
        kv_parameters=int(parts["k_proj"] + parts["v_proj"]),
        parameters=int(parts.sum()),
        cache_bytes=kv_cache_bytes_per_token(config, itemsize),
        full_cache_bytes=kv_cache_bytes(config, itemsize, config.max_seq_len),
        likeness=alike,
        moved=moved,
    )

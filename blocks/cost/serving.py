"""What a pass of a served model reads, computes and sends on one device, and what bounds it.

The roofline of Williams et al. 2009, of whole passes (Pope et al. 2022, "Efficiently Scaling
Transformer Inference", section 2): reading and computing overlap, what devices send each other
comes on top. A bound from data sheets: real servers reach a part of it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from blocks.cost.flops import Pass, pass_sizes, products
from blocks.cost.hardware import Hardware
from blocks.cost.held import (
    Holding,
    held_parts,
    holdings,
    is_looked_up,
    is_rounded,
    is_routed,
    shared_sizes,
)
from blocks.cost.pairs import n_seen
from blocks.cost.parameters import Part
from blocks.cost.setup import HALF_BYTES, Layout, Setup, WeightFormat
from blocks.model.config import ModelConfig
from blocks.model.kinds import NormPlacement


class Bound(StrEnum):
    """What a pass waits for longest."""

    WEIGHTS = "weights"
    CACHE = "cache"
    ARITHMETIC = "arithmetic"
    LINKS = "links"


class Rates(NamedTuple):
    """FLOPs on one device, of all layers: by what each kind of them grows with.

    `rounded`: of `per_token` those with matrices in the number format of the weights.
    """

    per_token: float
    rounded: float
    per_pair: float
    per_local_pair: float
    per_logit: float


class Served(NamedTuple):
    """What one device of a replica has to do with the weights and caches of all layers.

    `weights`: bytes that each pass reads, `routed`: of all its experts; `rates`: of a prompt, and
    of tokens that are written; `n_sums`: all-reduces of a pass (two a layer, one where attention
    and feed-forward stand side by side, and one after the table).
    """

    weights: float
    routed: float
    holding: Holding
    rates: tuple[Rates, Rates]
    n_sums: int


class Work(NamedTuple):
    """Tokens of one pass: new ones of each text, and as many as they meet, themselves among them.

    `is_prompt`: they are read, and the vocabulary is scored after the last of them alone.
    `meeting`: texts that meet at an expert, those of other replicas too (0: none of others).
    """

    texts: int
    n_new: int
    n_keys: int
    is_prompt: bool = False
    meeting: int = 0


class Load(NamedTuple):
    """Bytes that one device reads, FLOPs that it computes and bytes that it sends in a pass."""

    weights: float
    cache: float
    flops: float
    rounded_flops: float
    links: float


class Pace(NamedTuple):
    """Seconds that each cause alone would take, and those of the pass."""

    weights: float
    cache: float
    arithmetic: float
    links: float
    seconds: float

    @property
    def reading(self) -> float:
        """Seconds of all that is read."""
        return self.weights + self.cache

    @property
    def bound(self) -> Bound:
        """What takes longest: reading all, of which the larger part is named, or another cause."""
        if self.links > max(self.reading, self.arithmetic):
            return Bound.LINKS
        if self.arithmetic >= self.reading:
            return Bound.ARITHMETIC
        return Bound.WEIGHTS if self.weights >= self.cache else Bound.CACHE


def touched_share(config: ModelConfig, tokens: int) -> float:
    """Expected share of experts that a batch of tokens needs: 1 − (1 − k/E)ᵗ, routed uniformly.

    Each token chooses k of E experts, whatever the others choose. Real routers are less even, so
    fewer are touched.
    """
    return 1 - (1 - config.n_active_experts / config.n_experts) ** tokens


@lru_cache(maxsize=256)
def served(config: ModelConfig, setup: Setup) -> Served:
    """Return what a device reads and computes, of a replica whose stages are one after another."""
    read, routed = 0.0, 0.0
    for part, n_bytes in held_parts(config, setup):
        if part.group == "mtp" or is_looked_up(part, config):
            continue
        if is_routed(part):
            routed += n_bytes
        else:
            read += n_bytes
    (holding,) = holdings(config, replace(setup, layout=Layout(tensor=setup.serves_as.tensor)))
    rates = _rates(config, setup, Pass(2, 2, 1)), _rates(config, setup, Pass(1, 2, 1))
    n_a_layer = 1 if config.norm.norm_placement is NormPlacement.PARALLEL else 2
    n_sums = n_a_layer * config.n_layers + 1
    return Served(read, routed, holding, rates, n_sums)


def _rates(config: ModelConfig, setup: Setup, tokens: Pass) -> Rates:
    """Count a pass, product by product, as so much a token, a pair and a text.

    Experts of a token are shared evenly: by all devices of a replica, or with those of others.
    """
    seen = Pass(tokens.n_new, tokens.n_keys, tokens.n_logits, skips_masked=True)
    sizes = {**pass_sizes(config, seen), **shared_sizes(config, setup.serves_as)}
    whole = pass_sizes(config, seen)
    one = {"n_new": 1, "n_seen": 1, "n_local_seen": 1, "n_logits": 1}
    found = dict.fromkeys(Rates._fields, 0.0)
    for part in products(config, seen):
        is_of_experts = any("n_active_experts" in each for each in part.products)
        own = whole if is_of_experts or "router" in part.name else sizes
        for product in part.products:
            flops = Part(part.name, part.group, (product,)).count({**own, **one})
            share = setup.serves_as.tensor if is_of_experts else 1
            found[_grows_with(product)] += flops / share
            is_matrix = "n_new" in product and is_rounded(part, config, setup)
            found["rounded"] += flops / share * is_matrix
    return Rates(**found)


def _grows_with(product: tuple[str | int, ...]) -> str:
    names = {"n_seen": "per_pair", "n_local_seen": "per_local_pair", "n_logits": "per_logit"}
    return next((name for size, name in names.items() if size in product), "per_token")


def load(config: ModelConfig, setup: Setup, own: Served, work: Work) -> Load:
    """What a pass asks of one device, of all layers; `own` is what `served` says.

    Cached vectors of old tokens are read, those of new ones written. A prompt that is read in
    pieces makes keys and values of its latents once.
    """
    rows, window = work.texts * work.n_new, config.local_window
    rates = own.rates[0 if work.is_prompt else 1]
    pairs = n_seen(work.n_new, work.n_keys) * rates.per_pair
    if window:
        pairs += n_seen(work.n_new, work.n_keys, window) * rates.per_local_pair
    n_logits = 1 if work.is_prompt else work.n_new
    touched = touched_share(config, (work.meeting or work.texts) * work.n_new)
    return Load(
        weights=own.weights + own.routed * touched,
        cache=own.holding.cache(work.texts, work.n_keys),
        flops=rows * rates.per_token + work.texts * (pairs + n_logits * rates.per_logit),
        rounded_flops=rows * rates.rounded,
        links=sum(_sent(config, setup.serves_as, rows, own.n_sums)),
    )


def _sent(config: ModelConfig, layout: Layout, rows: int, n_sums: int) -> Iterator[float]:
    """Bytes that one device sends in a pass, in 16 bits.

    A ring all-reduce sends 2·(t − 1)/t of a vector (Patarasuk and Yuan 2009); experts of other
    replicas are sent a vector a token and expert and send one back; a stage hands its vectors on.
    """
    vectors = rows * config.d_model * HALF_BYTES
    yield n_sums * vectors * 2 * (layout.tensor - 1) / layout.tensor
    if layout.replicas_of_experts > 1:
        away = (layout.expert - 1) / layout.expert / layout.tensor
        yield 2 * config.n_expert_layers * vectors * config.n_active_experts * away
    yield vectors * (layout.pipeline - 1)


def pace(work: Load, setup: Setup, device: Hardware) -> Pace | None:
    """Seconds of a pass by the data sheet; None where it has no peak of this number format.

    Matrices in fp8 are multiplied in fp8 where the device can, all else in the format of what
    passes.
    """
    peak = device.peak.get(setup.computes_in)
    if peak is None:
        return None
    is_fp8 = setup.weight_format is WeightFormat.FP8
    low_peak = device.peak.get(WeightFormat.FP8, peak) if is_fp8 else peak
    arithmetic = (work.flops - work.rounded_flops) / peak + work.rounded_flops / low_peak
    weights, cache = work.weights / device.bandwidth, work.cache / device.bandwidth
    links = work.links / device.link if device.link else 0.0
    return Pace(weights, cache, arithmetic, links, max(weights + cache, arithmetic) + links)


def together(paces: Iterable[Pace]) -> Pace:
    """One pass after another."""
    return Pace(*map(sum, zip(*paces, strict=True)))

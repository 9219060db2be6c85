"""Memory to train or to use a model: by what it is for, and with one choice made otherwise."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from blocks.cost.activations import Activations, training_activations
from blocks.cost.fit import (
    Need,
    cache_bytes,
    chunk_tokens,
    inference_need,
    n_parameters,
    training_need,
)
from blocks.cost.hardware import told_apart, usable_memories
from blocks.cost.setup import CacheFormat, OptimizerStates, Setup, WeightFormat
from blocks.cost.step import Shape
from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind
from blocks.model.kv_cache import state_bytes

VARIED = WeightFormat.FLOAT32, WeightFormat.BFLOAT16, WeightFormat.INT8, WeightFormat.INT4
QUERIES_SHARING = 4  # how many times fewer heads of keys and values are shown beside the chosen
PARTS = {
    True: ("weights", "gradients", "master", "optimizer", "activations"),
    False: ("weights", "cache", "activations"),
}


class Variant(NamedTuple):
    """A setup that differs in what `name` says, and what it needs.

    `n_kv_heads`: of its configuration, where that is what differs; otherwise 0.
    """

    name: str
    setup: Setup
    need: Need
    n_kv_heads: int = 0


@dataclass(frozen=True)
class MemoryFacts:
    """What the chosen setup needs (the first of `variants`), and others beside it.

    `state`: bytes of weights, gradients and optimizer on all devices together; `activations`: term
    by term, for training; `cache_per_token`: 0 where nothing is cached; `state_per_text`: what
    layers without attention keep, 0 where all attend; `has_head_bias`: each head adds a bias of its
    own to its scores; `devices`: names and memories, told apart;
    `here`: the device that is called `HERE` among them; `chunk`: tokens of a prompt that are read
    in one pass, 0 for all.
    """

    is_training: bool
    here: str
    shape: Shape
    variants: tuple[Variant, ...]
    state: int
    n_parameters: int
    cache_per_token: int
    activations: Activations | None
    has_head_bias: bool
    has_dropout: bool
    devices: tuple[tuple[str, int], ...]
    state_per_text: int = 0
    chunk: int = 0

    @property
    def setup(self) -> Setup:
        """The chosen training or inference setup."""
        return self.variants[0].setup

    @property
    def need(self) -> Need:
        """Bytes on each device as it was chosen."""
        return self.variants[0].need

    @property
    def parts(self) -> tuple[str, ...]:
        """Uses of the bytes."""
        return PARTS[self.is_training]

    @property
    def largest(self) -> str:
        """Use of most of the bytes."""
        return max(self.parts, key=lambda part: getattr(self.need, part))

    @property
    def largest_bytes(self) -> int:
        """Bytes of the largest use."""
        return int(getattr(self.need, self.largest))

    @property
    def largest_share(self) -> float:
        """The largest part's share of all bytes."""
        return self.largest_bytes / self.need.total

    @property
    def state_per_parameter(self) -> float:
        """Bytes per parameter before any activations."""
        return self.state / self.n_parameters


def memory_facts(
    config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, here: str, usable: float
) -> MemoryFacts:
    """Count the memory of a setup and of its variants, beside what the devices have."""
    variants = training_variants if is_training else inference_variants
    alone = replace(setup, n_devices=1)
    kept_of_one = cache_bytes(config, setup.itemsize, batch=1, n=1)
    state = min(kept_of_one, state_bytes(config, setup.itemsize))
    is_alibi = config.position.position_kind is PositionKind.ALIBI
    return MemoryFacts(
        is_training=is_training,
        here=here,
        shape=shape,
        variants=tuple(
            Variant(
                name,
                how,
                need(changed, how, shape, is_training=is_training),
                changed.n_kv_heads if changed != config else 0,
            )
            for name, changed, how in variants(config, setup)
        ),
        state=need(config, alone, Shape(1, 1), is_training=is_training).state,
        n_parameters=n_parameters(config),
        cache_per_token=kept_of_one - state,
        state_per_text=state,
        activations=_activations(config, setup, shape) if is_training else None,
        has_head_bias=is_alibi or config.encoder_decoder.relative_bias,
        has_dropout=config.dropout > 0,
        devices=told_apart(usable_memories(here, usable, setup.n_devices)),
        chunk=0 if is_training else chunk_tokens(config, setup),
    )


@lru_cache(maxsize=512)
def need(config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool) -> Need:
    """Return the memory of training, or of use."""
    count = training_need if is_training else inference_need
    return count(config, setup, batch=shape.batch, n=shape.n)


def _activations(config: ModelConfig, setup: Setup, shape: Shape) -> Activations:
    return training_activations(
        config,
        batch=shape.batch,
        n=shape.n,
        itemsize=setup.itemsize,
        fused=setup.fused,
        checkpointing=setup.checkpointing,
    )


Changed = Iterator[tuple[str, ModelConfig, Setup]]


def training_variants(config: ModelConfig, setup: Setup) -> Changed:
    """The chosen setup for training, and those that differ in one setting."""
    is_exact = setup.weight_format is WeightFormat.FLOAT32
    other = WeightFormat.BFLOAT16 if is_exact else WeightFormat.FLOAT32
    yield "chosen", config, setup
    yield "checkpointing", config, replace(setup, checkpointing=not setup.checkpointing)
    yield "fused", config, replace(setup, fused=not setup.fused)
    yield "format", config, replace(setup, weight_format=other)
    for kind in OptimizerStates:
        if kind is not setup.optimizer:
            yield kind, config, replace(setup, optimizer=kind)


def inference_variants(config: ModelConfig, setup: Setup) -> Changed:
    """The chosen setup for use, number formats of all weights, and other numbers of cached heads.

    Where heads share keys and values already, what they would take if none did stands there.
    """
    yield "chosen", config, setup
    for kind in VARIED:
        if kind is not setup.weight_format:
            yield kind, config, replace(setup, weight_format=kind, stored=None)
    if cache_bytes(config, 1, batch=1, n=1) and setup.caches_in is not CacheFormat.FP8:
        yield "fp8_cache", config, replace(setup, cache_format=CacheFormat.FP8)
    has_several = config.has_attention and not config.is_latent
    if not (has_several and cache_bytes(config, setup.itemsize, batch=1, n=1)):
        return
    grouped = config.n_kv_heads // QUERIES_SHARING
    if config.n_kv_heads < config.n_heads:
        yield "all_heads", config.replace(n_kv_heads=config.n_heads), setup
    elif grouped > 1 and config.n_kv_heads % QUERIES_SHARING == 0:
        yield "grouped", config.replace(n_kv_heads=grouped), setup
    if config.n_kv_heads > 1:
        yield "one_kv_head", config.replace(n_kv_heads=1), setup

"""How much memory training or use of a model needs, and what fits into how much."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from blocks.cost.activations import FLOAT32_BYTES, training_activations
from blocks.cost.parameters import count_parameters, total_parameters
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, TokenMixer
from blocks.model.kv_cache import kv_cache_bytes, kv_cache_bytes_per_token, state_bytes

HALF_BYTES = 2
PREFILL_CHUNK = 8192
MATRICES = ("_proj", "router", "shared_expert_gate")


class WeightFormat(StrEnum):
    """How a weight is stored; int8, int4 and as in a file for use only, computed with in bfloat16.

    A file of ours has 16 bits for each weight unless it is rounded (`StoredWeights`).
    """

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    INT8 = "int8"
    INT4 = "int4"
    FILE = "file"

    def bytes_of(self, n_weights: int) -> int:
        """Bytes of so many weights, without the scales that groups of int8 and int4 need."""
        return n_weights * BITS[self] // 8


BITS = {
    WeightFormat.FLOAT32: 32,
    WeightFormat.BFLOAT16: 16,
    WeightFormat.FLOAT16: 16,
    WeightFormat.INT8: 8,
    WeightFormat.INT4: 4,
    WeightFormat.FILE: 16,
}


class StoredWeights(NamedTuple):
    """Weights as a file of a rounded model has them: codes, scales, and what stayed exact."""

    n_bytes: int
    n_weights: int

    @property
    def bits_per_weight(self) -> float:
        """The mean over all weights, what belongs to their codes included."""
        return 8 * self.n_bytes / self.n_weights

    def bytes_of(self, n_weights: int) -> int:
        """Bytes of all weights; of some of them their share."""
        return round(self.n_bytes * n_weights / self.n_weights)


class OptimizerStates(StrEnum):
    """What an optimizer remembers beside each weight."""

    ADAM = "adam"
    SGD = "sgd"
    MOMENTUM = "momentum"
    MUON = "muon"


@dataclass(frozen=True)
class Setup:
    """How a model is trained or used.

    `n_devices` train by data parallelism, each with a batch and activations of its own; what there
    is whatever goes through (weights, gradients, a second copy, states) is shared evenly
    (Rajbhandari et al. 2020, ZeRO stage 3). In use they share one batch by tensor parallelism
    (Shoeybi et al. 2019, section 3): weights evenly, cache and activations by heads.
    `prefill_chunk`: tokens of all prompts that a decoder reads in one pass, 0 for all of them
    (Agrawal et al. 2023). `master_weights`: with weights of 16 bits, a copy
    in float32 takes the updates, and the optimizer's states are float32 too (Micikevicius et al.
    2017, section 3.1). `stored`: what the weights take in their file, where they are rounded.
    """

    weight_format: WeightFormat = WeightFormat.BFLOAT16
    optimizer: OptimizerStates = OptimizerStates.ADAM
    master_weights: bool = True
    fused: bool = True
    checkpointing: bool = False
    n_devices: int = 1
    prefill_chunk: int = PREFILL_CHUNK
    stored: StoredWeights | None = None

    def weight_bytes(self, n_weights: int) -> int:
        """Bytes of so many weights in use."""
        return (self.stored or self.weight_format).bytes_of(n_weights)

    @property
    def is_packed(self) -> bool:
        """Whether weights are not what is computed with, which is of 16 bits then."""
        return self.weight_format in (WeightFormat.INT8, WeightFormat.INT4, WeightFormat.FILE)

    @property
    def itemsize(self) -> int:
        """Bytes of a number that passes: float32, or 16 bits."""
        return FLOAT32_BYTES if self.weight_format is WeightFormat.FLOAT32 else HALF_BYTES

    @property
    def has_master(self) -> bool:
        """Whether a second, exact copy of the weights is kept."""
        return self.master_weights and self.itemsize < FLOAT32_BYTES

    def share(self, n: int) -> int:
        """Divide n bytes, heads or hidden values among devices, rounded up."""
        return -(-n // self.n_devices)


@dataclass(frozen=True)
class Need:
    """Bytes on each device, by what they are for; what does not apply is 0."""

    weights: int
    gradients: int = 0
    master: int = 0
    optimizer: int = 0
    activations: int = 0
    cache: int = 0

    @property
    def total(self) -> int:
        """All together."""
        return sum(vars(self).values())

    @property
    def state(self) -> int:
        """Bytes that do not depend on the texts: all but activations and cache."""
        return self.weights + self.gradients + self.master + self.optimizer


@lru_cache(maxsize=256)
def n_parameters(config: ModelConfig) -> int:
    """All parameters."""
    return total_parameters(config)


@lru_cache(maxsize=256)
def n_inner_matrices(config: ModelConfig) -> int:
    """Parameters in the matrices of the layers: those that Muon steps (Jordan 2024)."""
    table = count_parameters(config)
    is_matrix = table["part"].str.endswith(MATRICES)
    return int(table["count"][is_matrix].sum())


def n_states(config: ModelConfig, optimizer: OptimizerStates) -> int:
    """Numbers that the optimizer remembers.

    SGD none, with momentum one per weight, Adam two (Kingma and Ba 2014, algorithm 1), Muon one for
    the matrices of the layers and two, Adam's, for the rest.
    """
    n = n_parameters(config)
    match optimizer:
        case OptimizerStates.SGD:
            return 0
        case OptimizerStates.MOMENTUM:
            return n
        case OptimizerStates.ADAM:
            return 2 * n
        case OptimizerStates.MUON:
            return 2 * n - n_inner_matrices(config)


def training_need(config: ModelConfig, setup: Setup, *, batch: int, n: int) -> Need:
    """Estimate the memory of one step on `batch` texts of n tokens, all gradients there at once.

    Left out: what the framework, the allocator and communication between devices take, and of
    weights that are shared the layer that is gathered for the moment.
    """
    n_weights, itemsize = n_parameters(config), setup.itemsize
    activations = training_activations(
        config,
        batch=batch,
        n=n,
        itemsize=itemsize,
        fused=setup.fused,
        checkpointing=setup.checkpointing,
    )
    state_bytes = FLOAT32_BYTES if setup.has_master else itemsize
    return Need(
        weights=setup.share(n_weights * itemsize),
        gradients=setup.share(n_weights * itemsize),
        master=setup.share(n_weights * FLOAT32_BYTES * setup.has_master),
        optimizer=setup.share(n_states(config, setup.optimizer) * state_bytes),
        activations=activations.peak,
    )


def inference_need(config: ModelConfig, setup: Setup, *, batch: int, n: int) -> Need:
    """Estimate weights, cache of `batch` texts of n tokens, and what is alive while they are read.

    A decoder reads its prompts chunk by chunk, anything else in one pass; the vocabulary is scored
    after the last token only. Scales of int8 and int4 are left out, those of a file are counted; so
    are small weights that each of several devices has a copy of (norms, biases).
    """
    return Need(
        weights=setup.share(setup.weight_bytes(n_parameters(config))),
        activations=_passing(config, setup, batch, n),
        cache=device_cache_bytes(config, setup, batch=batch, n=n),
    )


def device_cache_bytes(config: ModelConfig, setup: Setup, *, batch: int, n: int) -> int:
    """Bytes of the cache on each device, which holds whole heads of keys and values.

    More devices than such heads hold the same ones again (Pope et al. 2022, section 3.3). What all
    heads read is on each device: latent vectors, the state of a GRU.
    """
    whole = cache_bytes(config, setup.itemsize, batch=batch, n=n)
    states = batch * state_bytes(config, setup.itemsize) if whole else 0
    n_state_heads = config.n_state_heads if config.token_mixer is TokenMixer.GATED_DELTA else 1
    shared = (
        (whole - states, 1 if config.is_latent else config.n_kv_heads),
        (states, n_state_heads),
    )
    return sum(n_bytes * setup.share(n_heads) // n_heads for n_bytes, n_heads in shared)


def cache_bytes(config: ModelConfig, itemsize: int, *, batch: int, n: int) -> int:
    """Bytes of the KV cache of `batch` texts of n tokens; 0 for an encoder."""
    if not config.architecture.generates:
        return 0
    is_of_two = config.architecture is Architecture.ENCODER_DECODER
    source = n * kv_cache_bytes_per_token(config, itemsize) if is_of_two else 0
    return batch * (source + kv_cache_bytes(config, itemsize, n))


def cache_bytes_per_token(config: ModelConfig, itemsize: int) -> int:
    """Count the bytes of one more token; of an encoder–decoder, one in each text.

    Nothing in an encoder, and where each layer keeps a state instead of keys and values.
    """
    if not config.architecture.generates:
        return 0
    is_of_two = config.architecture is Architecture.ENCODER_DECODER
    return (1 + is_of_two) * kv_cache_bytes_per_token(config, itemsize)


def _passing(config: ModelConfig, setup: Setup, batch: int, n: int) -> int:
    """Peak activations of a forward pass: those of one layer, and the last logits.

    Each of several devices has the whole residual stream; heads, hidden values and vocabulary are
    shared.
    """
    rows = _rows_at_once(config, setup, batch, n)
    n_heads = setup.share(config.n_heads)
    heads = config.d_qk * 2 * (n_heads + setup.share(config.n_kv_heads))
    patterns = 0 if setup.fused else 2 * rows * n_heads * n
    hidden = 0
    if not config.attention_only:
        n_hidden = 3 if config.feed_forward.activation.is_gated else 2
        hidden = n_hidden * setup.share(max(_hidden_at_once(config, rows)))
    widest = max(rows * heads + patterns, hidden)
    logits = batch * setup.share(config.vocab_size) * config.architecture.reads_tokens
    return (3 * rows * config.d_model + widest) * setup.itemsize + logits * FLOAT32_BYTES


def chunk_tokens(config: ModelConfig, setup: Setup) -> int:
    """Tokens of all prompts that are read in one pass; 0: all of them.

    Where a token meets those after it too, a text is not read in pieces.
    """
    return setup.prefill_chunk if config.architecture is Architecture.GPT else 0


def _rows_at_once(config: ModelConfig, setup: Setup, batch: int, n: int) -> int:
    """Tokens of the widest pass: a chunk, or later one token of every text."""
    chunk = chunk_tokens(config, setup) or batch * n
    return min(batch * n, max(chunk, batch))


def _hidden_at_once(config: ModelConfig, rows: int) -> Iterator[int]:
    """Values of the hidden width that are alive together, in each kind of layer or expert.

    An expert has its even share of the rows.
    """
    if config.n_experts == 1 or config.n_dense_layers:
        yield rows * config.d_ff
    if config.n_experts > 1:
        yield rows * config.d_expert * config.n_active_experts // config.n_experts
        yield rows * config.d_expert * config.n_shared_experts


def largest(needs: Callable[[int], int], budget: int, most: int) -> int:
    """The largest number up to `most` whose need is within the budget; 0 where not even 1 is.

    `needs` must not fall.
    """
    fits, fails = 0, most + 1
    step = 1
    while step < fails:  # doubling finds the range, halving the place in it
        if needs(step) > budget:
            fails = step
            break
        fits, step = step, 2 * step
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if needs(middle) > budget:
            fails = middle
        else:
            fits = middle
    return fits

"""How much memory training or use of a model needs, and what fits into how much."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from blocks.cost.activations import FLOAT32_BYTES, training_activations
from blocks.cost.held import holdings
from blocks.cost.parameters import count_parameters, total_parameters
from blocks.cost.setup import CACHE_FORMATS, OptimizerStates, Setup, WeightFormat
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.model.kv_cache import kv_cache_bytes, kv_cache_bytes_per_token

MATRICES = ("_proj", "router", "shared_expert_gate")


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
        return self.state + self.activations + self.cache

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

    On the fullest device, where several divide the model (`held.py`). A decoder reads its prompts
    chunk by chunk, anything else in one pass; the vocabulary is scored after the last token only.
    Raises `ConfigError` for sizes below 0.
    """
    check_sizes(batch, n)
    return inference_memory(config, setup)(batch, n)


def inference_memory(config: ModelConfig, setup: Setup) -> Callable[[int, int], Need]:
    """Return the need of a batch of texts of n tokens, by `inference_need`, to ask for it often."""
    layout, passing = setup.serves_as, _passing(config, setup)
    logits = config.architecture.reads_tokens * layout.share(config.vocab_size) * FLOAT32_BYTES
    stages = holdings(config, setup)

    def of(batch: int, n: int) -> Need:
        texts = layout.texts(batch)
        rest, of_logits = passing(texts, n), texts * logits
        needs = [
            Need(each.weights, 0, 0, 0, rest + of_logits * each.is_last, each.cache(texts, n))
            for each in stages
        ]
        return needs[0] if len(needs) == 1 else max(needs, key=lambda each: each.total)

    return of


def check_sizes(batch: int, n: int) -> None:
    """Raise `ConfigError` for fewer than no texts or tokens."""
    if batch < 0 or n < 0:
        text = N_("batch ({batch}) and n ({n}) must not be negative")
        raise ConfigError([Fault(text, {"batch": batch, "n": n})])


def cache_bytes(config: ModelConfig, itemsize: int | str, *, batch: int, n: int) -> int:
    """Bytes of the KV cache of `batch` texts of n tokens; 0 for an encoder.

    `itemsize`: bytes of a number, or the name of a `CacheFormat`, whose scales are counted then.
    Raises `ConfigError` for sizes below 0 and unknown formats.
    """
    check_sizes(batch, n)
    if isinstance(itemsize, str):
        kept = CACHE_FORMATS[itemsize]
        setup = Setup(weight_format=WeightFormat(kept), cache_format=kept)
        return holdings(config, setup)[0].cache(batch, n)
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


def _passing(config: ModelConfig, setup: Setup) -> Callable[[int, int], int]:
    """Peak activations of a forward pass without its logits, of texts of n tokens: one layer's.

    Each of several devices has the whole residual stream; heads and hidden values are shared.
    """
    layout, chunk = setup.serves_as, chunk_tokens(config, setup)
    n_heads = layout.share(config.n_heads)
    heads = config.d_qk * 2 * (n_heads + layout.share(config.n_kv_heads))
    n_hidden = 3 if config.feed_forward.activation.is_gated else 2
    widths = () if config.attention_only else tuple(_hidden_at_once(config))
    d_model, itemsize, is_fused = config.d_model, setup.itemsize, setup.fused

    def of(texts: int, n: int) -> int:
        rows = min(texts * n, max(chunk or texts * n, texts))
        patterns = 0 if is_fused else 2 * rows * n_heads * n
        hidden = max((rows * width * k // of_all for width, k, of_all in widths), default=0)
        widest = max(rows * heads + patterns, n_hidden * layout.share(hidden))
        return (3 * rows * d_model + widest) * itemsize

    return of


def chunk_tokens(config: ModelConfig, setup: Setup) -> int:
    """Tokens of all prompts that are read in one pass; 0: all of them.

    Where a token meets those after it too, a text is not read in pieces.
    """
    return setup.prefill_chunk if config.architecture is Architecture.GPT else 0


def _hidden_at_once(config: ModelConfig) -> Iterator[tuple[int, int, int]]:
    """Hidden width of each kind of layer or expert, and which share of the rows it has.

    An expert has its even share.
    """
    if config.n_experts == 1 or config.n_dense_layers:
        yield config.d_ff, 1, 1
    if config.n_experts > 1:
        yield config.d_expert, config.n_active_experts, config.n_experts
        yield config.d_expert, config.n_shared_experts, 1


def largest(needs: Callable[[int], int], budget: int, most: int) -> int:
    """The largest number up to `most` whose need is within the budget; 0 where not even 1 is.

    `needs` must not fall. It is nearly straight, so a guess lies on the line through the two that
    enclose the place; where that did not halve what is between them, in the middle.
    """
    low, high = needs(1), needs(most)
    if high <= budget:
        return most
    fits, fails, halves = 1, most, False
    while fails - fits > 1 and low <= budget:
        between = fails - fits
        on_line = fits + (budget - low) * between // (high - low)
        guess = fits + between // 2 if halves else min(max(on_line, fits + 1), fails - 1)
        found = needs(guess)
        if found <= budget:
            fits, low = guess, found
        else:
            fails, high = guess, found
        halves = not halves and fails - fits > between // 2
    return fits if low <= budget else 0

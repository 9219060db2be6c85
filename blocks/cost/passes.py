"""FLOPs of a whole step: forward and back, of training, of reading a text and of writing one."""

from dataclasses import dataclass, replace
from enum import StrEnum

from blocks.cost.activations import can_be_fused
from blocks.cost.flops import (
    Pass,
    ahead_products,
    decoder_products,
    encoder_products,
    pass_sizes,
    products,
)
from blocks.cost.parameters import Part
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, NormKind, NormPlacement, PositionKind

FIRST_READERS = (
    *("q_proj", "k_proj", "v_proj", "out_gate_proj", "q_latent_proj", "kv_latent_proj"),
    *("input_proj", "write_proj", "decay_proj"),
)
WIDE_READERS = ("gate_proj", "up_proj")
EXPERT_READERS = (
    *("router", "shared_expert_gate", *WIDE_READERS),
    *(f"shared_{name}" for name in WIDE_READERS),
)


class PassKind(StrEnum):
    """Kinds of pass: a text forward; a prompt; one token after it; a text forward and back."""

    FORWARD = "forward"
    PREFILL = "prefill"
    DECODE = "decode"
    TRAINING = "training"


@dataclass(frozen=True)
class Operation:
    """A product of matrices, of all layers: its formula, and the FLOPs of each way.

    `recomputed`: what is done a second time on the way back, since it was not kept.
    """

    name: str
    group: str
    formula: str
    numbers: str
    forward: int
    backward: int = 0
    recomputed: int = 0

    @property
    def flops(self) -> int:
        """All together."""
        return self.forward + self.backward + self.recomputed


def pass_kinds(config: ModelConfig) -> tuple[PassKind, ...]:
    """Kinds of pass that this architecture has; prefill and decode need a decoder."""
    generates = config.architecture.generates
    return tuple(PassKind) if generates else (PassKind.FORWARD, PassKind.TRAINING)


def reading_pass(config: ModelConfig) -> PassKind:
    """The pass that reads a whole text: its prefill, where the model then writes."""
    return PassKind.PREFILL if config.architecture.generates else PassKind.FORWARD


def operations(
    config: ModelConfig,
    kind: PassKind,
    *,
    n: int,
    batch: int = 1,
    checkpointing: bool = False,
    fused: bool = False,
    computes_masked: bool = False,
) -> tuple[Operation, ...]:
    """Every product of `batch` texts of `n` tokens; both texts of an encoder–decoder have n.

    Prefill scores the vocabulary after the last token only; decode computes one token that meets
    n, itself among them. Training alone passes what predicts further ahead. Back through Y = X·W
    are two products of the same size, ∂X = ∂Y·Wᵀ and ∂W = Xᵀ·∂Y. With `checkpointing` each layer
    goes forward a second time, and with `fused` the scores (Dao et al. 2022, algorithm 4). What
    `computes_masked` adds is in `Pass`. Nothing is built, nothing allocated.
    """
    found = []
    for part, sizes in _parts(config, kind, n, batch, computes_masked):
        count = part.count(sizes)
        formula, numbers = part.formula(), part.numbers(sizes)
        operation = Operation(part.name, part.group, formula, numbers, count)
        if kind is PassKind.TRAINING:
            operation = _and_back(operation, config, checkpointing=checkpointing, fused=fused)
        found.append(operation)
    return tuple(found)


def total_flops(found: tuple[Operation, ...]) -> int:
    """FLOPs of the whole step."""
    return sum(operation.flops for operation in found)


def _parts(
    config: ModelConfig, kind: PassKind, n: int, batch: int, computes_masked: bool
) -> list[tuple[Part, dict[str, int]]]:
    """Products with the sizes that their formulas name."""
    is_decode = kind is PassKind.DECODE
    n_logits = 1 if is_decode or kind is PassKind.PREFILL else n
    tokens = Pass(1 if is_decode else n, n, n_logits, computes_masked)
    if config.architecture is not Architecture.ENCODER_DECODER:
        sizes = {**pass_sizes(config, tokens), "batch": batch}
        ahead = ahead_products(config) if kind is PassKind.TRAINING else []
        parts = (*products(config, tokens), *ahead)
        return [(_of_batch(part, batch), sizes) for part in parts]
    found = []
    if not is_decode:
        source = Pass(n, n, computes_masked=computes_masked)
        sizes = {**pass_sizes(config, source), "batch": batch}
        found += [(_of_batch(p, batch, "encoder"), sizes) for p in encoder_products(config)]
    if kind is not PassKind.PREFILL:
        sizes = {**pass_sizes(config, tokens, n_source=n), "batch": batch}
        found += [(_of_batch(p, batch, "decoder"), sizes) for p in decoder_products(config, tokens)]
    return found


def _of_batch(part: Part, batch: int, stack: str = "") -> Part:
    """The product of all texts, called after its half of an encoder–decoder."""
    times = ("batch",) if batch > 1 else ()
    name = f"{stack}.{part.name}" if stack and part.group != "embedding" else part.name
    return replace(part, name=name, products=tuple((*times, *each) for each in part.products))


def _and_back(
    operation: Operation, config: ModelConfig, *, checkpointing: bool, fused: bool
) -> Operation:
    """Count forward and backward.

    Nothing that learns stands before a block on vectors: what its first layer reads needs no
    gradient.
    """
    forward, backward = operation.forward, 2 * operation.forward
    if n_layers := _readers_of_fixed(config).get(operation.name):
        backward -= forward // n_layers
    is_in_layer = not operation.name.endswith("unembed")
    recomputed = forward * (checkpointing and is_in_layer)
    if fused and operation.name.endswith("scores"):
        is_cross = operation.name.endswith("cross_scores")
        own = config.replace(relative_bias=False) if is_cross else config
        recomputed += forward * can_be_fused(own)
    return replace(operation, backward=backward, recomputed=recomputed)


def _readers_of_fixed(config: ModelConfig) -> dict[str, int]:
    """Return products of the first layer whose input no learned weight has touched.

    With the number of layers that have such a product.
    """
    norm = config.norm
    learns_position = config.position.position_kind is PositionKind.LEARNED
    has_norm = norm.norm_kind is not NormKind.NONE and norm.norm_affine
    reads_stream = norm.norm_placement in (NormPlacement.POST, NormPlacement.RES_POST)
    learns_norm = has_norm and not (reads_stream or config.lacks_first_norm)
    if config.architecture is not Architecture.BLOCK or learns_position or learns_norm:
        return {}
    own = FIRST_READERS[1:] if config.d_q_latent else FIRST_READERS
    readers = dict.fromkeys(own, config.n_layers)
    if config.is_hybrid:
        readers = {f"mixer.{name}": config.n_mixer_layers for name in FIRST_READERS}
    if norm.norm_placement is not NormPlacement.PARALLEL:
        return readers
    if n_dense := config.n_dense_layers:
        return readers | {f"dense_{name}": n_dense for name in WIDE_READERS}
    return readers | dict.fromkeys(EXPERT_READERS, config.n_layers)

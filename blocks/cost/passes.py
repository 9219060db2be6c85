"""FLOPs of a whole step: forward and back, of training, of reading a text and of writing one."""

from dataclasses import dataclass, replace
from enum import StrEnum

from blocks.cost.activations import can_be_fused
from blocks.cost.flops import (
    Pass,
    decoder_products,
    encoder_products,
    pass_sizes,
    products,
)
from blocks.cost.parameters import Part
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, NormKind, NormPlacement, PositionKind

FIRST_READERS = ("q_proj", "k_proj", "v_proj")
PARALLEL_READERS = (*FIRST_READERS, "router", "gate_proj", "up_proj")


class PassKind(StrEnum):
    """What goes through: a text forward; a prompt; one token after it; a text forward and back."""

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
    writes = config.architecture in (Architecture.GPT, Architecture.ENCODER_DECODER)
    return tuple(PassKind) if writes else (PassKind.FORWARD, PassKind.TRAINING)


def operations(
    config: ModelConfig,
    kind: PassKind,
    *,
    n: int,
    batch: int = 1,
    checkpointing: bool = False,
    fused: bool = False,
) -> tuple[Operation, ...]:
    """Every product of `batch` texts of `n` tokens; both texts of an encoder–decoder have n.

    Prefill scores the vocabulary after the last token only; decode computes one token that meets
    n, itself among them. Back through Y = X·W are two products of the same size, ∂X = ∂Y·Wᵀ and
    ∂W = Xᵀ·∂Y. With `checkpointing` each layer goes forward a second time, and with `fused` the
    scores (Dao et al. 2022, algorithm 4). Nothing is built, nothing allocated.
    """
    found = []
    for part, sizes in _parts(config, kind, n, batch):
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
    config: ModelConfig, kind: PassKind, n: int, batch: int
) -> list[tuple[Part, dict[str, int]]]:
    """Products with the sizes that their formulas name."""
    is_decode = kind is PassKind.DECODE
    n_logits = 1 if is_decode or kind is PassKind.PREFILL else n
    tokens = Pass(1 if is_decode else n, n, n_logits)
    if config.architecture is not Architecture.ENCODER_DECODER:
        sizes = {**pass_sizes(config, tokens), "batch": batch}
        return [(_of_batch(part, batch), sizes) for part in products(config, tokens)]
    found = []
    if not is_decode:
        sizes = {**pass_sizes(config, Pass(n, n)), "batch": batch}
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
    if operation.name in _readers_of_fixed(config):
        backward -= forward // config.n_layers
    is_in_layer = operation.name != "unembed"
    recomputed = forward * (checkpointing and is_in_layer)
    if fused and operation.name.endswith("scores"):
        is_cross = operation.name.endswith("cross_scores")
        recomputed += forward * (is_cross or can_be_fused(config))
    return replace(operation, backward=backward, recomputed=recomputed)


def _readers_of_fixed(config: ModelConfig) -> tuple[str, ...]:
    """Products of the first layer whose input comes from outside, through nothing that learns."""
    norm = config.norm
    learns_position = config.position.position_kind is PositionKind.LEARNED
    has_norm = norm.norm_kind is not NormKind.NONE and norm.norm_affine
    learns_norm = has_norm and norm.norm_placement is not NormPlacement.POST
    if config.architecture is not Architecture.BLOCK or learns_position or learns_norm:
        return ()
    return PARALLEL_READERS if norm.norm_placement is NormPlacement.PARALLEL else FIRST_READERS

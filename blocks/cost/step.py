"""One step of a model in FLOPs: product by product, beside its other steps, and by rule."""

from dataclasses import dataclass
from typing import NamedTuple

from blocks.cost.crossover import PAIRS
from blocks.cost.fit import n_parameters
from blocks.cost.hardware import HARDWARE
from blocks.cost.pairs import n_seen
from blocks.cost.parameters import active_parameters
from blocks.cost.passes import Operation, PassKind, operations, pass_kinds, total_flops
from blocks.cost.setup import Setup
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture


class Shape(NamedTuple):
    """Tokens of a text, and texts at once."""

    n: int
    batch: int


class PassTotal(NamedTuple):
    """All products of one kind of step, and how many tokens they compute."""

    kind: PassKind
    flops: int
    n_tokens: int

    @property
    def per_token(self) -> float:
        """FLOPs of each token."""
        return self.flops / self.n_tokens


class Decoding(NamedTuple):
    """A text read against one more token written, and what a device could do meanwhile.

    `flops_per_weight`: those that each weight serves while it is read once; `could`: what the
    device could compute in the time that takes.
    """

    n: int
    batch: int
    read: int
    written: int
    device: str
    could: float

    @property
    def ratio(self) -> float:
        """FLOPs of reading the text over those of a step."""
        return self.read / self.written

    @property
    def flops_per_weight(self) -> int:
        """A multiplication and an addition for each text."""
        return 2 * self.batch


@dataclass(frozen=True)
class StepFacts:
    """FLOPs of a step. `operations` have what is recomputed, which `chosen` leaves out.

    `seen_share`: of the pairs that a causal mask allows, those that windows leave.
    """

    config: ModelConfig
    setup: Setup
    operations: tuple[Operation, ...]
    passes: tuple[PassTotal, ...]
    chosen: PassTotal
    n_parameters: int
    n_active: int
    decoding: Decoding | None
    seen_share: float = 1.0

    @property
    def recomputed(self) -> int:
        """FLOPs that are repeated on the way back."""
        return sum(each.recomputed for each in self.operations)

    @property
    def done(self) -> int:
        """All that is computed."""
        return self.chosen.flops + self.recomputed

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each operation in all that is computed."""
        return tuple(each.flops / self.done for each in self.operations)

    @property
    def by_part(self) -> dict[str, int]:
        """FLOPs of the parts that papers tell apart; together all that is computed."""
        found: dict[str, int] = {}
        for each in self.operations:
            found[_part(each)] = found.get(_part(each), 0) + each.flops
        return found

    @property
    def per_parameter(self) -> int:
        """The rule: 2 FLOPs forward for each parameter of a token, 4 back (Kaplan et al. 2020)."""
        return 6 if self.chosen.kind is PassKind.TRAINING else 2

    @property
    def of_rule(self) -> float:
        """The exact count as a multiple of the rule's."""
        return self.chosen.per_token / (self.per_parameter * self.n_active)

    @property
    def pairs_share(self) -> float:
        """The share of attention between tokens."""
        pairs = (each for each in self.operations if each.name.endswith(PAIRS))
        return sum(each.forward + each.backward for each in pairs) / self.chosen.flops


def _part(operation: Operation) -> str:
    """What a product belongs to: keys, queries and values, their use, what follows them."""
    name = operation.name.rpartition(".")[2].removeprefix("cross_")
    if operation.name.endswith(PAIRS):
        return "pairs"
    if operation.group in ("attention", "cross_attention"):
        return "out" if name == "out_proj" else "qkv"
    return operation.group


def step_facts(
    config: ModelConfig, kind: PassKind, shape: Shape, setup: Setup, device: str
) -> StepFacts:
    """Count a step, and each other kind of step that the architecture has."""
    passes = tuple(pass_total(config, each, shape) for each in pass_kinds(config))
    return StepFacts(
        config=config,
        setup=setup,
        operations=operations(
            config,
            kind,
            n=shape.n,
            batch=shape.batch,
            checkpointing=setup.checkpointing,
            fused=setup.fused,
        ),
        passes=passes,
        chosen=next(each for each in passes if each.kind is kind),
        n_parameters=n_parameters(config),
        n_active=active_parameters(config),
        decoding=_decoding(config, shape, setup, device),
        seen_share=_seen_share(config, kind, shape.n),
    )


def _seen_share(config: ModelConfig, kind: PassKind, n: int) -> float:
    """By one rule for full and local layers: 1 where there are no windows."""
    n_new = 1 if kind is PassKind.DECODE else n
    n_layers = config.n_decoder_layers or config.n_layers
    local = config.n_local(n_layers) / max(1, n_layers - config.n_mixer_layers)
    inside = n_seen(n_new, n, config.local_window) / n_seen(n_new, n)
    return 1 - local * (1 - inside)


def pass_total(config: ModelConfig, kind: PassKind, shape: Shape) -> PassTotal:
    """Count one kind of step, nothing of it done twice."""
    found = operations(config, kind, n=shape.n, batch=shape.batch)
    return PassTotal(kind, total_flops(found), n_tokens(config, kind, shape))


def n_tokens(config: ModelConfig, kind: PassKind, shape: Shape) -> int:
    """Tokens that are computed; an encoder–decoder reads two texts."""
    if kind is PassKind.DECODE:
        return shape.batch
    is_two = config.architecture is Architecture.ENCODER_DECODER
    n_texts = 2 if is_two and kind is not PassKind.PREFILL else 1
    return n_texts * shape.n * shape.batch


def _decoding(config: ModelConfig, shape: Shape, setup: Setup, device: str) -> Decoding | None:
    """None for a model that does not write."""
    if not config.architecture.generates:
        return None
    one = Shape(shape.n, 1)
    read, written = (
        pass_total(config, kind, one).flops for kind in (PassKind.PREFILL, PassKind.DECODE)
    )
    hardware = HARDWARE[device]
    peak = hardware.peak.get(str(setup.weight_format), max(hardware.peak.values()))
    could = peak * setup.itemsize / hardware.bandwidth
    return Decoding(shape.n, shape.batch, read, written, hardware.title, could)

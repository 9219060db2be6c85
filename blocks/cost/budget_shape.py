"""Which GPT a budget buys: shape, tokens, batch, time, memory, and the loss to expect."""

from bisect import bisect_left
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from blocks.cost.chosen_shape import AttentionShape, chosen_shape, size_of
from blocks.cost.fit import Need, largest, n_parameters, training_need
from blocks.cost.hardware import HARDWARE
from blocks.cost.scaling_laws import LAWS, Band, Law, batch_tokens, learning_rate
from blocks.cost.setup import Setup
from blocks.cost.training_cost import HOUR, TrainingCost, training_cost
from blocks.model.config import ModelConfig

MOST_DEVICES = 1 << 17  # that are looked at where a training does not fit on fewer


class BudgetKind(StrEnum):
    """What there is: FLOPs, hours on the devices, or money for their hours."""

    FLOPS = "flops"
    TIME = "time"
    MONEY = "money"


class Budget(NamedTuple):
    """What there is to train with.

    `amount`: FLOPs, hours, or money; `price` of an hour of one device, in the same money.
    `utilisation`: the share of the device's peak that is reached, `usable` of its memory.
    """

    kind: BudgetKind
    amount: float
    device: str = "h100-sxm"
    n_devices: int = 1
    utilisation: float = 0.4
    usable: float = 0.9
    price: float = 0.0

    @property
    def speed(self) -> float:
        """FLOPs a second on one device."""
        return HARDWARE[self.device].fastest_training * self.utilisation

    @property
    def flops(self) -> float:
        """What all devices compute for it, recomputation included."""
        match self.kind:
            case BudgetKind.FLOPS:
                return self.amount
            case BudgetKind.TIME:
                return self.amount * HOUR * self.n_devices * self.speed
            case BudgetKind.MONEY:
                return self.amount / self.price * HOUR * self.speed


class Wish(NamedTuple):
    """What is asked of the model: by which law, with which attention, for which texts.

    `served`: tokens that it will read or write in use; 0: ten for each that it is trained on.
    """

    law: str = "besiroglu"
    attention: AttentionShape = AttentionShape.GQA
    vocab_size: int = 32_000
    n: int = 1024
    served: float = 0.0


@dataclass(frozen=True)
class ShapeFacts:
    """The answer: a model, and what its training takes.

    `size` is what the law wants, `sized` what this model has of it; `need` is that of one device
    with `texts_at_once` in it, of `texts` in the batch of all; 0 at once: not even one fits.
    """

    budget: Budget
    wish: Wish
    law: Law
    config: ModelConfig
    n_parameters: int
    size: float
    sized: float
    n_tokens: int
    cost: TrainingCost
    texts: int
    texts_at_once: int
    need: Need
    loss: Band | None

    @property
    def off(self) -> float:
        """How much larger the model is than the law wants, as a share."""
        return self.sized / self.size - 1

    @property
    def tokens_per_parameter(self) -> float:
        """Training tokens for each parameter."""
        return self.n_tokens / self.n_parameters

    @property
    def of_rule(self) -> float:
        """The exact count as a multiple of 6·N·D."""
        return self.cost.exact / self.cost.rule

    @property
    def pairs_share(self) -> float:
        """Attention between tokens, as a share of the exact count."""
        return self.cost.pairs / self.cost.exact

    @property
    def more_unmasked(self) -> float:
        """The share of tokens that there were more for it if kernels skipped masked pairs.

        Of n² pairs of a text a causal mask lets n·(n + 1)/2 through (Dao 2023, section 3.1).
        """
        n = self.wish.n
        saved = (n - 1) / (2 * n) * (self.cost.pairs + self.cost.recomputed)
        return saved / (self.cost.done - saved)

    @property
    def recomputed_share(self) -> float:
        """The share of the budget that is computed a second time."""
        return self.cost.recomputed / self.cost.done

    @property
    def n_steps(self) -> int:
        """Updates of the weights."""
        return max(1, round(self.n_tokens / (self.texts * self.wish.n)))

    @property
    def learning_rate(self) -> float:
        """The peak that belongs to this batch."""
        return learning_rate(self.budget.flops)

    @property
    def device_hours(self) -> float:
        """Hours of all devices together."""
        return self.cost.done / self.budget.speed / HOUR

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.device_hours * HOUR / self.budget.n_devices

    @property
    def memory(self) -> int:
        """Bytes of a device that may be used."""
        return int(HARDWARE[self.budget.device].memory * self.budget.usable)

    @property
    def beyond(self) -> float:
        """How far the budget lies outside those that the law was fitted on."""
        return self.law.beyond(self.budget.flops)


@lru_cache(maxsize=64)
def shape_for(budget: Budget, wish: Wish) -> ShapeFacts:
    """Find the GPT that a budget is best spent on, as a published law says."""
    return shape_by(LAWS[wish.law], budget, wish)


def shape_by(law: Law, budget: Budget, wish: Wish) -> ShapeFacts:
    """The same by any law, as one that was fitted here; that of the wish is not asked."""
    size = law.size(budget.flops)
    config = chosen_shape(size, law.counted, wish.attention, wish.vocab_size, wish.n)
    n_tokens = affordable_tokens(config, budget.flops, wish.n)
    setup = Setup(n_devices=budget.n_devices)
    texts = max(budget.n_devices, round(batch_tokens(budget.flops) / wish.n))
    at_once, need = _at_once(config, setup, budget, -(-texts // budget.n_devices), wish.n)
    sized = size_of(config, law.counted, wish.n)
    return ShapeFacts(
        budget,
        wish,
        law,
        config,
        n_parameters(config),
        size,
        sized,
        n_tokens,
        training_cost(config, n_tokens, n=wish.n, fused=True),
        texts,
        at_once,
        need,
        law.loss(sized, n_tokens),
    )


def with_fewest_devices(found: ShapeFacts) -> ShapeFacts | None:
    """The same budget on the least number of devices, above those it has, that hold a training.

    None where no number does: activations of one text are not shared.
    """
    if found.need.activations > found.memory:
        return None

    def on(n_devices: int) -> ShapeFacts:
        return shape_by(found.law, found.budget._replace(n_devices=n_devices), found.wish)

    numbers = range(found.budget.n_devices + 1, MOST_DEVICES + 1)
    fewest = bisect_left(numbers, 1, key=lambda count: min(on(count).texts_at_once, 1))
    return on(numbers[fewest]) if fewest < len(numbers) else None


def affordable_tokens(config: ModelConfig, flops: float, n: int) -> int:
    """The tokens, in texts of n, that a model learns from for so many FLOPs, exactly counted."""
    return max(1, int(flops * n // training_cost(config, n, n=n, fused=True).done))


def _at_once(
    config: ModelConfig, setup: Setup, budget: Budget, texts: int, n: int
) -> tuple[int, Need]:
    """Texts of a batch that a device holds at once, and what they need; the others wait."""

    def need(batch: int) -> Need:
        return training_need(config, setup, batch=max(1, batch), n=n)

    memory = int(HARDWARE[budget.device].memory * budget.usable)
    found = largest(lambda batch: need(batch).total, memory, texts)
    return found, need(found)


def by_attention(budget: Budget, wish: Wish) -> tuple[ShapeFacts, ...]:
    """The same budget with each way to keep keys and values."""
    return tuple(shape_for(budget, wish._replace(attention=kind)) for kind in AttentionShape)


def by_law(budget: Budget, wish: Wish) -> tuple[ShapeFacts, ...]:
    """The same budget by each law."""
    return tuple(shape_for(budget, wish._replace(law=name)) for name in LAWS)

"""Depth or width: models of equal cost, from one wide layer to many narrow ones."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

from blocks.cost.chosen_shape import size_of
from blocks.cost.scaling_laws import Counted
from blocks.scaling.plan import BATCH, SEQ_LEN, STEP, TASK, excess_of, gpt, recipe
from blocks.training.loop import Training
from blocks.training.spec import TrainingSpec

SIZE, FLOPS = 2.4e4, 6e10  # parameters and 6·N·D, of each
LAYERS, RATES = (1, 2, 4, 8), (0.01, 0.02, 0.04)


class Shaped(NamedTuple):
    """A shape, its parameters and tokens, and what it came to at the best of the rates."""

    n_layers: int
    d_model: int
    n: int
    n_tokens: int
    rate: float
    excess: float


@lru_cache
def width_of(n_layers: int) -> int:
    """The width at which a model of this depth has the size."""

    def off(width: int) -> float:
        return abs(size_of(gpt(width, n_layers), Counted.ALL, SEQ_LEN) - SIZE)

    return min(range(STEP, 128, STEP), key=off)


@dataclass(frozen=True)
class DepthOrWidth:
    """Each depth at equal FLOPs, with the rate that suits it best."""

    seed: int = 0

    device: ClassVar[str] = "cpu"
    is_timed: ClassVar[bool] = False

    @property
    def n_steps(self) -> int:
        """How many shapes there are."""
        return len(LAYERS)

    @property
    def costs(self) -> list[float]:
        """How long each takes in proportion: each layer is work of its own."""
        return [1.0 + n_layers for n_layers in LAYERS]

    def results(self, done: Sequence[Shaped]) -> Iterator[Shaped]:
        """Those after the first ones."""
        for n_layers in LAYERS[len(done) :]:
            tried = (shaped(n_layers, rate, self.seed) for rate in RATES)
            yield min(tried, key=lambda each: each.excess)


def shaped(n_layers: int, rate: float, seed: int) -> Shaped:
    """Train one."""
    config = gpt(width_of(n_layers), n_layers)
    n = round(size_of(config, Counted.ALL, SEQ_LEN))
    n_steps = round(FLOPS / 6 / n / BATCH / SEQ_LEN)
    usual = recipe(n_steps).replace(learning_rate=rate)
    spec = TrainingSpec(config=config, task=TASK, recipe=usual, seed=seed)
    n_tokens = n_steps * BATCH * SEQ_LEN
    return Shaped(n_layers, config.d_model, n, n_tokens, rate, excess_of(Training(spec)))

"""What a training has told so far: how good its model is, and which heads have come to be."""

import math
from dataclasses import dataclass

import pandas as pd

from blocks.training.examples import Place
from blocks.training.tasks import TaskKind
from blocks.training.training_run import RunView

RISING, HARDLY = 0.1, 0.9  # nats above the best; share of the loss of guessing


@dataclass(frozen=True)
class LearningFacts:
    """The newest evaluation, at `step` (None before the first). Losses are in nats.

    `is_share`: whether the score is a share; of a text it is bits per character. `ahead`: losses of
    modules that predict further ahead, the nearest first.
    """

    step: int | None
    loss: float
    least_loss: float
    score: float
    is_share: bool
    vocab_size: int
    ahead: tuple[float, ...] = ()

    @property
    def guess(self) -> float:
        """The loss of guessing all tokens alike."""
        return math.log(self.vocab_size)

    @property
    def bits(self) -> float:
        """The loss in bits."""
        return self.loss / math.log(2)

    @property
    def perplexity(self) -> float:
        """Among how many equally likely tokens one would be as uncertain."""
        return math.exp(min(self.loss, 50))

    @property
    def is_worse_than_a_guess(self) -> bool:
        """Whether guessing all tokens alike would cost less, in the two digits that are read."""
        return round(self.loss, 2) > round(self.guess, 2)

    @property
    def is_overfitting(self) -> bool:
        """Whether the loss on what was held out rises again."""
        return self.loss > self.least_loss + RISING

    @property
    def is_guessing(self) -> bool:
        """Whether it is hardly better than guessing."""
        return HARDLY * self.guess < self.loss <= self.guess


def learning_facts(view: RunView) -> LearningFacts:
    """What the evaluations of a run say."""
    found, vocab_size = view.evaluations, view.spec.config.vocab_size
    is_share = view.spec.task.kind is not TaskKind.TEXT
    if found.empty:
        return LearningFacts(None, math.inf, math.inf, 0.0, is_share, vocab_size)
    losses, newest = found["held_out_loss"], found.iloc[-1]
    return LearningFacts(
        step=int(newest["step"]),
        loss=float(losses.iloc[-1]),
        least_loss=float(losses.min()),
        score=float(newest["score"]),
        is_share=is_share,
        vocab_size=vocab_size,
        ahead=tuple(view.ahead[view.ahead["step"] == newest["step"]]["loss"]),
    )


@dataclass(frozen=True)
class Head:
    """The head with most of a measure at the end: its share then, and at the start."""

    layer: int
    head: int
    first_step: int
    first_share: float
    last_step: int
    last_share: float


@dataclass(frozen=True, eq=False)
class BirthFacts:
    """One measure of every head at each kept step.

    `heads`: step, layer, head, number (through all layers), share; `selected` is a number; `now`
    the step that is looked at.
    """

    heads: pd.DataFrame
    measure: str
    selected: int
    now: int

    @property
    def leading(self) -> Head:
        """The head that has most of it at the end."""
        last = self.heads[self.heads["step"] == self.heads["step"].max()]
        end = last.iloc[last["share"].argmax()]
        its = self.heads[self.heads["number"] == end["number"]]
        start = its.iloc[its["step"].argmin()]
        return Head(
            layer=int(end["layer"]),
            head=int(end["head"]),
            first_step=int(start["step"]),
            first_share=float(start["share"]),
            last_step=int(end["step"]),
            last_share=float(end["share"]),
        )


@dataclass(frozen=True)
class ExampleFacts:
    """A row of a task, place by place; `is_of_pairs`: whether an encoder–decoder learns it."""

    places: tuple[Place, ...]
    is_of_pairs: bool

    @property
    def n_asked(self) -> int:
        """The places where something has to be said."""
        return sum(place.asked for place in self.places)

    @property
    def is_filled_in(self) -> bool:
        """Whether the answer stands beside its place, and not in the row itself."""
        return any(place.answer for place in self.places)

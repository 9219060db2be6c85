"""What each step from a bigram to a small GPT brings, as trained from several seeds."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

from blocks.cost.parameters import total_parameters
from blocks.model.config import ModelConfig
from blocks.training import staircase
from blocks.training.next_token import TextTask
from blocks.training.recipe import Recipe
from blocks.training.series import Losses
from blocks.training.tasks import build_task


@dataclass(frozen=True)
class Stair:
    """A model after one more step; `losses`: held out, in nats per character, one a seed.

    `text`: what the model of the first seed writes.
    """

    name: str
    config: ModelConfig
    parameters: int
    losses: Losses
    text: str = ""

    @property
    def loss(self) -> float:
        """The mean over the seeds."""
        return fmean(self.losses)


@dataclass(frozen=True)
class StaircaseFacts:
    """Every step, the bigram first, and how all were trained."""

    stairs: tuple[Stair, ...]
    recipe: Recipe
    seeds: tuple[int, ...]
    seq_len: int
    begins: str = ""
    goes_on: str = ""

    @property
    def gains(self) -> dict[str, float]:
        """By how much each step lowers the mean loss."""
        return {after.name: before.loss - after.loss for before, after in pairwise(self.stairs)}

    @property
    def largest(self) -> str:
        """The step that lowers it most."""
        return max(self.gains, key=self.gains.__getitem__)

    @property
    def useless(self) -> tuple[str, ...]:
        """The steps that lower it by no more than the seeds of a model differ, or raise it."""
        spread = {s.name: max(s.losses) - min(s.losses) for s in self.stairs}
        return tuple(name for name, gain in self.gains.items() if gain <= spread[name])


@lru_cache(maxsize=1)
def staircase_facts() -> StaircaseFacts | None:
    """All steps; None where a run of one of them does not ship."""
    series = staircase.SERIES
    if (runs := series.complete()) is None:
        return None
    texts, task = series.texts(), build_task(staircase.TASK)
    assert isinstance(task, TextTask)
    return StaircaseFacts(
        stairs=tuple(
            Stair(name, config, total_parameters(config), sum(runs[name], ()), texts[name])
            for name, config in series.configs().items()
        ),
        recipe=series.recipe,
        seeds=series.seeds,
        seq_len=staircase.SEQ_LEN,
        begins=task.tokenizer.decode(task.prompt()),
        goes_on=task.tokenizer.decode(task.unseen.token_ids[: staircase.SEQ_LEN].tolist()),
    )

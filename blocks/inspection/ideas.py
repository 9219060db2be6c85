"""What each idea from GPT-2 to a model of today brings: exact counts, and losses of short runs."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

from blocks.cost.flops import Pass, count_flops
from blocks.cost.parameters import active_parameters, total_parameters
from blocks.model.config import ModelConfig
from blocks.model.kv_cache import kv_cache_bytes_per_token
from blocks.training import ideas as steps
from blocks.training.recipe import Recipe

ITEMSIZE, BITS = 2, 16  # bfloat16
N_KEYS = 1024  # the context of GPT-2


@dataclass(frozen=True)
class Idea:
    """A model after one more idea, of the size of GPT-2 small: counts are exact.

    `flops`: forward, of one token after a text of `N_KEYS` of them, all layers and the logits.
    `losses`: held out, in nats per token, of the same step at small size, one for each seed.
    """

    name: str
    parameters: int
    active: int
    kv_bytes: int
    flops: int
    losses: tuple[float, ...]

    @property
    def loss(self) -> float:
        """The mean over the seeds."""
        return fmean(self.losses)


@dataclass(frozen=True)
class IdeasFacts:
    """Every step, GPT-2 first, each with all ideas before it; `small` is what was trained."""

    ideas: tuple[Idea, ...]
    small: ModelConfig
    recipe: Recipe
    seeds: tuple[int, ...]
    seq_len: int

    @property
    def growth(self) -> dict[str, float]:
        """Each count of the last step as a multiple of the first one's."""
        first, last = self.ideas[0], self.ideas[-1]
        names = ("parameters", "active", "kv_bytes", "flops")
        return {name: getattr(last, name) / getattr(first, name) for name in names}

    @property
    def clear(self) -> tuple[str, ...]:
        """Ideas that lowered the mean loss by more than seeds differ."""
        return tuple(name for name, gain in self.gains.items() if gain > self.spread)

    @property
    def worse(self) -> tuple[str, ...]:
        """Ideas that raised it by more than that."""
        return tuple(name for name, gain in self.gains.items() if -gain > self.spread)

    @property
    def spread(self) -> float:
        """How far apart seeds of one step lie, at most."""
        return max(max(idea.losses) - min(idea.losses) for idea in self.ideas)

    @property
    def gains(self) -> dict[str, float]:
        """The decrease of the mean loss with each idea."""
        pairs = pairwise(self.ideas)
        return {after.name: before.loss - after.loss for before, after in pairs}


@lru_cache(maxsize=1)
def ideas_facts() -> IdeasFacts | None:
    """All steps; None where a run of one of them does not ship."""
    losses = steps.learned_losses()
    if any(len(each) < len(steps.SEEDS) for each in losses.values()):
        return None
    return IdeasFacts(
        ideas=tuple(
            _idea(name, config, losses[name]) for name, config in steps.published_ideas().items()
        ),
        small=steps.small_ideas()["gpt2"],
        recipe=steps.RECIPE,
        seeds=steps.SEEDS,
        seq_len=steps.SEQ_LEN,
    )


def _idea(name: str, config: ModelConfig, losses: tuple[float, ...]) -> Idea:
    return Idea(
        name=name,
        parameters=total_parameters(config),
        active=active_parameters(config),
        kv_bytes=kv_cache_bytes_per_token(config, ITEMSIZE),
        flops=int(count_flops(config, Pass(1, N_KEYS, 1))["flops"].sum()),
        losses=losses,
    )

"""Published models beside a model of one's own: how many parameters each has, by formula."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from blocks.cost.parameters import active_parameters, total_parameters
from blocks.model.config import ModelConfig
from blocks.model.presets import ENCODER_DECODER_TABLE, PRESET_TABLE, PUBLISHED_TABLE


class Published(NamedTuple):
    """A published model, its paper, and its parameters; a token meets `active` of them."""

    name: str
    title: str
    source: str
    config: ModelConfig
    total: int
    active: int

    @property
    def n_layers(self) -> int:
        """The layers of both stacks, where there are two."""
        return self.config.n_layers + self.config.n_decoder_layers


@dataclass(frozen=True)
class PublishedFacts:
    """Published models, the smallest first, and the size of one's own."""

    models: tuple[Published, ...]
    own: int

    @property
    def same(self) -> Published | None:
        """The first that is exactly as large."""
        return next((each for each in self.models if each.total == self.own), None)

    @property
    def below(self) -> Published | None:
        """The next smaller one."""
        smaller = [each for each in self.models if each.total < self.own]
        return smaller[-1] if smaller else None

    @property
    def above(self) -> Published | None:
        """The next larger one."""
        return next((each for each in self.models if each.total > self.own), None)

    @property
    def nearest(self) -> Published:
        """The next smaller one; of the smallest of all, the next larger one."""
        return self.below or self.above or self.models[0]

    @property
    def ratio(self) -> float:
        """Size of one's own over that of the nearest."""
        return self.own / self.nearest.total


def published_facts(config: ModelConfig) -> PublishedFacts:
    """All published models, beside this one."""
    return PublishedFacts(published_models(), total_parameters(config))


@lru_cache(maxsize=1)
def published_models() -> tuple[Published, ...]:
    """List the known models, the smallest first; a single block is no whole model."""
    table = PRESET_TABLE | ENCODER_DECODER_TABLE | PUBLISHED_TABLE
    found = (
        Published(
            name,
            each.title,
            each.source,
            each.config,
            total_parameters(each.config),
            active_parameters(each.config),
        )
        for name, each in table.items()
        if each.config.architecture.reads_tokens
    )
    return tuple(sorted(found, key=lambda each: each.total))

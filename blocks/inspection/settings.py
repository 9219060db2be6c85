"""In which settings two configurations differ."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from blocks.model.config import DEFAULTS, OPTIONS, ModelConfig
from blocks.model.in_use import settings_in_use

__all__ = ["differing", "moved_along", "settings_in_use"]


def differing(a: ModelConfig, b: ModelConfig) -> dict[str, tuple[Any, Any]]:
    """What differs: the value in `a` and in `b`, None where it does nothing there.

    A switch as it usually stands is no difference to one that does nothing.
    """
    ours, theirs = settings_in_use(a), settings_in_use(b)
    pairs = {name: (ours.get(name), theirs.get(name)) for name in a.flat()}
    return {
        name: pair for name, pair in pairs.items() if pair[0] != pair[1] and not _idle(name, pair)
    }


def _idle(name: str, pair: tuple[Any, Any]) -> bool:
    """Whether a switch does nothing on one side and stands as usual on the other."""
    return None in pair and any(each is DEFAULTS[name] for each in pair if isinstance(each, bool))


@lru_cache(maxsize=256)
def moved_along(a: ModelConfig, b: ModelConfig) -> Mapping[str, tuple[Any, Any]]:
    """Values of both that differ and that nobody gave in `b`: they follow what was changed."""
    given = b.flat()
    return {
        name: values
        for name, values in differing(a, b).items()
        if OPTIONS[name].follows and given[name] is None and None not in values
    }

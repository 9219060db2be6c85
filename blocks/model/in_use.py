"""Where an option applies: what does something in a configuration, and what may be changed in it.

Whoever shows, compares or offers options asks here; `blocks.model.parts` declares them.
"""

from functools import lru_cache
from typing import Any

from blocks.model.config import OPTIONS, ModelConfig


def settings_in_use(config: ModelConfig) -> dict[str, Any]:
    """Every field by its own name with the value that counts; what does nothing is left out.

    A value that follows another (d_ff of None is 4·d_model) is said as the number that it is.
    """
    return {
        name: config.counted(name)
        for name, option in OPTIONS.items()
        if option.where(config) and option.acts(config)
    }


@lru_cache(maxsize=256)
def settable(config: ModelConfig) -> frozenset[str]:
    """The fields of which another value makes another model, or has others do something in it.

    Another value may mend other fields; a field that is itself mended back is not among these.
    """
    return frozenset(
        name
        for name, option in OPTIONS.items()
        if option.where(config) and not (option.bar and option.bar.where(config))
    )


@lru_cache(maxsize=256)
def legal_values(config: ModelConfig, name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Keep the values that a field may have in this configuration: they are not mended."""
    return tuple(each for each in values if config.nearest(**{name: each})[0].plain(name) == each)

"""What stays at full precision where a model is rounded: whole layers, tables, single matrices.

It is named by modules, as `modules_to_not_convert` of `transformers` does.
"""

from collections.abc import Iterable
from functools import lru_cache

from blocks.efficiency.matrix_places import layer_path, path_of, stands_in
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.models import build
from blocks.weights.rounded_inputs import EMBEDDING, linear_weights

TABLES = ("embed", "unembed")


@lru_cache(maxsize=64)
def roundable(config: ModelConfig) -> tuple[str, ...]:
    """The names of all that rounding meets, the table of embeddings first, then as they run.

    A tied unembedding is that table.
    """
    model = build(config, device="meta")
    own = {name for name, _weight in model.named_parameters()}
    return tuple(name for name in (EMBEDDING, *linear_weights(model)) if name in own)


def modules(config: ModelConfig) -> tuple[str, ...]:
    """What can be exempt: each layer before what stands in it, and what stands in none."""
    names = (each for name in roundable(config) for each in (layer_path(name), path_of(name)))
    return tuple(dict.fromkeys(names))


def first_and_last(config: ModelConfig) -> tuple[str, ...]:
    """The first and the last layer of each stack, whose rounding is often left out."""
    stacks: dict[str, list[str]] = {}
    for layer in dict.fromkeys(map(layer_path, roundable(config))):
        stack, _dot, _number = layer.rpartition(".")
        if stack.endswith("layers"):
            stacks.setdefault(stack, []).append(layer)
    ends = (layer for found in stacks.values() for layer in (found[0], found[-1]))
    return tuple(dict.fromkeys(ends))


def rounded_names(config: ModelConfig, exempt: Iterable[str]) -> tuple[str, ...]:
    """The names of the matrices that are rounded where these modules are not."""
    return tuple(name for name in roundable(config) if not stands_in(name, exempt))


def absent_from(config: ModelConfig, exempt: Iterable[str]) -> tuple[str, ...]:
    """Return those of these modules in which the model has nothing to round."""
    names = roundable(config) if exempt else ()
    return tuple(each for each in exempt if not any(stands_in(name, [each]) for name in names))


def check_exempt(config: ModelConfig, exempt: Iterable[str]) -> None:
    """Raises `ConfigError` where a model has nothing of such a name that would be rounded."""
    if absent := absent_from(config, exempt):
        text = N_(
            "This model has no layer or matrix named {name} to round: use a name such as {mend}"
        )
        values = {"name": min(absent), "mend": path_of(roundable(config)[-1])}
        raise ConfigError([Fault(text, values)])

"""What a key of a config.json says of a model, once for reading and for writing."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from blocks.model.config import ModelConfig
from blocks.model.kinds import Activation
from blocks.weights.config_keys import Keys

Values = dict[str, Any]

PLAIN = {
    "relu": Activation.RELU,
    "relu2": Activation.RELU_SQUARED,
    "gelu": Activation.GELU,
    "gelu_python": Activation.GELU,
    "gelu_new": Activation.GELU_TANH,
    "gelu_fast": Activation.GELU_TANH,
    "gelu_pytorch_tanh": Activation.GELU_TANH,
    "silu": Activation.SILU,
    "swish": Activation.SILU,
}
GATED = {
    "relu": Activation.REGLU,
    "gelu": Activation.GEGLU,
    "gelu_new": Activation.GEGLU_TANH,
    "gelu_fast": Activation.GEGLU_TANH,
    "gelu_pytorch_tanh": Activation.GEGLU_TANH,
    "silu": Activation.SWIGLU,
    "swish": Activation.SWIGLU,
    "sigmoid": Activation.GLU,
}
OF_T5 = {
    **PLAIN,
    **{f"gated-{name}": kind for name, kind in GATED.items()},
    "gated-gelu": Activation.GEGLU_TANH,  # T5 v1.1 means the tanh form
}


class Part(NamedTuple):
    """One thing that a file says of a model, in both directions.

    `about`: the field or key that it is about. `read`: the fields, from the keys of a file and the
    fields that were read before; `write`: the keys, from a configuration.
    """

    about: str
    read: Callable[[Keys, Values], Values]
    write: Callable[[ModelConfig], Values]


def read_all(parts: Iterable[Part], keys: Keys) -> Values:
    """The fields that the keys of a file say."""
    found: Values = {}
    for part in parts:
        found |= part.read(keys, found)
    return found


def write_all(parts: Iterable[Part], config: ModelConfig) -> Values:
    """The keys that say a configuration; what several parts say of one object comes together."""
    found: Values = {}
    for part in parts:
        for name, value in part.write(config).items():
            is_object = isinstance(value, dict)
            found[name] = {**found.get(name, {}), **value} if is_object else value
    return found


def but(parts: tuple[Part, ...], *others: Part) -> tuple[Part, ...]:
    """The same parts, with others in the place of those that are about the same."""
    about = {each.about for each in others}
    return (*(each for each in parts if each.about not in about), *others)


def nothing(*_: object) -> Values:
    """What a part that is only read writes, and what one that is only written reads."""
    return {}


def part(
    about: str, write: Callable[[ModelConfig], Values] = nothing
) -> Callable[[Callable[[Keys, Values], Values]], Part]:
    """Make a part of a function that reads, beside what writes the same."""
    return lambda read: Part(about, read, write)


def always(**fields: Any) -> Part:
    """Fields that are so in every model of a family."""
    return Part(" ".join(fields), lambda *_: fields, nothing)


def key(ask: Callable[..., Any], name: str, field: str, *usual: Any, **more: Any) -> Part:
    """A key that is one field. `ask` reads it; `usual`: where it is absent, or how that follows."""

    def read(keys: Keys, found: Values) -> Values:
        default = (each(found) if callable(each) else each for each in usual)
        return {field: ask(keys, name, *default, **more)}

    return Part(field, read, lambda config: {name: config.counted(field)})


size, number, flag = partial(key, Keys.size), partial(key, Keys.number), partial(key, Keys.flag)


def sizes(**fields: str) -> tuple[Part, ...]:
    """Whole numbers that a file must have, and their fields."""
    return tuple(size(name, field) for name, field in fields.items())


def either(name: str, older: str, field: str, *, least: int = 1) -> Part:
    """A whole number under this name, or under an older one; it is written under this."""

    def ask(keys: Keys, name: str) -> int:
        is_older = name not in keys.values and older in keys.values
        return keys.size(older if is_older else name, least=least)

    return key(ask, name, field)


def nullable(ask: Callable[..., Any], name: str, field: str, *usual: Any) -> Part:
    """A number for which null stands where a configuration says 0: there is none."""

    @part(field, lambda config: {name: config.counted(field) or None})
    def read(keys: Keys, _found: Values) -> Values:
        is_null = name in keys.values and keys.values[name] is None
        return {field: 0 if is_null else ask(keys, name, *usual)}

    return read


def word(name: str, words: Mapping[str, Activation], usual: str) -> Part:
    """The word for the activation. Writing raises `StopIteration` where the family has none."""

    def write(config: ModelConfig) -> Values:
        wanted = config.feed_forward.activation
        return {name: next(each for each, activation in words.items() if activation is wanted)}

    return key(Keys.choice, name, "activation", words, usual)._replace(write=write)


def biases(name: str, usual: bool) -> Part:
    """One key for the biases of attention and of the feed-forward layer."""

    @part("attention_bias", lambda config: {name: config.attention.attention_bias})
    def read(keys: Keys, _found: Values) -> Values:
        return dict.fromkeys(("attention_bias", "feed_forward_bias"), keys.flag(name, usual))

    return read


def must_be(name: str, *allowed: Any) -> Part:
    """A key that may have these values; the first is what absence means."""

    @part(name)
    def read(keys: Keys, _found: Values) -> Values:
        keys.must_be(name, *allowed)
        return {}

    return read


def constant(name: str, value: Any) -> Part:
    """A key that has this value in every file."""
    return must_be(name, value)._replace(write=lambda _config: {name: value})


def write_only(name: str, value: Callable[[ModelConfig], Any], about: str = "") -> Part:
    """A key that is only written, for other readers."""
    return Part(about or name, nothing, lambda config: {name: value(config)})


def same(name: str, other: str, field: str, *, is_needed: bool = True) -> Part:
    """A second key for a size that a configuration has only once."""

    @part(name, lambda config: {name: config.counted(field)})
    def read(keys: Keys, _found: Values) -> Values:
        if is_needed or keys.values.get(name) is not None:
            keys.equal(name, other)
        return {}

    return read

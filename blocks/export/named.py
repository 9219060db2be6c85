"""Numbers that remember what they are called, so that written code says d_model and not 768."""

import ast
import dataclasses
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.models import ARCHITECTURES, Model, Undrawn

CONSTANT = "is_constant"  # marks a name that stands for a number of the configuration
OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], ast.operator]] = {
    "add": (operator.add, ast.Add()),
    "sub": (operator.sub, ast.Sub()),
    "mul": (operator.mul, ast.Mult()),
    "truediv": (operator.truediv, ast.Div()),
    "floordiv": (operator.floordiv, ast.FloorDiv()),
    "pow": (operator.pow, ast.Pow()),
}


MOST_LAYERS = 256  # that are written one by one
TOO_MANY = N_(
    "{n} layers that are not all alike would have to be written out one by one. Set n_layers "
    "to at most {most}."
)
FOLLOWS = {"n_kv_heads": "n_heads"}  # where both are one number, by whose name it goes


def constant(name: str) -> ast.Name:
    """The name of a number of the configuration."""
    node = ast.Name(name)
    setattr(node, CONSTANT, True)
    return node


class Named:
    """What both kinds have; arithmetic gives named numbers again."""

    node: ast.expr


class NamedInt(int, Named):
    """A whole number with the expression that it came from."""


class NamedFloat(float, Named):
    """A number with the expression that it came from."""


def named(value: Any, node: ast.expr) -> Any:
    """The number with this expression; anything else as it is."""
    kind = {int: NamedInt, float: NamedFloat}.get(type(value))
    if kind is None or value == 0:  # what is 0 is switched off
        return value
    number = kind(value)
    number.node = node
    return number


def plain(value: Any) -> Any:
    """The number without its name."""
    if isinstance(value, NamedInt):
        return int(value)
    return float(value) if isinstance(value, NamedFloat) else value


def expression(value: Any) -> ast.expr:
    """How a number is written: by its name where it has one."""
    return value.node if isinstance(value, Named) else ast.Constant(value)


def _arithmetic(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    compute, sign = OPERATORS[name]

    def of(left: Any, right: Any) -> Any:
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            return NotImplemented
        if name == "add" and 0 in (left, right):
            return left or right
        node = ast.BinOp(expression(left), sign, expression(right))
        return named(compute(plain(left), plain(right)), node)

    return of, lambda right, left: of(left, right)


for _name in OPERATORS:
    for _kind in (NamedInt, NamedFloat):
        forward, backward = _arithmetic(_name)
        setattr(_kind, f"__{_name}__", forward)
        setattr(_kind, f"__r{_name}__", backward)


class NamedConfig:
    """A configuration whose numbers are named after its fields and properties.

    `counts`: numbers that stand in for its own, under the same names.
    """

    def __init__(self, part: Any, counts: Mapping[str, int] = MappingProxyType({})):
        self._part, self._counts = part, counts

    def __getattr__(self, name: str) -> Any:
        value = self._counts.get(name, getattr(self._part, name))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return NamedConfig(value, self._counts)
        follows = FOLLOWS.get(name, "")
        is_same = bool(follows) and getattr(self._part, follows, None) == value
        return named(value, constant(follows if is_same else name))


class _Shapes(Undrawn):
    """Notes the shapes with which tensors are made, as they were named."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[int, tuple[Any, ...]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = super().__torch_function__(func, types, args, kwargs)
        if func is torch.empty:
            shape = args[0] if isinstance(args[0], tuple | list) else args
            self.seen[made.untyped_storage()._cdata] = tuple(shape)
        return made

    def of(self, tensor: Tensor) -> tuple[Any, ...]:
        shape = self.seen.get(tensor.untyped_storage()._cdata, ())
        return shape if tuple(shape) == tuple(tensor.shape) else tuple(tensor.shape)


def enough_parts(config: ModelConfig) -> dict[str, int]:
    """Of parts that repeat, as many as show how all of them are made.

    Raises `ConfigError` where more than `MOST_LAYERS` layers are not all alike.
    """
    n_layers = max(config.n_layers, config.n_decoder_layers)
    if not config.has_equal_layers and n_layers > MOST_LAYERS:
        values = {"n": n_layers, "most": MOST_LAYERS}
        raise ConfigError([Fault(TOO_MANY, values, mend={"n_layers": MOST_LAYERS})])
    most_layers = 2 if config.has_equal_layers else MOST_LAYERS
    most_experts = config.n_active_experts + 1
    most = {"n_layers": most_layers, "n_decoder_layers": most_layers, "n_experts": most_experts}
    return {name: min(getattr(config, name), n) for name, n in most.items()}


def built_by_name(
    config: ModelConfig, counts: Mapping[str, int]
) -> tuple[Model, dict[int, tuple[Any, ...]]]:
    """The model without memory, its numbers named, and the shape of each parameter by its id."""
    shapes = _Shapes()
    named_config = NamedConfig(config, counts)
    with torch.device("meta"), shapes:
        model = ARCHITECTURES[config.architecture](named_config)  # type: ignore[arg-type]
    tensors = [*model.parameters(), *model.buffers()]
    return model.eval(), {id(each): shapes.of(each) for each in tensors}


def numbers_of(config: ModelConfig) -> dict[str, int | float]:
    """Every number that code may name, by its name: fields first, then what follows from them."""
    found = {**config.flat()}
    for name in dir(type(config)):
        if isinstance(getattr(type(config), name), property):
            found[name] = getattr(config, name)
    return {name: each for name, each in found.items() if type(each) in (int, float)}

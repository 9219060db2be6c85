"""What is known of a value before the input is: all of it, that it is not None, or nothing."""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from blocks.export.named import Named, expression, plain
from blocks.export.sources import parse_expression

COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


@dataclass(frozen=True, eq=False)
class Known:
    """A value that the configuration decides."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and same(self, other)

    def __hash__(self) -> int:
        return hash(type(self.value))


@dataclass(frozen=True)
class Modules:
    """One of these parts of the model."""

    of: tuple[nn.Module, ...]


@dataclass(frozen=True)
class Held:
    """Parts that belong to another one, in a tuple; `always` where it is never empty."""

    of: Modules
    always: bool


@dataclass(frozen=True)
class Method:
    """A method of one of these parts."""

    owner: Modules
    name: str


@dataclass(frozen=True)
class Counted:
    """What `enumerate` goes through."""

    of: "Value"


@dataclass(frozen=True)
class Something:
    """A value that the input decides; `may_be_none` where that is not excluded."""

    may_be_none: bool = False


Value = Known | Modules | Held | Method | Counted | Something


SOME, ANY, NOTHING = Something(), Something(may_be_none=True), Known(None)


class Target(NamedTuple):
    """A function, or a method as a class of parts has it."""

    owner: type[nn.Module] | None
    function: Any


class Found(NamedTuple):
    """A value, and how it is written."""

    value: Value
    node: ast.expr


def same(a: Value, b: Value) -> bool:
    """Whether two values are one, the name of a number included."""
    if isinstance(a, Known) and isinstance(b, Known):
        if isinstance(a.value, Named) or isinstance(b.value, Named):
            return type(a.value) is type(b.value) and _dump(a.value) == _dump(b.value)
        return type(a.value) is type(b.value) and (a.value is b.value or bool(a.value == b.value))
    return type(a) is type(b) and a == b


def _dump(value: Any) -> str:
    return ast.dump(expression(value))


def either(a: Value, b: Value) -> Value:
    """What is known of a value that is one or the other."""
    if same(a, b):
        return a
    if isinstance(a, Modules) and isinstance(b, Modules):
        return Modules(tuple(dict.fromkeys((*a.of, *b.of))))
    return ANY if may_be_none(a) or may_be_none(b) else SOME


def may_be_none(value: Value) -> bool:
    """Whether None is not excluded."""
    return value.value is None if isinstance(value, Known) else value == ANY


def are_numbers(value: Any) -> bool:
    """Whether it is a tuple of numbers."""
    return isinstance(value, tuple) and all(isinstance(each, int | float) for each in value)


def literal(value: Value) -> ast.expr | None:
    """How a known value is written in place, where that is short."""
    if not isinstance(value, Known):
        return None
    if isinstance(value.value, Named) or value.value is None:
        return expression(value.value)
    if type(value.value) in (bool, int, str):
        return ast.Constant(value.value)
    if type(value.value) is float and value.value - value.value == 0:
        return ast.Constant(value.value)
    if isinstance(value.value, torch.dtype):
        return parse_expression(str(value.value))
    return None


def truth_of(value: Value) -> bool | None:
    """Whether a value counts as true, where that is known."""
    if isinstance(value, Known):
        try:
            return bool(value.value)
        except Exception:
            return None
    if isinstance(value, Held):
        return True if value.always else None
    return True if isinstance(value, Modules | Method) else None


def compared(left: Value, sign: ast.cmpop, right: Value) -> bool | None:
    """What a comparison gives, where that is known."""
    if isinstance(sign, ast.Is | ast.IsNot) and (
        left is NOTHING or right is NOTHING or _is_none(left) or _is_none(right)
    ):
        other = right if _is_none(left) else left
        if _is_none(other):
            return isinstance(sign, ast.Is)
        return None if may_be_none(other) else isinstance(sign, ast.IsNot)
    if isinstance(left, Known) and isinstance(right, Known):
        return bool(COMPARISONS[type(sign)](plain(left.value), plain(right.value)))
    return None


def _is_none(value: Value) -> bool:
    return isinstance(value, Known) and value.value is None


def is_number(value: Value, number: float) -> bool:
    """Whether it is this number, and not one of the configuration's."""
    if not isinstance(value, Known) or isinstance(value.value, Named):
        return False
    return type(value.value) in (int, float) and value.value == number


def element_of(value: Value) -> Value | tuple[Value, ...]:
    """What a loop over it meets."""
    if isinstance(value, Modules):
        inner = [each for one in value.of for each in one.children()]
        return Modules(tuple(dict.fromkeys(inner)))
    if isinstance(value, Counted):
        element = element_of(value.of)
        return SOME, SOME if isinstance(element, tuple) else element
    return SOME


def joined(a: Mapping[str, Found], b: Mapping[str, Found]) -> dict[str, Found]:
    """What both ways leave of the names."""
    env: dict[str, Found] = {}
    for name in a.keys() | b.keys():
        if name not in a or name not in b:
            found = a.get(name) or b[name]
            env[name] = Found(either(found.value, SOME), ast.Name(name))
        elif same(a[name].value, b[name].value) and ast.dump(a[name].node) == ast.dump(
            b[name].node
        ):
            env[name] = a[name]
        else:
            env[name] = Found(either(a[name].value, b[name].value), ast.Name(name))
    return env

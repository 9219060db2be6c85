"""Small formulas that a lesson may hold: `weight(layer=0, key=2) / 4`, `n_heads >= 8 and race`.

Numbers, text, names of the state, measurements with named arguments; + − × ÷, comparisons, and,
or, not. Nothing else is read, so that a stranger's lesson can do nothing else.
"""

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from blocks.export.sources import parse
from blocks.model.faults import N_, ConfigError, Fault

LONGEST, DEEPEST = 300, 12
WORDS = {"true": True, "false": False}
TWO = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
COMPARED = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
UNREADABLE = N_("The formula {formula} cannot be read: {why}")
Call = Callable[[str, Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Formula:
    """A formula that was read, by its text.

    `names` are read from the state, `calls` are measurements.
    """

    text: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the state that it reads."""
        called = {id(node.func) for node in self._nodes() if isinstance(node, ast.Call)}
        found = (n for n in self._nodes() if isinstance(n, ast.Name) and id(n) not in called)
        return tuple(dict.fromkeys(node.id for node in found if node.id not in WORDS))

    @property
    def calls(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each measurement with the names of its arguments."""
        found = (node for node in self._nodes() if isinstance(node, ast.Call))
        return tuple((_called(node), tuple(_arguments(node))) for node in found)

    def value(self, names: Callable[[str], Any], call: Call) -> Any:
        """Evaluate it, where `names` gives the values of the state and `call` measures.

        NaN where it divides by 0. Raises `ConfigError` where a name is not known, where text is
        taken for a number, and what these two raise.
        """
        try:
            return _Value(names, call).of(tree(self.text))
        except (KeyError, TypeError, OverflowError) as error:
            raise _unreadable(self.text, error) from None

    def _nodes(self) -> Iterator[ast.AST]:
        yield from ast.walk(tree(self.text))


def read(text: str) -> Formula:
    """Read a formula. Raises `ConfigError` where it holds what no lesson may hold."""
    try:
        found = tree(text)
        _check(found)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(text, error) from None
    return Formula(text)


def _unreadable(text: str, error: Exception) -> ConfigError:
    why = str(error) or type(error).__name__
    return ConfigError([Fault(UNREADABLE, {"formula": text[:80], "why": why[:80]})])


@lru_cache(maxsize=512)
def tree(text: str) -> ast.expr:
    """Parse a formula into its syntax tree."""
    if len(text) > LONGEST:
        raise ValueError(f"{len(text)} > {LONGEST}")
    match parse(text.strip()).body:
        case [ast.Expr(value=found)]:
            return found
    raise ValueError("no formula")


def _check(node: ast.AST, depth: int = 0) -> None:
    """Refuse all that is not listed here."""
    if depth > DEEPEST:
        raise ValueError(f"depth > {DEEPEST}")
    match node:
        case ast.Constant(value=bool() | int() | float() | str()) | ast.Name():
            parts: list[ast.AST] = []
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            parts = [node.left, node.right]
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            parts = [node.operand]
        case ast.BoolOp():
            parts = [*node.values]
        case ast.Compare() if all(type(op) in COMPARED for op in node.ops):
            parts = [node.left, *node.comparators]
        case ast.Call(func=ast.Name(), args=[]):
            parts = [keyword.value for keyword in node.keywords if keyword.arg]
            if len(parts) < len(node.keywords):
                raise ValueError("**")
        case _:
            raise ValueError(ast.unparse(node))
    for part in parts:
        _check(part, depth + 1)


def _called(node: ast.Call) -> str:
    assert isinstance(node.func, ast.Name)
    return node.func.id


def _arguments(node: ast.Call) -> dict[str, ast.expr]:
    return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}


@dataclass(frozen=True)
class _Value:
    names: Callable[[str], Any]
    call: Call

    def of(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return WORDS[node.id] if node.id in WORDS else self.names(node.id)
            case ast.BinOp():
                return self.two(node)
            case ast.UnaryOp(op=ast.Not()):
                return not self.of(node.operand)
            case ast.UnaryOp():
                return -self.of(node.operand)
            case ast.BoolOp(op=ast.And()):
                return all(self.of(each) for each in node.values)
            case ast.BoolOp():
                return any(self.of(each) for each in node.values)
            case ast.Compare():
                return self.compared(node)
            case ast.Call():
                given = {name: self.of(each) for name, each in _arguments(node).items()}
                return self.call(_called(node), given)
        raise TypeError(ast.dump(node))

    def two(self, node: ast.BinOp) -> Any:
        left, right = self.of(node.left), self.of(node.right)
        if not all(isinstance(side, int | float) for side in (left, right)):
            raise TypeError(ast.unparse(node))
        if isinstance(node.op, ast.Div) and right == 0:
            return math.nan
        return TWO[type(node.op)](left, right)

    def compared(self, node: ast.Compare) -> bool:
        sides = [self.of(each) for each in (node.left, *node.comparators)]
        pairs = zip(node.ops, sides, sides[1:], strict=False)
        return all(COMPARED[type(op)](left, right) for op, left, right in pairs)

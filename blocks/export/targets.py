"""Which functions of ours a call reaches, and which of its arguments goes where."""

import ast
import inspect
import types
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from blocks.export.named import plain
from blocks.export.sources import is_identity, is_leaf, is_name, is_ours, source_of
from blocks.export.values import ANY, Found, Known, Method, Modules, Target, Value, literal
from blocks.model.dropout import Dropout

Calls = list[Target | None]  # None: a part as torch has it, or one that returns what it gets


def is_own(node: ast.expr) -> bool:
    """Whether it is an attribute of `self`."""
    return isinstance(node, ast.Attribute) and is_name(node.value, "self")


def plain_operands(left: Found, op: ast.operator, right: Found) -> tuple[Any, ...]:
    """A sum of two known numbers, without their names."""
    values = [each.value.value for each in (left, right)]  # type: ignore[union-attr]
    first, second = (ast.Constant(plain(each)) for each in values)
    return first, op, second


def is_of_self(node: ast.expr) -> bool:
    """Whether it is a path that begins at a part of the model."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in ("self", "model")


def name_in_torch(function: Any) -> ast.expr:
    """How a function of torch is written."""
    name = function.__name__
    for prefix, room in (("F", nn.functional), ("torch", torch)):
        if getattr(room, name, None) is function:
            return ast.Attribute(ast.Name(prefix), name)
    return ast.Name(name)


def resolved(value: Value) -> Calls | None:
    """The functions of ours that a call may reach; None where it is none of ours."""
    if isinstance(value, Modules):
        kinds = dict.fromkeys(type(each) for each in value.of if not is_identity(each))
        if all(is_leaf(each) for each in value.of):
            return None
        odd = [None for each in value.of if is_leaf(each) or is_identity(each)][:1]
        ours = [kind for kind in kinds if is_ours(kind) and not issubclass(kind, Dropout)]
        return [*(Target(kind, kind.forward) for kind in ours), *odd]
    if isinstance(value, Method):
        kinds = dict.fromkeys(map(type, value.owner.of))
        if not all(is_ours(kind) for kind in kinds):
            return None
        return [Target(kind, getattr(kind, value.name)) for kind in kinds]
    if isinstance(value, Known) and is_ours(value.value):
        function = inspect.unwrap(value.value)
        if isinstance(function, types.FunctionType):
            return [Target(None, function)]
    return None


def parameters_of(target: Target) -> list[ast.arg]:
    """The parameters of a function, `self` left out."""
    tree = source_of(target.function)
    assert isinstance(tree, ast.FunctionDef)
    own = tree.args.args[1:] if target.owner is not None else tree.args.args
    return [*own, *tree.args.kwonlyargs]


def placed(
    target: Target, args: list[Found], keywords: Mapping[str, Found]
) -> dict[str, int | str]:
    """Return where a call gives each parameter: the number of the argument, or its keyword."""
    names = [each.arg for each in parameters_of(target)]
    where: dict[str, int | str] = {name: i for i, name in enumerate(names[: len(args)])}
    return where | {name: name for name in keywords if name in names}


def bound(target: Target, args: list[Found], keywords: Mapping[str, Found]) -> dict[str, Found]:
    """Every parameter with what it gets."""
    function, tree = target.function, source_of(target.function)
    assert isinstance(tree, ast.FunctionDef)
    names = [each.arg for each in parameters_of(target)]
    given = dict(zip(names, args, strict=False)) | {
        name: each for name, each in keywords.items() if name in names
    }
    defaults = function.__defaults__ or ()
    positional = [each.arg for each in tree.args.args]
    usual = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
    usual |= function.__kwdefaults__ or {}
    for name in names:
        if name not in given:
            value = Known(usual[name]) if name in usual else ANY
            given[name] = Found(value, literal(value) or ast.Name(name))
    return {name: given[name] for name in names}


def by_name(given: Mapping[str, Found]) -> dict[str, Found]:
    """The same values under the names that they have within the function."""
    return {name: Found(each.value, ast.Name(name)) for name, each in given.items()}

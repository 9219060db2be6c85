"""The source of functions and classes: read, cut to what is kept, tidied."""

import ast
import builtins
import functools
import inspect
import io
import textwrap
import threading
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from blocks.export.named import CONSTANT
from blocks.model.dropout import Dropout
from blocks.model.probe import Probe

Tree = TypeVar("Tree", bound=ast.AST | list[ast.stmt])
_PARSES = threading.Lock()
PLAIN = {str, int, float, bool, NoneType, ast.Load, ast.Store}
COMMENT = "comment"  # where a statement keeps the comment that stood beside it


def parse(text: str) -> ast.Module:
    """`ast.parse`, by one thread at a time: before Python 3.13, two of them confuse each other."""
    with _PARSES:
        return ast.parse(text)


def parse_expression(text: str) -> ast.expr:
    """One expression."""
    return copied(_expression(text))


@functools.lru_cache(maxsize=1024)
def _expression(text: str) -> ast.expr:
    statement = parse(text).body[0]
    assert isinstance(statement, ast.Expr)
    return statement.value


def copied(tree: Tree) -> Tree:
    """A syntax tree, or a list of them, again (`copy.deepcopy` takes several times as long)."""
    return _copied(tree)


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(each) for each in value]
    if not isinstance(value, ast.AST) or isinstance(value, ast.expr_context):
        return value
    twin = type(value).__new__(type(value))
    held = vars(twin)
    for name, each in vars(value).items():  # names, numbers and lines are most of what it holds
        held[name] = each if type(each) in PLAIN else _copied(each)
    return twin


def names_in(tree: ast.AST) -> Iterator[ast.Name]:
    """Every name in a syntax tree, as `ast.walk` finds them, which takes twice as long."""
    found: list[Any] = [tree]
    for node in found:
        if isinstance(node, ast.Name):
            yield node
        elif isinstance(node, ast.AST):
            for each in vars(node).values():
                if type(each) not in PLAIN:
                    found += each if isinstance(each, list) else (each,)


def source_of(thing: Any) -> ast.stmt:
    """The definition of a function or class, each statement with the comment beside it."""
    return _source(thing)


@functools.lru_cache(maxsize=1024)
def _source(thing: Any) -> ast.stmt:
    with _PARSES:  # of a class, `inspect` parses the whole file
        text = textwrap.dedent(inspect.getsource(thing))
    tree = parse(text).body[0]
    comments = dict(_comments(text))
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            said = [comments[line] for line in lines if line in comments]
            setattr(node, COMMENT, " ".join(said))
    return tree


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        said = token.string.removeprefix("#").strip()
        if token.type == tokenize.COMMENT and not said.startswith(("type:", "noqa")):
            yield token.start[0], said


def is_ours(thing: Any) -> bool:
    """Whether its source is part of Blockscope."""
    return str(getattr(thing, "__module__", "")).split(".")[0] == "blocks"


def is_identity(module: nn.Module) -> bool:
    """Whether a part returns what it gets: a probe, or one whose forward says so."""
    if isinstance(module, Probe | nn.Identity) or (isinstance(module, Dropout) and module.p == 0):
        return True
    if not is_ours(type(module)) or isinstance(module, Dropout):
        return False
    tree = source_of(type(module).forward)
    assert isinstance(tree, ast.FunctionDef)
    last = tree.body[-1]
    x = tree.args.args[1].arg if len(tree.args.args) > 1 else ""
    is_only = all(is_docstring(each) for each in tree.body[:-1])
    return is_only and isinstance(last, ast.Return) and is_name(last.value, x)


def is_held(value: Any) -> bool:
    """Whether it is a tuple of parts: held, not owned."""
    return isinstance(value, tuple) and any(isinstance(each, nn.Module) for each in value)


def is_leaf(module: nn.Module) -> bool:
    """Whether a part is written as torch has it."""
    return not is_ours(type(module)) or isinstance(module, Dropout)


def is_docstring(node: ast.stmt) -> bool:
    """Whether it is a text that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_stored(node: ast.Name) -> bool:
    """Whether the name is given a value here."""
    return isinstance(getattr(node, "ctx", None), ast.Store)


def is_name(node: ast.AST | None, name: str) -> bool:
    """Whether it is this name."""
    return isinstance(node, ast.Name) and node.id == name


def without_parameters(args: ast.arguments, dropped: set[str]) -> ast.arguments:
    """The parameters without these."""
    first = len(args.args) - len(args.defaults)
    positional = [
        (each, args.defaults[i - first] if i >= first else None)
        for i, each in enumerate(args.args)
        if each.arg not in dropped
    ]
    by_name = [
        (each, default)
        for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        if each.arg not in dropped
    ]
    return ast.arguments(
        posonlyargs=[],
        args=[each for each, _ in positional],
        defaults=[default for _, default in positional if default is not None],
        kwonlyargs=[each for each, _ in by_name],
        kw_defaults=[default for _, default in by_name],
        vararg=args.vararg,
        kwarg=args.kwarg,
    )


def annotated(tree: ast.FunctionDef) -> Iterator[ast.arg | ast.FunctionDef]:
    """A function and its parameters: what may say a type."""
    yield tree
    yield from (*tree.args.args, *tree.args.kwonlyargs)


def resolve_annotation(node: ast.arg | ast.FunctionDef, globals_: Mapping[str, Any]) -> None:
    """Drop an annotation that names a type of ours which is no plain tuple of tensors."""
    name = "annotation" if isinstance(node, ast.arg) else "returns"
    found = getattr(node, name)
    if found is None:
        return
    read = {each.id for each in names_in(found)}
    known = [globals_.get(each, getattr(builtins, each, None)) for each in read]
    is_plain = all(each in (Tensor, nn, torch) or is_plain_type(each) for each in known)
    if not is_plain or any(
        isinstance(each, ast.Constant) and each.value is not None for each in ast.walk(found)
    ):
        setattr(node, name, None)


def is_plain_type(thing: Any) -> bool:
    """A builtin, or a tuple of ours with names."""
    is_named_tuple = isinstance(thing, type) and issubclass(thing, tuple) and is_ours(thing)
    return is_named_tuple or getattr(thing, "__module__", "") == "builtins"


def drop_sentences(tree: ast.FunctionDef | ast.ClassDef, dropped: Iterable[str]) -> None:
    """Take out of a docstring what it says about parameters that are not there."""
    if not tree.body or not is_docstring(tree.body[0]):
        return
    marks = [f"`{name}`" for name in dropped]
    text = ast.get_docstring(tree) or ""
    for mark in [*marks]:
        text = text.replace(f" from {mark} on", "")
    marks.append("probes")
    first, *others = text.split("\n\n")
    kept = [" ".join(_sentences(first, marks)) or f"{first.split(',')[0].rstrip('.')}."]
    for paragraph in others:
        if said := " ".join(_sentences(paragraph, marks)):
            kept.append(said)
    tree.body[0] = ast.Expr(ast.Constant("\n\n".join(kept)))


def _sentences(paragraph: str, marks: Sequence[str]) -> list[str]:
    if not any(mark in paragraph for mark in marks):
        return [paragraph]
    joined = " ".join(paragraph.split())
    sentences = joined.replace(". ", ".\n").replace("; ", ";\n").split("\n")
    kept = [each for each in sentences if not any(mark in each for mark in marks)]
    if kept and kept[-1].endswith(";"):
        kept[-1] = f"{kept[-1][:-1]}."
    return kept


def put_numbers_for_captured(tree: ast.FunctionDef, numbers: Mapping[str, float]) -> None:
    """Where a function has a name of its own that is also a number of the model's, write that."""
    own = {each.arg for each in (*tree.args.args, *tree.args.kwonlyargs)}
    own |= {node.id for node in names_in(tree) if is_stored(node)}

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            is_captured = node.id in own and getattr(node, CONSTANT, False)
            return ast.Constant(numbers[node.id]) if is_captured else node

    Put().visit(tree)


def tidied(body: list[ast.stmt]) -> list[ast.stmt]:
    """Without what is stored and never read, and without a name for what is returned at once."""
    body = without_dead_stores(body)
    if len(body) > 1 and isinstance(last := body[-1], ast.Return):
        before = body[-2]
        place = before.targets[0] if isinstance(before, ast.Assign) else None
        if isinstance(before, ast.Assign) and isinstance(place, ast.Name):
            is_returned = is_name(last.value, place.id)
            setattr(last, COMMENT, getattr(before if is_returned else last, COMMENT, ""))
            last.value = before.value if is_returned else last.value
            return [*body[:-2], last] if is_returned else body
    return body


def without_dead_stores(body: list[ast.stmt]) -> list[ast.stmt]:
    """Without assignments of plain values that nothing reads."""
    while True:
        read = {node.id for each in body for node in names_in(each) if not is_stored(node)}
        dead = Dead(read)
        body = [each for each in map(dead.visit, body) if each is not None]
        if not dead.found:
            return body


class Dead(ast.NodeTransformer):
    """Takes out what is stored and never read, and counters that nobody asks."""

    def __init__(self, read: set[str]):
        self.read = read
        self.found = False

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        """Keep it where it calls something, or where a name of it is read."""
        calls = any(isinstance(each, ast.Call | ast.NamedExpr) for each in ast.walk(node.value))
        names = [each for target in node.targets for each in elements(target)]
        is_dead = all(isinstance(each, ast.Name) and each.id not in self.read for each in names)
        is_dead |= isinstance(names[0], ast.Name) and is_name(node.value, names[0].id)
        if is_dead and not calls:
            self.found = True
            return None
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        """`for i, x in enumerate(xs)` is `for x in xs` where nobody reads i."""
        self.generic_visit(node)
        if (
            isinstance(node.iter, ast.Call)
            and is_name(node.iter.func, "enumerate")
            and isinstance(node.target, ast.Tuple)
            and isinstance(count := node.target.elts[0], ast.Name)
            and count.id not in self.read
        ):
            self.found = True
            node.target, node.iter = node.target.elts[1], node.iter.args[0]
        return node


def elements(node: ast.expr) -> list[ast.expr]:
    """The names of a target: of one, itself."""
    return list(node.elts) if isinstance(node, ast.Tuple | ast.List) else [node]


def only_line(body: list[ast.stmt]) -> ast.expr | None:
    """The expression of a function that is a single return."""
    lines = [each for each in body if not is_docstring(each)]
    one = lines[0] if len(lines) == 1 else None
    return one.value if isinstance(one, ast.Return) else None


class Put(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, by_name: Mapping[str, ast.expr]):
        self.by_name = by_name

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The expression that the name stands for."""
        is_number = getattr(node, CONSTANT, False)
        return copied(self.by_name.get(node.id, node)) if not is_number else node

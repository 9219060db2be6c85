"""The source of the pages as trees, and which function names which."""

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
Function = tuple[str, str]  # module, name
Uses = dict[Function, set[Function]]


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """A source, read once by a process; the tests that read sources run in one."""
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def sources() -> dict[str, ast.Module]:
    """The code of the app, by path; read only where a test needs it."""
    paths = (ROOT / "app.py", *sorted(ROOT.glob("pages/**/*.py")))
    return {path.relative_to(ROOT).as_posix(): tree_of(path) for path in paths}


def modules(trees: dict[str, ast.Module]) -> dict[str, ast.Module]:
    """The trees by the full names of their modules."""
    return {path.removesuffix(".py").replace("/", "."): tree for path, tree in trees.items()}


def functions(trees: dict[str, ast.Module]) -> dict[Function, ast.FunctionDef]:
    """All functions that stand at the top of a module."""
    return {
        (module, node.name): node
        for module, tree in modules(trees).items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def named(tree: ast.Module) -> dict[str, Function]:
    """What a module's names stand for: its own functions, and what it imports from pages."""
    found = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pages")
        for alias in node.names
    }
    return found | {f.name: ("", f.name) for f in tree.body if isinstance(f, ast.FunctionDef)}


def own_names(function: ast.FunctionDef) -> set[str]:
    """What a function is given, and what it binds itself."""
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    given = (node.arg for node in ast.walk(function) if isinstance(node, ast.arg))
    return {*given, *(name.id for name in names if isinstance(name.ctx, ast.Store))}


def resolved(node: ast.AST, module: str, names: dict[str, Function]) -> Function | None:
    """The function that an expression names, if it is one of the pages."""
    if isinstance(node, ast.Name) and node.id in names:
        home, name = names[node.id]
        return home or module, name
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in names:
            return ".".join(names[owner]), name
    return None


def used(function: ast.FunctionDef, module: str, names: dict[str, Function]) -> set[Function]:
    """The functions that a function names, by module."""
    known = {name: names[name] for name in names.keys() - own_names(function)}
    found = (resolved(node, module, known) for node in ast.walk(function))
    return {each for each in found if each}


def uses(trees: dict[str, ast.Module]) -> Uses:
    """What each function names."""
    names = {module: named(tree) for module, tree in modules(trees).items()}
    return {key: used(node, key[0], names[key[0]]) for key, node in functions(trees).items()}


def reaching(of: Uses, ends: Iterable[Function]) -> set[Function]:
    """The functions from which one of `ends` is reached, these included."""
    found = set(ends)
    while more := {name for name, others in of.items() if others & found} - found:
        found |= more
    return found


def is_kept(function: ast.FunctionDef) -> bool:
    """Whether its answers are kept."""
    return any("cache" in ast.unparse(decorator) for decorator in function.decorator_list)


def parameters(function: ast.FunctionDef) -> set[str]:
    """What it is given by position."""
    return {argument.arg for argument in function.args.args}


def name_called(call: ast.Call) -> str:
    """The last name of what is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def calls(trees: dict[str, ast.Module]) -> Iterator[tuple[str, ast.Call]]:
    """Every call, with the module in which it stands."""
    for module, tree in modules(trees).items():
        yield from ((module, node) for node in ast.walk(tree) if isinstance(node, ast.Call))

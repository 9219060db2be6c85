"""Syntax trees as text for readers: lines of at most 100 characters, comments kept."""

import ast
import re
import textwrap
from collections.abc import Iterator

from blocks.export.sources import COMMENT

WIDEST = 100
QUOTED = re.compile(r"'([^'\"\\\n]*)'")
DEFAULT = re.compile(r"(\w+: [\w.\[\]| ]+?)=")
STRING = re.compile(r"\"[^\"]*\"")
OPENING, CLOSING = "([{", ")]}"


def text_of(node: ast.stmt) -> str:
    """A definition as text."""
    return "\n".join(_lines(node, 0))


def _lines(node: ast.stmt, depth: int) -> Iterator[str]:
    """The lines of a statement, indented."""
    pad = "    " * depth
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield from _docstring(str(node.value.value), pad)
    elif isinstance(node, ast.ClassDef | ast.FunctionDef):
        yield from (f"{pad}@{ast.unparse(each)}" for each in node.decorator_list)
        yield from _folded(pad + _head(node))
        yield from _members(node, depth + 1)
    elif hasattr(node, "body"):
        yield from _folded(pad + _head(node))
        for each in node.body:
            yield from _lines(each, depth + 1)
        yield from _otherwise(node, depth)
    else:
        said = getattr(node, COMMENT, "")
        found = list(_folded(pad + _code(node)))
        if said and len(found[-1]) + len(said) + 4 <= WIDEST:
            found[-1] = f"{found[-1]}  # {said}"
        elif said:
            found.insert(0, f"{pad}# {said}")
        yield from found


def _members(node: ast.ClassDef | ast.FunctionDef, depth: int) -> Iterator[str]:
    """What is defined within; in a class, a blank line before each method and after the text."""
    is_class = isinstance(node, ast.ClassDef)
    for i, each in enumerate(node.body):
        is_after_text = i == 1 and isinstance(node.body[0], ast.Expr)
        if is_class and i and (isinstance(each, ast.FunctionDef) or is_after_text):
            yield ""
        yield from _lines(each, depth)


def _otherwise(node: ast.stmt, depth: int) -> Iterator[str]:
    orelse = getattr(node, "orelse", [])
    if not orelse:
        return
    pad = "    " * depth
    if isinstance(node, ast.If) and len(orelse) == 1 and isinstance(orelse[0], ast.If):
        first, *others = _lines(orelse[0], depth)
        yield f"{pad}el{first.lstrip()}"
        yield from others
        return
    yield f"{pad}else:"
    for each in orelse:
        yield from _lines(each, depth + 1)


def _head(node: ast.stmt) -> str:
    """The first line of what has a body."""
    kind = type(node)
    fields = dict(ast.iter_fields(node)) | {"body": [ast.Pass()]}
    fields |= {name: [] for name in ("orelse", "decorator_list") if name in fields}
    return _code(kind(**fields)).removesuffix("pass").rstrip()


def _code(node: ast.stmt) -> str:
    text = ast.unparse(ast.fix_missing_locations(node))
    pair = node.value if isinstance(node, ast.Assign | ast.Return) else None
    if isinstance(pair, ast.Tuple) and len(pair.elts) > 1:
        text = f"{text[: -len(ast.unparse(pair))]}{ast.unparse(pair)[1:-1]}"
    if isinstance(node, ast.FunctionDef):
        text = DEFAULT.sub(r"\1 = ", text)
    return QUOTED.sub(r'"\1"', text)


def _docstring(text: str, pad: str) -> Iterator[str]:
    first, *others = textwrap.dedent(text).strip().split("\n\n")
    whole = [" ".join(first.split())]
    for each in others:
        whole += ["", *textwrap.wrap(" ".join(each.split()), WIDEST - len(pad))]
    opened = [f'"""{whole[0]}', *whole[1:]]
    if len(whole) == 1:
        opened[0] += '"""'
    else:
        opened.append('"""')
    yield from (f"{pad}{line}".rstrip() for line in opened)


def _folded(line: str) -> Iterator[str]:
    """A line that is too long, opened at its widest brackets."""
    pad = line[: len(line) - len(line.lstrip())]
    start, end = _widest_brackets(line)
    if len(line) <= WIDEST or start is None:
        yield line
        return
    inner = line[start + 1 : end].strip()
    yield line[: start + 1]
    if len(pad) + 4 + len(inner) <= WIDEST:
        yield f"{pad}    {inner}"
    else:
        for part in _parts(inner):
            yield from _folded(f"{pad}    {part}")
    yield pad + line[end:]


def _widest_brackets(line: str) -> tuple[int | None, int]:
    stack: list[int] = []
    best: tuple[int | None, int] = (None, 0)
    for i, letter in enumerate(_without_strings(line)):
        if letter in OPENING:
            stack.append(i)
        elif letter in CLOSING and stack:
            start = stack.pop()
            if not stack and (best[0] is None or i - start > best[1] - best[0]):
                best = (start, i)
    return best


def _without_strings(line: str) -> str:
    return STRING.sub(lambda found: "_" * len(found[0]), line)


def _parts(inner: str) -> list[str]:
    """What stands in brackets, a line each: arguments with their commas, or a comprehension.

    One thing alone gets no comma: it would become a tuple.
    """
    outer = _outermost(inner)
    if " for " in outer:
        starts = [0, *(found.start() for found in re.finditer(" (?:for|if) ", outer))]
    else:
        starts = [0, *(i + 1 for i, letter in enumerate(outer) if letter == ",")]
    parts = [inner[i:j].strip() for i, j in zip(starts, [*starts[1:], None], strict=True)]
    parts = [each for each in parts if each]
    if len(parts) > 1 and " for " not in outer and not parts[-1].endswith(","):
        parts[-1] += ","
    return parts


def _outermost(inner: str) -> str:
    """The same letters, but `_` for strings and all that is in brackets."""
    depth, found = 0, ""
    for letter in _without_strings(inner):
        depth -= letter in CLOSING
        found += "_" if depth else letter
        depth += letter in OPENING
    return found

"""The pieces of a model as a picture needs them: rows, from what is opened downwards."""

from blocks.cost.breakdown import Node, opened
from blocks.observe.run import Run
from pages.ui.parameters import amounts, counted, names

MOST_ROWS, MOST_PIECES = 4, 180
Fields = tuple[int, int, str, str, str, str, str]  # of `pages.figures.breakdown.Piece`


def path_of(run: Run, view: str, text: str) -> tuple[Node, ...]:
    """The pieces that a path leads through, the whole first."""
    return opened(counted.tree(run.config, view), text.split("/") if text else [])


def text_of(nodes: tuple[Node, ...]) -> str:
    """The path that leads to the last of them."""
    return "/".join(node.name for node in nodes[1:])


def levels(run: Run, view: str, text: str) -> list[list[Fields]]:
    """What is opened, and as many rows below it as can be told apart."""
    along = path_of(run, view, text)
    whole, up = along[-1], text_of(along[:-1])
    row = [(whole, 0, text_of(along))]
    found = [[_piece(whole, 0, up, whole.count)]]
    while len(found) < MOST_ROWS:
        row = _below(row)
        if not row or len(row) > MOST_PIECES:
            break
        found.append([_piece(n, start, path, whole.count) for n, start, path in row])
    return found


def _below(row: list[tuple[Node, int, str]]) -> list[tuple[Node, int, str]]:
    """The children of all pieces of a row, each where its parent is."""
    found = []
    for node, start, path in row:
        for child in node.children:
            found.append((child, start, f"{path}/{child.name}".lstrip("/")))
            start += child.count
    return found


def _piece(node: Node, start: int, path: str, whole: int) -> Fields:
    said = f"{amounts.short(node.count)} · {amounts.share(node.count, whole)}"
    label = names.node(node)
    short = node.name if names.is_layer(node) else label
    return start, node.count, short, label, said, str(node.kind or ""), path

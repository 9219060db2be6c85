"""One number of a scene as arithmetic: what it was made of, exactly as it passed."""

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from blocks.inspection.head_steps import Array, Products, Softmax, products, softmax_of
from blocks.inspection.scene import Scene, pair_scores
from blocks.inspection.scene_moves import CROSS, Move, MoveKind
from blocks.inspection.scene_products import Projected, projected
from blocks.model.models import Model
from blocks.observe.recording import Recording


@dataclass(frozen=True)
class CellFacts:
    """A number, and how it came about, where that is a line of arithmetic.

    `row` and `column` from 0, of the whole text; `exact`: the number as it passed; `summed`: the
    products that make it, before `scaled_by`; `softmax`: of a weight; `added`: what a sum is made
    of; `before`: what a norm made it of; `is_masked`: a pair that the mask forbids;
    `projected`: x · W + b, of which it was made.
    """

    move: Move
    head: int
    row: int
    column: int
    exact: float
    summed: Products | None = None
    scaled_by: float = 1.0
    softmax: Softmax | None = None
    added: tuple[float, ...] = ()
    before: float | None = None
    is_masked: bool = False
    projected: Projected | None = None


def cell_facts(
    seen: Scene, model: Model, path: str, head: int, row: int, column: int
) -> CellFacts | None:
    """A cell of what a move makes, counted as it is drawn; None where nothing is drawn there."""
    matrix = seen.matrices.get(path)
    if matrix is None:
        return None
    _n_heads, n_rows, n_columns = matrix.codes.shape
    if not (row < n_rows and column < n_columns):
        return None
    move = next(move for move in seen.moves if move.path == path)
    row += seen.windows[matrix.rows].start
    column += matrix.first if matrix.columns is None else seen.windows[matrix.columns].start
    cell = _Cell(seen.seen, move, head, row, column)
    found = cell.facts()
    tensor = seen.seen.tensors.get(path)
    own = 0 if tensor is None or tensor.ndim < 4 else cell.own_head(tensor.shape[1])
    return replace(found, projected=projected(seen, model, move, own, row, column))


def drawn_exactly(seen: Scene, path: str, head: int) -> Array:
    """What is drawn of one head, as it passed and not in steps: (rows, columns)."""
    matrix = seen.matrices[path]
    move = next(move for move in seen.moves if move.path == path)
    columns = slice(matrix.first, matrix.first + matrix.codes.shape[2])
    if matrix.columns is not None:
        columns = seen.windows[matrix.columns]
    return _Cell(seen.seen, move, head, 0, 0).numbers()[seen.windows[matrix.rows], columns]


@dataclass(frozen=True, eq=False)
class _Cell:
    seen: Recording
    move: Move
    head: int
    row: int
    column: int

    def facts(self) -> CellFacts:
        match self.move.kind:
            case MoveKind.SCORES:
                return self.score()
            case MoveKind.SOFTMAX:
                return self.weight()
            case MoveKind.MIX:
                return self.mixed()
            case MoveKind.ADD:
                added = tuple(map(self.value, self.move.reads))
                return self.found(self.value(self.move.path), added=added)
            case MoveKind.NORM | MoveKind.POSITION:
                before = self.value(self.move.reads[0])
                return self.found(self.value(self.move.path), before=before)
            case _:
                return self.found(self.value(self.move.path))

    def found(self, exact: float, **how: object) -> CellFacts:
        return CellFacts(self.move, self.head, self.row, self.column, exact, **how)  # type: ignore[arg-type]

    def value(self, path: str) -> float:
        found = self.seen.tensors[path][0]
        found = found if found.ndim == 2 else found[self.own_head(len(found))]
        return float(found[self.row, self.column])

    def own_head(self, n_heads: int) -> int:
        """Of keys and values there may be fewer heads than of queries."""
        queries = self.seen.tensors.get(self.start + "q")
        return self.head if queries is None else self.head * n_heads // queries.shape[1]

    @property
    def start(self) -> str:
        """How the paths of this attention begin."""
        stage = self.move.stage
        start = self.move.path.removesuffix(stage)
        return start + CROSS if stage.startswith(CROSS) else start

    def numbers(self) -> Array:
        """All that the move makes, of this head: (rows, columns)."""
        if (found := self.seen.tensors.get(self.move.path)) is not None:
            return _host(found[0] if found.ndim == 3 else found[0, self.own_head(found.shape[1])])
        if self.move.kind is MoveKind.SCORES:
            made = self.seen.patterns[self.start + "pattern"]
            return _host(pair_scores(made)[0, self.head])
        layer, stack = self.move.layer or 0, self.move.stack
        return _host(self.seen.pattern(layer, stack=stack, name=self.move.stage)[0, self.head])

    def rows_of(self, name: str) -> Array:
        """Queries, keys or values of the head: (seq, d_head)."""
        found = self.seen.tensors[self.start + name][0]
        return _host(found[self.own_head(len(found))])

    def row_of_weights(self) -> Array:
        """Of the query, to every key, 0 where masked."""
        layer, stack = self.move.layer or 0, self.move.stack
        name = f"{CROSS if self.start.endswith(CROSS) else ''}pattern"
        return _host(self.seen.pattern(layer, stack=stack, name=name)[0, self.head, self.row])

    def row_of_scores(self, *, masked: bool) -> Array:
        made = self.seen.patterns[self.start + "pattern"]
        scores = _host(pair_scores(made)[0, self.head, self.row])
        mask = made.mask
        if not masked or mask is None:
            return scores
        whole = mask.reshape(-1, *mask.shape[-2:])[0]
        seen = whole[min(self.row, len(whole) - 1)].cpu().numpy()
        return np.where(seen, scores, np.nan)

    def score(self) -> CellFacts:
        query, key = self.rows_of("q")[self.row], self.rows_of("k")[self.column]
        return self.found(
            float(self.row_of_scores(masked=False)[self.column]),
            summed=products(query, key, largest_first=True),
            scaled_by=float(len(query) ** -0.5),
            is_masked=bool(np.isnan(self.row_of_scores(masked=True)[self.column])),
        )

    def weight(self) -> CellFacts:
        scores, weights = self.row_of_scores(masked=True), self.row_of_weights()
        sinks = self.seen.patterns[self.start + "pattern"].sinks
        sink = None if sinks is None else float(sinks.detach()[self.head])
        softmax = softmax_of(scores, self.column, sink)
        exact = float(weights[self.column])
        return self.found(exact, softmax=softmax, is_masked=softmax is None)

    def mixed(self) -> CellFacts:
        values = self.rows_of("v")[:, self.column]
        summed = products(self.row_of_weights(), values, largest_first=True)
        return self.found(self.value(self.move.path), summed=summed)


def _host(x: Tensor) -> Array:
    return x.detach().cpu().double().numpy()

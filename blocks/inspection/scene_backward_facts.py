"""The numbers of the sentence about each move of the way back, and of one gradient."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection.scene import Scene
from blocks.inspection.scene_backward import Backward, parts_at
from blocks.inspection.scene_cell import CellFacts
from blocks.inspection.scene_moves import Move, MoveKind
from blocks.model.normalization import at_least_float32

PAIRS = {MoveKind.SCORES, MoveKind.SOFTMAX}


@dataclass(frozen=True)
class BackFacts:
    """One gradient, at one token: `size` is its RMS, in `head` where the move has heads.

    `straight`, `through`: the RMS of its two parts, where it has two. Of scores, `number` is the
    most negative of the row and `key` its token: more of that score would lower the loss most.
    `is_first`: whether no gradient with two parts was there before.
    """

    move: Move
    size: float
    straight: float | None = None
    through: float | None = None
    number: float = 0.0
    key: int = 0
    is_first: bool = False


@dataclass(frozen=True, eq=False)
class LossFacts:
    """What the loss is of, after one token: `share`, the probability of `target`, the right one.

    `ids`: the tokens whose logits it depends on most, the right one first, with `shares` and
    `gradients`, (share − [right]) / n_asked; `loss`: the mean over all words, in nats.
    """

    target: int
    share: float
    loss: float
    n_asked: int
    ids: tuple[int, ...]
    shares: NDArray[np.float64]
    gradients: NDArray[np.float64]


def loss_facts(seen: Backward, token: int, most: int) -> LossFacts:
    """Those after this token, one of which a word is known."""
    shares = at_least_float32(seen.logits[token]).double().softmax(-1)
    target = int(seen.targets[token])
    gradients = shares.clone()
    gradients[target] -= 1
    order = gradients.abs().argsort(descending=True, stable=True)[: most + 1].tolist()
    ids = tuple(dict.fromkeys((target, *order)))[:most]
    at = torch.tensor(ids, device=shares.device)
    found = torch.stack((shares[at], gradients[at] / seen.n_asked)).cpu().numpy()
    share = float(shares[target])
    return LossFacts(target, share, seen.loss, seen.n_asked, ids, found[0], found[1])


def back_facts(seen: Backward, move: Move, head: int, token: int) -> BackFacts:
    """What this move of the way back shows."""
    if move.kind is MoveKind.SCORES and move.path in seen.seen.tensors:
        return _best_score(seen, move, head, token)
    found = seen.seen.tensors.get(move.path)
    size = 0.0 if found is None else _rms(_of_head(found[0], head), token)
    if (parts := parts_at(seen, move)) is None:
        return BackFacts(move, size)
    straight, through = (_rms(part, token) for part in parts)
    first = next(each for each in seen.moves if parts_at(seen, each) is not None)
    return BackFacts(move, size, straight, through, is_first=first == move)


def _best_score(seen: Backward, move: Move, head: int, token: int) -> BackFacts:
    """Which key this query would gain most by reading more."""
    row = at_least_float32(seen.seen.tensors[move.path][0, head, token])
    key = int(row.argmin())
    size = float(row.double().square().mean().sqrt())
    return BackFacts(move, size, number=float(row[key]), key=key)


def _of_head(found: Tensor, head: int) -> Tensor:
    """(seq, width) of what has heads or has none; keys and values may have fewer."""
    return found if found.ndim == 2 else found[min(head, len(found) - 1)]


def _rms(rows: Tensor, token: int) -> float:
    return float(rows[min(token, len(rows) - 1)].double().square().mean().sqrt())


def back_cell(seen: Scene, path: str, head: int, row: int, column: int) -> CellFacts | None:
    """A gradient of what is drawn, counted as it is drawn, and what it is the sum of."""
    matrix = seen.matrices.get(path)
    if matrix is None or row >= matrix.codes.shape[1] or column >= matrix.codes.shape[2]:
        return None
    move = next(move for move in seen.moves if move.path == path)
    row += seen.windows[matrix.rows].start
    column += matrix.first if matrix.columns is None else seen.windows[matrix.columns].start
    found = seen.seen.tensors[path][0]
    own = head * matrix.codes.shape[0] // max(_n_heads(seen, path), 1)
    exact = float((found if found.ndim == 2 else found[own])[row, column])
    parts = parts_at(seen, move)
    added = () if parts is None else tuple(float(part[row, column]) for part in parts)
    return CellFacts(move, head, row, column, exact, added=added)


def _n_heads(seen: Scene, path: str) -> int:
    """Of the queries beside it; of what has none, as many as it has itself."""
    start, _, name = path.rpartition(".")
    cross = "cross_" if name.startswith("cross_") else ""
    queries = seen.seen.tensors.get(f"{start}.{cross}q", seen.seen.tensors[path])
    return int(queries.shape[1])

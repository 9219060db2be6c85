"""The numbers of the sentence about each move of a scene, for the token that is looked at."""

from dataclasses import dataclass

import torch
from torch import Tensor

from blocks.inspection.scene import Scene, pair_scores
from blocks.inspection.scene_moves import CROSS, Move, MoveKind
from blocks.model.config import ModelConfig
from blocks.model.normalization import at_least_float32
from blocks.observe.run import Run

NINE_TENTHS = 0.895  # what is written as 90%


@dataclass(frozen=True)
class MoveFacts:
    """The numbers of one sentence, of one token.

    `before`: the RMS of what is read first; `after`: that of what is made. Of a head `number` is
    the weight of the key that is read most, or its score, and `key` the token; elsewhere `number`
    is a share. `n` counts what the sentence does (features, masked pairs, keys), `of` all of them;
    `keys`: those that make up the share, the most read first.
    """

    move: Move
    before: float = 0.0
    after: float = 0.0
    number: float = 0.0
    key: int = 0
    n: int = 0
    of: int = 0
    keys: tuple[int, ...] = ()


def move_facts(seen: Scene, run: Run, move: Move, head: int, token: int) -> MoveFacts:
    """What this move shows; `token` and `head` are those that are looked at, from 0."""
    config, of_head = run.config, _OfHead(seen, run, move, head, token)
    match move.kind:
        case MoveKind.PROJECT:
            made = seen.seen.tensors[move.path]
            return MoveFacts(move, n=made.shape[-1], of=made.shape[1])
        case MoveKind.SCORES:
            return of_head.best()
        case MoveKind.MASK:
            return of_head.masked()
        case MoveKind.SOFTMAX | MoveKind.ATTEND:
            return of_head.weight()
        case MoveKind.MIX:
            return of_head.mixed()
        case MoveKind.ROUTE | MoveKind.WIDEN | MoveKind.SEND:
            return _features(seen, move, token)
        case MoveKind.COMPRESS | MoveKind.STATE | MoveKind.GATE:
            return _widths(seen, move, token)
        case MoveKind.LOGITS | MoveKind.CHOOSE:
            return MoveFacts(move, n=config.vocab_size)
        case _:
            return _sizes(seen, move, token, config)


def _widths(seen: Scene, move: Move, token: int) -> MoveFacts:
    """The RMS of what is kept in place of keys and values, of how many numbers, at one token."""
    made = seen.seen.tensors[move.path]
    return MoveFacts(move, after=_rms(made, token), n=made.shape[-1])


def _sizes(seen: Scene, move: Move, token: int, config: ModelConfig) -> MoveFacts:
    """The RMS of what is read and what is made, at one token."""
    of = seen.seen.tensors
    streams = [path for path in move.reads if path in of]
    before = _rms(of[streams[0]], token) if streams else 0.0
    return MoveFacts(move, before, _rms(of[move.path], token), n=config.d_model, of=config.n_heads)


def _rms(x: Tensor, token: int) -> float:
    rows = x[0].double()
    rows = rows if rows.ndim == 2 else rows.transpose(0, 1).flatten(1)
    return float(rows[min(token, len(rows) - 1)].square().mean().sqrt())


def _features(seen: Scene, move: Move, token: int) -> MoveFacts:
    """How many hidden features are above 0; of experts the one that is sent most."""
    found = at_least_float32(seen.seen.tensors[move.path][0])
    row = found.reshape(-1, found.shape[-1])[min(token, len(found) - 1)]
    if move.kind is not MoveKind.WIDEN:
        best = int(row.argmax())
        n = int((row > 0).sum())
        return MoveFacts(move, number=float(row[best]), key=best, n=n, of=len(row))
    n = int((row > 0).sum())
    return MoveFacts(move, number=n / len(row), n=n, of=len(row))


@dataclass(frozen=True, eq=False)
class _OfHead:
    seen: Scene
    run: Run
    move: Move
    head: int
    token: int

    @property
    def weights(self) -> Tensor:
        """Of the token: (n_heads, key)."""
        cross = CROSS if self.move.stage.startswith(CROSS) else ""
        layer, stack = self.move.layer or 0, self.move.stack
        name = f"{cross}pattern"
        *_all, n_queries, _n_keys = self.seen.seen.pattern_shape(layer, stack=stack, name=name)
        at = min(self.token, n_queries - 1)
        own = slice(at, at + 1)
        found = self.seen.seen.pattern(layer, stack=stack, name=name, queries=own)
        return at_least_float32(found[0, :, 0])

    def best(self) -> MoveFacts:
        """The score of the key that is read most."""
        key = int(self.weights[self.head].argmax())
        made = self.seen.seen.patterns[self.move.path.replace("scores", "pattern")]
        row = min(self.token, made.shape[2] - 1)
        score = float(pair_scores(made)[0, self.head, row, key])
        return MoveFacts(self.move, number=score, key=key, n=made.q.shape[-1])

    def masked(self) -> MoveFacts:
        """How many of the pairs that are drawn the mask forbids."""
        weights = self.seen.matrices[self.move.path.replace("mask", "pattern")].values[0]
        hidden = torch.from_numpy(weights).isnan()
        return MoveFacts(self.move, n=int(hidden.sum()), of=hidden.numel())

    def weight(self) -> MoveFacts:
        """The key that is read most by the head; of heads that are not drawn, by their mean.

        Of the mean it is another token than the reader; `number` is 0 where it may read no other.
        """
        is_mean = self.move.kind is MoveKind.ATTEND
        row = self.weights.mean(0) if is_mean else self.weights[self.head]
        if is_mean and not self.move.stage.startswith(CROSS):
            own = min(self.token, len(row) - 1)
            row = torch.cat((row[:own], row.new_zeros(1), row[own + 1 :]))
        key = int(row.argmax())
        return MoveFacts(self.move, number=float(row[key]), key=key, of=len(row))

    def mixed(self) -> MoveFacts:
        """The keys that make up 90% (rounded) of what the head reads, of those with any weight."""
        row = self.weights[self.head]
        falling = row.sort(descending=True, stable=True)
        rising = falling.values.cumsum(0)
        n, of = int((rising < NINE_TENTHS * rising[-1]).sum()) + 1, int((row > 0).sum())
        share = float(rising[n - 1]) / (float(rising[-1]) or 1.0)
        keys = tuple(falling.indices[:n].tolist())
        return MoveFacts(self.move, number=share, key=keys[0], n=n, of=of, keys=keys)

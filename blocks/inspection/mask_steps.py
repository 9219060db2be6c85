"""What a mask does to one head: the cells it allows, the scores before it, the pattern after it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection import tiles
from blocks.inspection.blind_rows import Treatment, treated
from blocks.inspection.head_facts import Window, window
from blocks.inspection.mask_faults import (
    FINITE,
    MaskFault,
    first_mask,
    largest_exponent,
    largest_lead,
    open_mask,
    planted,
    raw_scores,
)
from blocks.model import devices
from blocks.model.attention import attention_pattern, attention_scores
from blocks.model.masks import MaskKind, cross_padding
from blocks.model.models import Model
from blocks.model.randomness import generator
from blocks.observe.recording import record
from blocks.observe.run import Input, Run

Cells = NDArray[np.bool_]
Numbers = NDArray[np.float32]
EVEN = 1e-3


class Layer(NamedTuple):
    """The first sequence in one layer, (n_heads, query, key): before the mask and after it."""

    scores: Tensor
    pattern: Tensor

    def head(self, head: int) -> tuple[Numbers, Numbers]:
        """Scores and pattern of one head: (query, key) each."""
        both = torch.stack((self.scores[head].float(), self.pattern[head].float())).cpu().numpy()
        return both[0], both[1]

    def without_a_key(self, head: int, query: int) -> NDArray[np.float64]:
        """The weights of a query if it saw no key, by each treatment: (treatment, key)."""
        rows = [treated(self.scores[head, query], treatment) for treatment in Treatment]
        return torch.stack(rows).double().cpu().numpy()


@dataclass(frozen=True, eq=False)
class StepFacts:
    """What a mask does to one head, (query, key) each; `query`: the one that is looked at.

    `is_open`: where a query may see a key; `scores` before the mask, `pattern` after it.
    """

    labels: tuple[str, ...]
    layer: int
    head: int
    query: int
    is_open: Cells
    scores: Numbers
    pattern: Numbers

    def drawn(self, most: int) -> Window:
        """Up to `most` tokens around the query."""
        return window(len(self.labels), self.query, most)

    def held(self, drawn: Window) -> float:
        """The share of the query's weight that lies in a window."""
        return float(self.pattern[self.query, drawn.rows].sum())

    def around(self, most: int) -> Self:
        """The same of up to `most` tokens around the query, to be drawn."""
        part = self.drawn(most)
        rows = part.rows
        return replace(
            self,
            labels=self.labels[rows],
            query=self.query - part.first,
            is_open=self.is_open[rows, rows],
            scores=self.scores[rows, rows],
            pattern=self.pattern[rows, rows],
        )

    @property
    def n_open(self) -> int:
        """How many keys the query may see."""
        return int(self.is_open[self.query].sum())

    @property
    def has_scores(self) -> bool:
        """Whether all scores of the query are numbers."""
        return bool(np.isfinite(self.scores[self.query]).all())

    @property
    def best_key(self) -> int:
        """The key with the largest weight of the query."""
        return int(self.pattern[self.query].argmax())

    @property
    def best_weight(self) -> float:
        """The largest weight of the query."""
        return float(self.pattern[self.query, self.best_key])

    @cached_property
    def taken(self) -> NDArray[np.float64] | None:
        """What forbidden keys would take of each query's weight without the mask.

        None where nothing is forbidden, or scores are not numbers.
        """
        if self.is_open.all() or not np.isfinite(self.scores).all():
            return None
        scores = self.scores.astype(np.float64)
        rows = np.exp(scores - scores.max(axis=1, keepdims=True))
        share: NDArray[np.float64] = np.where(self.is_open, 0, rows).sum(axis=1) / rows.sum(axis=1)
        return share

    @property
    def worst_query(self) -> int | None:
        """The query from which forbidden keys would take the most."""
        return None if self.taken is None else int(self.taken.argmax())

    @property
    def most_taken(self) -> float:
        """The share that forbidden keys would take at that query."""
        return 0.0 if self.taken is None else float(self.taken.max())

    @property
    def mean_taken(self) -> float:
        """The share that forbidden keys would take, averaged over the head's queries."""
        return 0.0 if self.taken is None else float(self.taken.mean())

    @property
    def is_finite(self) -> bool:
        """Whether all weights are numbers, as faulty code may not give."""
        return bool(np.isfinite(self.pattern).all())

    @property
    def row_sums(self) -> tuple[float, float]:
        """The least and the largest sum of a query's weights; 1 where all is well."""
        sums = self.pattern.sum(axis=1)
        return float(sums.min()), float(sums.max())

    @property
    def forbidden_share(self) -> float:
        """The share of all weight that lies on forbidden cells, as faulty code may have it."""
        total = max(float(self.pattern.sum()), 1e-30)
        return float(self.pattern[~self.is_open].sum()) / total


@dataclass(frozen=True, eq=False)
class BlindFacts:
    """A query whose every key is forbidden, by each treatment: (treatment, key), NaN as they are.

    `is_real`: whether the run has such a query; `n_spoiled`: how many outputs are NaN if it is.
    """

    labels: tuple[str, ...]
    layer: int
    head: int
    query: int
    is_real: bool
    dtype: str
    weights: NDArray[np.float64]
    n_spoiled: int

    @property
    def by_1e9(self) -> NDArray[np.float64]:
        """The row where −10⁹ is added."""
        row: NDArray[np.float64] = self.weights[list(Treatment).index(Treatment.MINUS_1E9)]
        return row

    @property
    def overflows(self) -> bool:
        """Whether −10⁹ is beyond the number format."""
        return not np.isfinite(self.by_1e9).all()

    @property
    def is_even(self) -> bool:
        """Whether adding −10⁹ wipes out the scores, so that all keys get the same weight."""
        return bool(np.ptp(self.by_1e9) < EVEN / len(self.by_1e9))

    @property
    def mean_weight(self) -> float:
        """What each key then gets."""
        return float(self.by_1e9.mean())


def blind_query(is_open: Cells, pinned: int) -> tuple[int, bool]:
    """A query that may see no key, and whether there is one: else the pinned one is taken."""
    blind = np.flatnonzero(~is_open.any(axis=1))
    if not len(blind):
        return pinned, False
    return (pinned if pinned in blind else int(blind[0])), True


class Lead(NamedTuple):
    """How far forbidden scores of a layer stand above the allowed ones, and what −1e4 can bear."""

    largest: float
    bearable: float

    @property
    def scale(self) -> float:
        """How many times as large the scores must be for −1e4 to leak; 0 where they never do."""
        return self.bearable / self.largest if self.largest > 0 else 0.0


class Cross(NamedTuple):
    """Queries of one sequence, keys of another that is padded: (query, key) each."""

    open: Cells
    scores: Numbers
    pattern: Numbers

    @property
    def n_queries(self) -> int:
        """How many queries ask."""
        return len(self.open)

    @property
    def n_keys(self) -> int:
        """How many keys there are, padding included."""
        return self.open.shape[1]

    @property
    def n_tokens(self) -> int:
        """How many of them may be read."""
        return int(self.open[0].sum())

    @property
    def n_padding(self) -> int:
        """How many are padding."""
        return self.n_keys - self.n_tokens


def layer_steps(
    run: Run, model: Model, layer: int, fault: MaskFault = MaskFault.NONE, score_scale: float = 1.0
) -> Layer:
    """What one layer makes of its scores in this run, clean or with a fault."""
    at = f"layers.{layer}."
    faults = planted(run, fault, model, score_scale=score_scale)
    seen = record(
        model,
        run.values(),
        mask=first_mask(run.build_mask()),
        keep={at + "q", at + "k", at + "pattern"},
        replace={**run.replacements(model), **faults},
        training_seed=run.seed if run.training else None,
    )
    q, k = seen.tensor("q", layer)[:1], seen.tensor("k", layer)[:1]
    return Layer(raw_scores(run.config, q, k)[0], seen.pattern(layer)[0])


def lead(run: Run, layer: Layer) -> Lead:
    """What it would take for a bias of −1e4 to be overwhelmed in this layer, the first."""
    exponent = largest_exponent(devices.DTYPES[run.dtype])
    return Lead(largest_lead(layer.scores.float(), open_mask(run, 0)), -FINITE - exponent)


def open_cells(run: Run, layer: int | None = None) -> Cells:
    """The mask of the first sequence, True where a query may see a key: (query, key).

    With a `layer`, its own.
    """
    return open_mask(run, layer).cpu().numpy()


def of_kind(run: Run, kind: MaskKind) -> Run:
    """Replace the mask of a run."""
    return replace(run, mask=replace(run.mask, mask_kind=kind))


def n_open_by_kind(run: Run) -> dict[MaskKind, int]:
    """How many cells the mask of every kind allows for the input of this run."""
    return {kind: int(open_mask(of_kind(run, kind)).sum()) for kind in MaskKind}


def kinds_side_by_side(run: Run, columns: int) -> NDArray[np.uint8]:
    """The mask of every kind for the input of this run, as tiles, one byte per cell."""
    masks = torch.stack([open_mask(of_kind(run, kind)) for kind in MaskKind])
    codes = torch.where(masks, tiles.MOST, tiles.MASKED).to(torch.uint8)
    return tiles.tile(tiles.shrink(codes), columns)


def cross(n_queries: int, d_head: int, n_tokens: int, n_padding: int, seed: int) -> Cross:
    """One head of random queries and keys, each value from N(0, 1), drawn from the seed."""
    draw = generator(seed, "cross_padding")
    q = torch.randn(1, 1, n_queries, d_head, generator=draw)
    k = torch.randn(1, 1, n_tokens + n_padding, d_head, generator=draw)
    mask = cross_padding(n_queries, Input(seq_len=n_tokens, n_padding=n_padding).is_token())
    pattern = attention_pattern(attention_scores(q, k, mask), mask)
    return Cross(mask[0, 0].numpy(), attention_scores(q, k)[0, 0].numpy(), pattern[0, 0].numpy())

"""One head of a run at one query: where it reads, and any cell of its steps in numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from torch import Tensor

from blocks.inspection.head_steps import Array, HeadSteps, Products, Softmax, products, softmax_of
from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind
from blocks.model.positions import alibi_slopes
from blocks.observe.run import Run

STEPS = (
    *("project", "qkv", "scores", "scaled", "cap", "bias", "mask", "softmax", "mix", "gate"),
    *("write", "heads"),
)
WITH_FEATURES = ("project", "mix", "gate", "write", "heads")  # one of whose features is written out
OF_SCORES = ("scaled", "cap", "bias", "mask", "softmax")  # no vectors of features in these steps
MUCH, MOST_OF_IT = 0.05, 0.5
OPEN_ENDED = ("entropy_bits", "distance_tokens")


def steps_taken(config: ModelConfig) -> tuple[str, ...]:
    """The steps that a head of this model takes: a bias is added by ALiBi alone."""
    is_taken = {
        "cap": config.attention.score_softcap > 0,
        "bias": config.position.position_kind is PositionKind.ALIBI,
        "gate": config.gate_width > 0,
        "project": not config.is_latent,
        "heads": config.n_heads > 1,
    }
    return tuple(step for step in STEPS if is_taken.get(step, True))


class Window(NamedTuple):
    """Tokens `first` to `end` of a text of `n`: those that have room in a picture."""

    first: int
    end: int
    n: int

    @property
    def rows(self) -> slice:
        """As a slice."""
        return slice(self.first, self.end)

    @property
    def is_whole(self) -> bool:
        """Whether no token is left out."""
        return self.end - self.first == self.n

    def inside(self, token: int) -> int | None:
        """Its number within the window; None where it is not drawn."""
        return token - self.first if self.first <= token < self.end else None


def window(n: int, token: int, most: int) -> Window:
    """Up to `most` of `n` tokens, those around one."""
    first = max(0, min(token - most // 2, n - most))
    return Window(first, min(n, first + most), n)


@dataclass(frozen=True, eq=False)
class HeadFacts:
    """The steps of one head, and what of them is looked at; all counted from 0.

    `step`: one of `STEPS`; `key` and `feature`: the cell of it in the row of the `query`.
    `apart`: the tokens that are set apart as sinks.
    """

    run: Run
    layer: int
    head: int
    query: int
    steps: HeadSteps
    step: str = "qkv"
    key: int = 0
    feature: int = 0
    apart: tuple[int, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The tokens."""
        return self.run.input.labels

    @property
    def weights(self) -> Array:
        """What the query puts on each key, 0 where masked: (key,)."""
        return np.nan_to_num(self.steps.pattern[self.query])

    @property
    def n_masked(self) -> int:
        """Keys that the query may not see."""
        return int(np.isnan(self.steps.masked[self.query]).sum())

    @property
    def most_masked(self) -> tuple[int, int]:
        """The first of the queries that may see the fewest keys, and how many it may not."""
        counts = np.isnan(self.steps.masked).sum(axis=1)
        return int(counts.argmax()), int(counts.max())

    @property
    def is_blind(self) -> bool:
        """Whether the query may see no key."""
        return self.n_masked == len(self.labels)

    def most_read(self, most: int = 3) -> list[tuple[int, float]]:
        """The keys of the largest weights above 0.05, and these; one at least."""
        order = np.argsort(-self.weights, kind="stable")[:most]
        found = [(int(key), float(self.weights[key])) for key in order]
        return [each for each in found if each[1] > MUCH] or found[:1]

    @property
    def weight_sum(self) -> float:
        """1 where softmax did its work, 0 of a query that sees nothing."""
        return float(self.weights.sum())

    @property
    def total(self) -> float:
        """All weights of all queries together."""
        return float(self.received.sum())

    @property
    def received(self) -> Array:
        """What each key gets from all queries together: (key,)."""
        return np.nan_to_num(self.steps.pattern).sum(axis=0)

    @property
    def most_received(self) -> int:
        """The key that gets most."""
        return int(self.received.argmax())

    def reach(self, name: str) -> tuple[float, float]:
        """The least and the largest number in the row of the query; 0 where all are masked."""
        matrix = getattr(self.steps, name)
        row = self.steps.scaled[self.query] if matrix is None else matrix[self.query]
        there = row[~np.isnan(row)]
        return (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)

    def length(self, name: str) -> float:
        """The length of the query's vector."""
        return float(np.linalg.norm(self.matrix(name)[self.query]))

    def matrix(self, name: str) -> Array:
        """One matrix of the head, or of what is around it."""
        holder = self.steps if hasattr(self.steps, name) else self.steps.around
        found: Array = getattr(holder, name)
        return found

    def drawn(self, most: int) -> Window:
        """Up to `most` tokens around the query."""
        return window(len(self.labels), self.query, most)

    def held(self, drawn: Window) -> float:
        """The share of the query's weight that lies in a window."""
        return float(self.weights[drawn.rows].sum())

    @property
    def kv_head(self) -> int:
        """The key and value head that this one reads with."""
        return self.head * self.run.config.n_kv_heads // self.run.config.n_heads

    @property
    def widest(self) -> int:
        """Numbers in the longest vector that the step reads or gives; 0 of scores alone."""
        if self.step in OF_SCORES:
            return 0
        if self.step in ("project", "heads"):
            read = max(self.run.config.d_model, self.steps.around.concat.shape[1])
            return max(read, self.steps.d_head)
        return max(self.steps.d_head, self.last_column(self.step) + 1)

    def last_column(self, step: str) -> int:
        """The last feature of what a step gives."""
        is_written = step in ("write", "heads")
        return (self.run.config.d_model if is_written else self.steps.d_head) - 1

    def column(self, step: str) -> int:
        """The feature that is written out of a step."""
        return min(self.feature, self.last_column(step))

    @property
    def cell(self) -> "Cell":
        """The chosen cell in every step."""
        steps, at = self.steps, (self.query, self.key)
        gated = self.query, self.column("gate")
        values, weights = steps.v[:, self.column("mix")], steps.out_weight[:, self.column("write")]
        return Cell(
            score=products(steps.q[self.query], steps.k[self.key]),
            raw=float(steps.raw[at]),
            scaled=float(steps.scaled[at]),
            slope=alibi_slopes(self.run.config.n_heads)[self.head],
            distance=abs(self.query - self.key),
            capped=float("nan") if steps.capped is None else float(steps.capped[at]),
            biased=float("nan") if steps.biased is None else float(steps.biased[at]),
            softmax=softmax_of(steps.masked[self.query], self.key, steps.sink),
            mixed=products(steps.pattern[self.query], values, largest_first=True),
            gated=float("nan") if steps.gated is None else float(steps.gated[gated]),
            written=products(steps.passed_on[self.query], weights),
        )


@dataclass(frozen=True)
class Cell:
    """One query and one key in every step; `softmax`: None where the mask hides the key.

    `capped` is NaN without a cap; `slope` and `distance` make `biased` (NaN without ALiBi);
    `mixed`, `gated` (NaN without a gate), `written`: one feature each.
    """

    score: Products
    raw: float
    scaled: float
    capped: float
    slope: float
    distance: int
    biased: float
    softmax: Softmax | None
    mixed: Products
    gated: float
    written: Products


class Sharpest(NamedTuple):
    """The head in which a query puts the largest weight on a key that is another token.

    `beyond_sinks`: tokens on which much attention rests were left out.
    """

    layer: int
    head: int
    key: int
    weight: float
    beyond_sinks: bool = False


def sharpest(patterns: Sequence[Tensor], query: int, apart: Sequence[int] = ()) -> Sharpest:
    """`patterns`: the row of the query in each layer, (batch, n_heads, 1, key), first sequence.

    `apart`: keys that are not meant, because attention rests there whatever the query asks for
    (see `sinks`); where a query may see no others, they are.
    """
    rows = [pattern[0, :, 0].float().clone() for pattern in patterns]
    for row in rows:
        row[:, query] = 0
    whole = _largest(rows)
    for row in rows:
        row[:, list(apart)] = 0
    other = _largest(rows)._replace(beyond_sinks=bool(apart))
    return other if other.weight else whole


def telling(patterns: Sequence[Tensor], query: int, apart: Sequence[int] = ()) -> tuple[int, int]:
    """The layer (in the order of `patterns`) and head that put most on a token further back.

    `patterns`: the row of the query in each layer, (batch, n_heads, 1, key). The first token, those
    set `apart`, the query itself and the one before it are left out: nearly every model has heads
    that read these in any text. (0, 0) where the query has no other.
    """
    rows = [pattern[0, :, 0, : max(1, query - 1)].float().clone() for pattern in patterns]
    for row in rows:
        row[:, [0, *(token for token in apart if token < row.shape[-1])]] = 0
    return _largest(rows)[:2]


def _largest(rows: Sequence[Tensor]) -> Sharpest:
    """`rows`: one per layer, (n_heads, key)."""
    found = []
    for layer, row in enumerate(rows):
        place = int(row.argmax())
        there = divmod(place, row.shape[-1])
        found.append(Sharpest(layer, *there, float(row.flatten()[place])))
    return max(found, key=lambda each: each.weight)


def on_sinks(received: Tensor, apart: Sequence[int]) -> Array:
    """The share of a head's weight that rests on some keys, all queries together: (n_heads,).

    `received`: what each key gets from all of them, (n_heads, key).
    """
    share = received[:, list(apart)].sum(-1) / received.sum(-1).clamp(min=1e-9)
    return share.cpu().numpy()


def without_resting(heads: pd.DataFrame) -> pd.DataFrame:
    """The heads that put no more than half of their weight on sinks; all, where all do.

    `heads` has a column `on_sinks` where sinks are set apart.
    """
    if "on_sinks" not in heads:
        return heads
    is_resting = heads["on_sinks"] > MOST_OF_IT
    return heads if is_resting.all() else heads[~is_resting]


@dataclass(frozen=True, eq=False)
class AllHeads:
    """The measures of all heads of a model (see `blocks.observe.heads`), a row each.

    Two columns more say what it is called: badge, badge_score. `sort_by`: the measure whose largest
    stand first, but the sharpest by entropy, or the layer; `selected`: the layer and head that is
    looked at; `is_probed`: the names are those of the head probe, whatever the text.
    """

    heads: pd.DataFrame
    sort_by: str
    selected: tuple[int, int]
    is_probed: bool = False

    def first(self, most: int) -> pd.DataFrame:
        """The first heads in this order."""
        if self.sort_by == "layer":
            return self.heads.head(most)
        is_ascending = self.sort_by == "entropy_bits"
        found = self.heads.sort_values(self.sort_by, ascending=is_ascending, kind="stable")
        return found.head(most)

    @property
    def ends(self) -> tuple[pd.Series, pd.Series]:
        """The sharpest head and the most spread out one, those that rest on sinks left out."""
        heads = without_resting(self.heads)
        bits = heads["entropy_bits"]
        return heads.iloc[bits.argmin()], heads.iloc[bits.argmax()]

    @property
    def n_resting(self) -> int:
        """How many heads were left out as resting on sinks."""
        return len(self.heads) - len(without_resting(self.heads))

    @property
    def n_named(self) -> dict[str, int]:
        """How many heads have each name, the most frequent first."""
        names = self.heads["badge"]
        counts = names[names != ""].value_counts()
        return {str(name): int(n) for name, n in counts.items()}

    def nearest(self, name: str) -> pd.Series:
        """The head with the largest share of one kind."""
        return self.heads.iloc[self.heads[name].argmax()]

    def shares(self, of: pd.DataFrame, measures: Sequence[str]) -> Array:
        """Measures of some heads from 0 to 1: entropy and distance by the largest of all heads."""
        most = [self.heads[name].max() if name in OPEN_ENDED else 1.0 for name in measures]
        found: Array = of[list(measures)].to_numpy(float) / np.maximum(most, 1e-9)
        return found.clip(0, 1)

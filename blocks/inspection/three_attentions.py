"""What the three attentions of an encoder–decoder read: all heads, one head, one token."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection import two_texts
from blocks.inspection.two_texts import AttentionKind
from blocks.observe.interventions import without_cross_attention
from blocks.observe.recording import Recording
from blocks.observe.run import PaddingSide, Run

N_NAMED, LEAST_NAMED, PALE = 3, 0.05, 0.1
N_DRAWN = 64  # tokens of each text in the large map


class Pins(NamedTuple):
    """The pinned token of each text."""

    source: int
    target: int

    def reading(self, kind: AttentionKind) -> int:
        """The pinned token of the text that the queries come from."""
        return self.source if kind.is_of_source else self.target

    def read(self, kind: AttentionKind) -> int:
        """The pinned token of the text that the keys come from."""
        return self.source if kind.reads_source else self.target


class Head(NamedTuple):
    """A layer and head of one of the three attentions; all of them exist in the run."""

    kind: AttentionKind
    layer: int
    head: int


class Part(NamedTuple):
    """The part of two texts that has room: queries, keys."""

    rows: slice
    columns: slice

    def is_all(self, n_rows: int, n_columns: int) -> bool:
        """Whether nothing is left out."""
        return self == (slice(0, n_rows), slice(0, n_columns))


@dataclass(frozen=True, eq=False)
class KindFacts:
    """All heads of one attention.

    `heads`: layer, head, entropy_bits, effective_tokens; `tiles`: all of them as codes, a row a
    layer; `pinned` and `pinned_key`: where the pinned tokens stand in a tile, 0 to 1; `selected`:
    the tile that is looked at.
    """

    kind: AttentionKind
    heads: pd.DataFrame
    tiles: NDArray[np.uint8]
    n_heads: int
    pinned: float
    pinned_key: float | None
    selected: int | None


@dataclass(frozen=True, eq=False)
class HeadFacts:
    """One head: `weights` (query, key), NaN where masked; `heads`: all of the same attention.

    `written_next`: the target token that the pinned row of cross-attention predicts, else "".
    `seed`: None where the weights are trained.
    """

    which: Head
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    weights: NDArray[np.float32]
    heads: pd.DataFrame
    pins: Pins
    written_next: str
    seed: int | None

    @property
    def query(self) -> int:
        """The pinned token of the text that reads."""
        return self.pins.reading(self.which.kind)

    @property
    def key(self) -> int | None:
        """The pinned token of the text that is read, where that is another."""
        return self.pins.source if self.which.kind is AttentionKind.CROSS else None

    @property
    def is_blind(self) -> bool:
        """Whether the pinned query cannot attend to any key."""
        return bool(np.isnan(self.weights[self.query]).all())

    @property
    def most_read(self) -> tuple[tuple[str, float], ...]:
        """The keys to which the pinned query attends most."""
        return most_read(self.weights[self.query], self.keys)

    @property
    def effective_tokens(self) -> tuple[float, float]:
        """From how many tokens the sharpest head reads, and the least sharp."""
        numbers = self.heads["effective_tokens"]
        return float(numbers.min()), float(numbers.max())

    @property
    def n_masked(self) -> int:
        """The pairs that are masked."""
        return int(np.isnan(self.weights).sum())

    @property
    def largest(self) -> float:
        """The largest weight of all."""
        return float(np.nan_to_num(self.weights).max())

    @property
    def is_pale(self) -> bool:
        """Whether weights are so even that none is large."""
        return 0 < self.largest < PALE

    def part(self, most: int) -> Part:
        """At most so many tokens of each text, around the pinned ones."""
        kind = self.which.kind
        return Part(
            around(self.query, len(self.queries), most),
            around(self.pins.read(kind), len(self.keys), most),
        )


class Lines(NamedTuple):
    """A head as lines, so many from each query; those of the pinned query or key stand out."""

    head: HeadFacts
    n_edges: int
    follows_key: bool


@dataclass(frozen=True, eq=False)
class TokenFacts:
    """One token in both texts: what a target token reads, or who reads a source token.

    `in_source` and `in_target`: a weight a token, NaN where masked; `is_source`: no padding.
    """

    layer: int
    head: int
    text: str
    pins: Pins
    source: tuple[str, ...]
    target: tuple[str, ...]
    in_source: NDArray[np.float32]
    in_target: NDArray[np.float32]
    is_source: NDArray[np.bool_]

    @property
    def is_of_target(self) -> bool:
        """Whether a target token is followed."""
        return self.text == "target"

    @property
    def token(self) -> str:
        """The token that is followed."""
        return self.target[self.pins.target] if self.is_of_target else self.source[self.pins.source]

    @property
    def is_cut_off(self) -> bool:
        """Whether it reads nothing of the source; of a source token whether no target reads it."""
        return bool(np.isnan(self.in_source if self.is_of_target else self.in_target).all())

    @property
    def most_in_source(self) -> tuple[tuple[str, float], ...]:
        """The source tokens that it reads most, or that read it most; padding reads nothing."""
        weights = self.in_source
        shown = weights if self.is_of_target else np.where(self.is_source, weights, np.nan)
        return most_read(shown, self.source)

    @property
    def most_in_target(self) -> tuple[tuple[str, float], ...]:
        """The same in the target."""
        return most_read(self.in_target, self.target)

    @property
    def total_of_target(self) -> float:
        """The weight of all target tokens together."""
        return float(np.nansum(self.in_target))


class PaddingFacts(NamedTuple):
    """By how much padding moves a next-token probability or a weight of cross-attention at most."""

    most: float
    side: PaddingSide


def around(token: int, n: int, most: int) -> slice:
    """At most so many of `n` tokens, around one of them."""
    first = max(0, min(token - most // 2, n - most))
    return slice(first, min(n, first + most))


def most_read(row: NDArray[np.float32], names: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """The tokens with the largest weights: label, weight; one at least."""
    order = np.argsort(-np.nan_to_num(row), kind="stable")[:N_NAMED]
    shown = [key for key in order if row[key] > LEAST_NAMED] or order[:1]
    return tuple((names[key], float(row[key])) for key in shown)


def queries(run: Run, kind: AttentionKind) -> tuple[str, ...]:
    """The tokens that read."""
    return run.input.labels if kind.is_of_source else run.target_or_start.labels


def keys(run: Run, kind: AttentionKind) -> tuple[str, ...]:
    """The tokens that are read."""
    return run.input.labels if kind.reads_source else run.target_or_start.labels


def may_attend(run: Run, kind: AttentionKind, layer: int) -> Tensor:
    """The mask of one attention of a layer: (query, key)."""
    sizes = len(queries(run, kind)), len(keys(run, kind))
    return two_texts.allowed(run.build_mask(layer), kind, *sizes)


def all_heads(run: Run, seen: Recording, kind: AttentionKind) -> pd.DataFrame:
    """One row per head of all layers (see `two_texts.frame`), over queries that are no padding."""
    found, is_open = two_texts.patterns(seen, kind, run.config), _of_all_layers(run, kind)
    if kind.is_of_source:
        rows = run.input.is_token()[0]
        found, is_open = [each[:, rows.to(each.device)] for each in found], is_open[:, rows]
    return two_texts.frame(found, is_open)


def _of_all_layers(run: Run, kind: AttentionKind) -> Tensor:
    """The masks of one attention: (layer, query, key)."""
    layers = range(two_texts.n_layers(run.config, kind))
    return torch.stack([may_attend(run, kind, layer) for layer in layers])


def sharpest(heads: pd.DataFrame) -> tuple[int, int]:
    """Layer and head that read from the fewest tokens."""
    found = heads.iloc[heads["entropy_bits"].argmin()]
    return int(found["layer"]), int(found["head"])


def head_weights(run: Run, seen: Recording, which: Head) -> NDArray[np.float32]:
    """One head, NaN where masked: (query, key)."""
    found = two_texts.pattern(seen, which.kind, which.layer)[which.head]
    return two_texts.weights(found, may_attend(run, which.kind, which.layer))


def kind_facts(
    run: Run, seen: Recording, heads: pd.DataFrame, kind: AttentionKind, which: Head, pins: Pins
) -> KindFacts:
    """All heads of one attention; `heads` as `all_heads` has them."""
    found = two_texts.patterns(seen, kind, run.config)
    is_here, is_cross = which.kind is kind, kind is AttentionKind.CROSS
    return KindFacts(
        kind=kind,
        heads=heads,
        tiles=two_texts.tiled(found, _of_all_layers(run, kind)),
        n_heads=run.config.n_heads,
        pinned=(pins.reading(kind) + 0.5) / len(queries(run, kind)),
        pinned_key=(pins.source + 0.5) / len(run.input.labels) if is_cross else None,
        selected=which.layer * run.config.n_heads + which.head if is_here else None,
    )


def head_facts(
    run: Run, seen: Recording, heads: pd.DataFrame, which: Head, pins: Pins
) -> HeadFacts:
    """One head; `heads` as `all_heads` has them."""
    target, after = run.target_or_start.labels, pins.target + 1
    is_written = which.kind is AttentionKind.CROSS and after < len(target)
    return HeadFacts(
        which=which,
        queries=queries(run, which.kind),
        keys=keys(run, which.kind),
        weights=head_weights(run, seen, which),
        heads=heads,
        pins=pins,
        written_next=target[after] if is_written else "",
        seed=None if run.weights else run.seed,
    )


def token_facts(
    run: Run, seen: Recording, layer: int, head: int, text: str, pins: Pins
) -> TokenFacts:
    """What a pinned token reads in both texts, or who reads it: `text` is its own.

    A target token reads (decoder, cross); a source token is read (cross, encoder).
    """

    def weights(kind: AttentionKind) -> NDArray[np.float32]:
        last = two_texts.n_layers(run.config, kind) - 1
        found = head_weights(run, seen, Head(kind, min(layer, last), head))
        return found[pins.target] if text == "target" else found[:, pins.source]

    cross = weights(AttentionKind.CROSS)
    is_of_target = text == "target"
    own = weights(AttentionKind.DECODER if is_of_target else AttentionKind.ENCODER)
    return TokenFacts(
        layer=layer,
        head=head,
        text=text,
        pins=pins,
        source=run.input.labels,
        target=run.target_or_start.labels,
        in_source=cross if is_of_target else own,
        in_target=own if is_of_target else cross,
        is_source=run.input.is_token()[0].numpy(),
    )


def without_padding(run: Run) -> Run:
    """The same texts, none of them filled up, and nothing changed inside."""
    padded = run.untouched
    return replace(padded, input=replace(padded.input, n_padding=0))


def padding_facts(run: Run, padded: Recording, alone: Recording) -> PaddingFacts:
    """Compare the recordings of `run.untouched` and of `without_padding(run)`."""
    a, b = (each.output[0].float().softmax(dim=-1) for each in (padded, alone))
    reads, reads_alone = (
        two_texts.patterns(each, AttentionKind.CROSS, run.config) for each in (padded, alone)
    )
    rows = run.input.is_token()[0].to(a.device)
    pairs = [(a, b), *((x[..., rows], y) for x, y in zip(reads, reads_alone, strict=True))]
    most = max(float((x - y).abs().max()) for x, y in pairs)
    return PaddingFacts(most, run.input.padding_side)


def reads_in_vain(run: Run) -> bool:
    """Whether all cross-attention is switched off: its weights stand, its output is zero."""
    off = {*without_cross_attention(run.config)}
    return bool(run.interventions) and off <= {*run.interventions}

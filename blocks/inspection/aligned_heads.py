"""How well cross-attention aligns: the links of one head, and all heads against the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.inspection import alignment, two_texts
from blocks.inspection.alignment import MEAN, Links, Row, Score
from blocks.inspection.three_attentions import N_DRAWN, Part, Pins, around, may_attend
from blocks.inspection.two_texts import AttentionKind
from blocks.model.config import ModelConfig
from blocks.observe.recording import Recording
from blocks.observe.run import Input, Run
from blocks.text.bilingual import SPECIAL, SentenceTokenizer
from blocks.text.tokenizer import Tokenizer

Words = tuple[str | None, ...]
# The measure by which a head is best: validation sentences before this one.
BEST_BY = {Row.WRITES: ("held_out", "error"), Row.READS: ("held_out_reads", "error_reads")}
IS_BETTER_BELOW = {
    "held_out": True,
    "held_out_reads": True,
    "error": True,
    "error_reads": True,
    "precision": False,
    "recall": False,
}


class Truth(StrEnum):
    """Whether the true alignment is known, and if not, why."""

    KNOWN = "known"
    NO_GRAMMAR = "no_grammar"
    NOT_SAID = "not_said"
    OTHER_TARGET = "other_target"


@dataclass(frozen=True)
class TextsFacts:
    """Both texts as the grammar has them, None for what is special, and their true links."""

    source: Words
    target: Words
    truth: Truth
    true: Links | None
    least_error: float


class PinnedLinks(NamedTuple):
    """What one target word is linked to (None: nothing), and what it stands for, if that is known.

    All of them are places of tokens.
    """

    target: int
    found: int | None
    true: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class LinksFacts:
    """What one head links, or (head −1) the mean of a layer.

    `weights`: (target, source), NaN where masked; `true` is None where it is not known, and
    `score` too.
    """

    layer: int
    head: int
    row: Row
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: NDArray[np.float32]
    found: Links
    true: Links | None
    truth: Truth
    score: Score | None
    least_error: float
    pins: Pins
    seed: int | None

    @property
    def part(self) -> Part:
        """The target words (the start is none) and source tokens that are drawn."""
        words = around(self.pins.target - 1, len(self.target) - 1, N_DRAWN)
        columns = around(self.pins.source, len(self.source), N_DRAWN)
        return Part(slice(words.start + 1, words.stop + 1), columns)

    @property
    def pinned(self) -> PinnedLinks | None:
        """The row that is outlined; None for the start token, which no row predicts."""
        if not (place := self.pins.target):
            return None
        found = [a for a, b in self.found if b == place]
        true = None if self.true is None else tuple(sorted(a for a, b in self.true if b == place))
        return PinnedLinks(place, found[0] if found else None, true)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Target and source word of each link that was found, in the order of the target."""
        links = sorted(self.found, key=lambda link: link[1])
        return tuple((self.target[b], self.source[a]) for a, b in links)


class Best(NamedTuple):
    """The head that aligns best with a row of attention; `error` by the measure that says so."""

    layer: int
    head: int
    error: float


@dataclass(frozen=True, eq=False)
class HeadsFacts:
    """Every head of cross-attention, and the mean of each layer (head −1), a row each.

    `table`: layer, head; where the truth of this sentence is known the fields of `Score`, and
    error_reads, the error of the row one later; where `n_pairs` validation sentences are measured
    held_out and held_out_reads, the error over all of them.
    """

    table: pd.DataFrame
    n_pairs: int

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that the heads have."""
        return tuple(name for name in IS_BETTER_BELOW if name in self.table)

    def best_by(self, row: Row) -> str | None:
        """The measure by which a head is best; None where none is known."""
        return next((name for name in BEST_BY[row] if name in self.table), None)

    def best(self, row: Row) -> Best:
        """The first of those that are alike, where a measure is known."""
        measure = self.best_by(row) or "error"
        found = self.table.iloc[self.table[measure].argmin()]
        return Best(int(found["layer"]), int(found["head"]), float(found[measure]))

    def sorted_by(self, measure: str) -> pd.DataFrame:
        """The best first; by "layer" in their order."""
        if measure not in self.measures:
            return self.table
        return self.table.sort_values(
            measure, ascending=IS_BETTER_BELOW[measure], kind="stable", ignore_index=True
        )


class HeadsShown(NamedTuple):
    """The heads in an order, and the one that is looked at (layer, head)."""

    heads: HeadsFacts
    sort_by: str
    selected: tuple[int, int]


def words(text: Input, reader: Tokenizer) -> Words:
    """The words of a text as the grammar has them, None for what is special."""
    if isinstance(reader, SentenceTokenizer):
        return tuple(
            reader.vocabulary[token_id] if token_id >= len(SPECIAL) else None
            for token_id in text.padded_ids
        )
    is_word = text.is_token()[0].tolist()
    return tuple(label if each else None for label, each in zip(text.labels, is_word, strict=True))


def texts_facts(run: Run, reader: Tokenizer) -> TextsFacts:
    """Source and target of a run; the start of the target is no word."""
    source = words(run.input, reader)
    target = (None, *words(run.target_or_start, reader)[1:])
    truth, true = _truth(source, target, knows_grammar(reader, run.config))
    is_token = run.input.is_token()[0].tolist()  # padding is masked, so no word is linked to it
    may_be_silent = any(each and word is None for each, word in zip(is_token, source, strict=True))
    least = alignment.least_error(true or frozenset(), target, may_be_silent=may_be_silent)
    return TextsFacts(source, target, truth, true, least)


def knows_grammar(reader: Tokenizer, config: ModelConfig) -> bool:
    """Whether the tokens of a model are the words of the grammar, all of them."""
    return isinstance(reader, SentenceTokenizer) and reader.vocab_size <= config.vocab_size


def _truth(source: Words, target: Words, is_known: bool) -> tuple[Truth, Links | None]:
    if not is_known:
        return Truth.NO_GRAMMAR, None
    true = alignment.true_links(source, target)
    if true is not None:
        return Truth.KNOWN, true
    is_said = alignment.true_links(source, (None,)) is not None
    return Truth.OTHER_TARGET if is_said else Truth.NOT_SAID, None


def links_facts(
    run: Run, seen: Recording, texts: TextsFacts, layer: int, head: int, row: Row, pins: Pins
) -> LinksFacts:
    """What a head links by this row of attention."""
    heads = two_texts.pattern(seen, AttentionKind.CROSS, layer).float()
    one = heads.mean(dim=0) if head == MEAN else heads[head]
    (keys,) = alignment.strongest([one[None]])
    found = alignment.hard_links(keys[0], texts.source, texts.target, row)
    return LinksFacts(
        layer=layer,
        head=head,
        row=row,
        source=run.input.labels,
        target=run.target_or_start.labels,
        weights=two_texts.weights(one, may_attend(run, AttentionKind.CROSS, 0)),
        found=found,
        true=texts.true,
        truth=texts.truth,
        score=None if texts.true is None else alignment.score(found, texts.true),
        least_error=texts.least_error,
        pins=pins,
        seed=None if run.weights else run.seed,
    )


def heads_facts(
    run: Run, seen: Recording, texts: TextsFacts, held_out: Sequence[pd.DataFrame], n_pairs: int
) -> HeadsFacts:
    """All heads; `held_out`: parts of `n_pairs` validation sentences, as `over_pairs` has them."""
    heads = (*range(run.config.n_heads), MEAN)
    places = [(layer, head) for layer in range(run.config.n_decoder_layers) for head in heads]
    table = pd.DataFrame(places, columns=["layer", "head"])
    if texts.true is not None:
        table = table.merge(_on_this_sentence(run, seen, texts), on=["layer", "head"])
    if held_out:
        errors = alignment.summed(pd.concat(held_out))
        errors = errors.pivot(index=["layer", "head"], columns="row", values="error")
        names = {str(Row.WRITES): "held_out", str(Row.READS): "held_out_reads"}
        table = table.merge(
            errors.rename(columns=names), left_on=["layer", "head"], right_index=True
        )
    return HeadsFacts(table, n_pairs)


def _on_this_sentence(run: Run, seen: Recording, texts: TextsFacts) -> pd.DataFrame:
    found = two_texts.patterns(seen, AttentionKind.CROSS, run.config)
    true = texts.true or frozenset()
    table = alignment.all_heads(found, texts.source, texts.target, true)
    one, other = (table[table["row"] == row].reset_index(drop=True) for row in Row)
    return one.drop(columns="row").assign(error_reads=other["error"])

"""What three attentions, their alignment and the encoder's output show: kept, keyed on the run."""

from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.corpora.stories import Language
from blocks.corpora.translation import held_out_pairs
from blocks.inspection import alignment, encoder_output, two_texts
from blocks.inspection.alignment import Links, Row
from blocks.inspection.two_texts import AttentionKind
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.text.bilingual import SPECIAL, SentenceTokenizer
from pages.ui import cached, labelled, link, tokens

MOST_ROWS, MOST_COLUMNS, MOST_LINES = 64, 64, 40
N_PAIRS, N_PARTS, N_ACROSS = 64, 4, 32


class Chosen(NamedTuple):
    """Which attention, layer and head is looked at; all of them exist in the run."""

    kind: AttentionKind
    layer: int
    head: int


class Pins(NamedTuple):
    """The pinned token of each text."""

    source: int
    target: int

    def reading(self, kind: AttentionKind) -> int:
        """The one of the text that reads."""
        return self.source if kind.is_of_source else self.target


class Cut(NamedTuple):
    """The part of both texts that is drawn, and where the pinned tokens are within it."""

    rows: slice
    columns: slice
    pinned: int | None
    pinned_column: int | None

    @property
    def first(self) -> tuple[int, int]:
        """The numbers of the first row and column in the texts."""
        return self.rows.start, self.columns.start


def chosen(run: Run) -> Chosen:
    """The reader's choice, where the model has it."""
    kind = AttentionKind(link.value("attention_of"))
    return chosen_of(run, kind)


def chosen_of(run: Run, kind: AttentionKind) -> Chosen:
    """The same layer and head in one of the three attentions."""
    layer = min(link.value("layer"), two_texts.n_layers(run.config, kind) - 1)
    return Chosen(kind, layer, labelled.selected_head(run))


def queries(run: Run, kind: AttentionKind) -> tuple[str, ...]:
    """The tokens that read."""
    return run.input.labels if kind.is_of_source else run.target_or_start.labels


def keys(run: Run, kind: AttentionKind) -> tuple[str, ...]:
    """The tokens that are read."""
    return run.input.labels if kind.reads_source else run.target_or_start.labels


def pins(run: Run) -> Pins:
    """The token of each text that is outlined everywhere."""
    return Pins(labelled.pinned_token(run), labelled.pinned_target(run))


def _allowed(run: Run, kind: AttentionKind):
    sizes = len(queries(run, kind)), len(keys(run, kind))
    return two_texts.allowed(run.build_mask(), kind, *sizes)


@lru_cache(maxsize=32)
def weights(run: Run, which: Chosen) -> NDArray[np.float32]:
    """One head, NaN where masked: (query, key)."""
    found = two_texts.pattern(cached.recording(run), which.kind, which.layer)[which.head]
    return two_texts.weights(found, _allowed(run, which.kind))


def followed_text(kind: AttentionKind) -> str:
    """Which end of the lines belongs to the token that is followed: query, or key."""
    is_key = kind is AttentionKind.CROSS and link.value("pinned_in") == "source"
    return "key" if is_key else "query"


def followed(
    run: Run, kind: AttentionKind, layer: int, head: int, text: str, pinned: Pins
) -> NDArray[np.float32]:
    """What a pinned token reads in one of the attentions, or who reads it: a weight a token.

    A target token reads (decoder, cross); a source token is read (cross, encoder).
    """
    layer = min(layer, two_texts.n_layers(run.config, kind) - 1)
    found = weights(run, Chosen(kind, layer, head))
    return found[pinned.target] if text == "target" else found[:, pinned.source]


@lru_cache(maxsize=16)
def all_heads(run: Run, kind: AttentionKind) -> pd.DataFrame:
    """One row a head of all layers: from how many tokens those that are no padding read."""
    found = two_texts.patterns(cached.recording(run), kind, run.config)
    is_open = _allowed(run, kind)
    if kind.is_of_source:
        rows = run.input.is_token()[0]
        found, is_open = [each[:, rows.to(each.device)] for each in found], is_open[rows]
    return two_texts.frame(found, is_open)


@lru_cache(maxsize=12)
def head_tiles(run: Run, kind: AttentionKind) -> NDArray[np.uint8]:
    """All heads of all layers, one byte a cell."""
    found = two_texts.patterns(cached.recording(run), kind, run.config)
    return two_texts.tiled(found, _allowed(run, kind))


def row_sums(run: Run, which: Chosen) -> NDArray[np.float32]:
    """What each whole row adds up to: 1, or 0 where nothing may be seen."""
    return np.nansum(weights(run, which), axis=1)


def cut(run: Run, kind: AttentionKind, pinned: Pins, most: int = MOST_ROWS) -> Cut:
    """All that is drawn of one head: of long texts the part around the pinned tokens."""
    row = pinned.reading(kind)
    column = pinned.source if kind is AttentionKind.CROSS else row
    rows = part(len(queries(run, kind)), row, most)
    columns = part(len(keys(run, kind)), column, most)
    is_cross = kind is AttentionKind.CROSS
    return Cut(rows, columns, row - rows.start, column - columns.start if is_cross else None)


def part(n: int, around: int, most: int) -> slice:
    """At most so many of `n` tokens, around one of them."""
    first = max(0, min(around - most // 2, n - most))
    return slice(first, min(n, first + most))


Words = tuple[str | None, ...]


def words(text: Input) -> Words:
    """The words of a text as the grammar has them, None for what is special."""
    reader = tokens.tokenizer_of(text.vocabulary)
    is_word = text.is_token()[0].tolist()
    if not isinstance(reader, SentenceTokenizer):
        return tuple(
            label if each else None for label, each in zip(text.labels, is_word, strict=True)
        )
    return tuple(
        reader.vocabulary[token_id] if token_id >= len(SPECIAL) else None
        for token_id in text.padded_ids
    )


def source_words(run: Run) -> Words:
    """Those of the source."""
    return words(run.input)


def target_words(run: Run) -> Words:
    """Those of the target; the start is none."""
    return (None, *words(run.target_or_start)[1:])


def knows_grammar(run: Run) -> bool:
    """Whether the tokens are the words of the grammar, all of them, so that it can be asked."""
    reader = tokens.tokenizer_of(run.input.vocabulary)
    return isinstance(reader, SentenceTokenizer) and reader.vocab_size <= run.config.vocab_size


def truth(run: Run) -> str:
    """Whether the true alignment is known, and if not, why."""
    if not knows_grammar(run):
        return "no_grammar"
    if true_links(run) is not None:
        return "known"
    is_said = alignment.true_links(source_words(run), (None,)) is not None
    return "other_target" if is_said else "not_said"


@lru_cache(maxsize=64)
def true_links(run: Run) -> Links | None:
    """The grammar's links of this pair; None where it does not know them."""
    if not knows_grammar(run):
        return None
    return alignment.true_links(source_words(run), target_words(run))


@lru_cache(maxsize=16)
def strongest(run: Run) -> list[list[list[int]]]:
    """The most-read source token of each row, by layer and head; the last head is the mean."""
    found = two_texts.patterns(cached.recording(run), AttentionKind.CROSS, run.config)
    return alignment.strongest(found)


@lru_cache(maxsize=64)
def found_links(run: Run, layer: int, head: int, row: str) -> Links:
    """What a head links, or (head −1) the mean of the layer."""
    one = strongest(run)[layer][head]
    return alignment.hard_links(one, source_words(run), target_words(run), Row(row))


def source_language(run: Run) -> Language:
    """The language that is read."""
    return alignment.language_of([word for word in source_words(run) if word is not None])


def model_alone(run: Run) -> Run:
    """The model of a run without its texts, and with nothing changed inside."""
    nothing = {"target": None, "interventions": (), "other": None, "training": False}
    nowhere = Input(vocabulary=run.input.vocabulary)
    return replace(run, input=nowhere, mask=MaskConfig(), **nothing)


def held_out_steps(run: Run):
    """Measures all heads on held-out sentences of the direction of this run, a part a step."""
    what = model_alone(run), source_language(run)
    return [partial(_held_out_part, *what, part) for part in range(N_PARTS)]


@lru_cache(maxsize=32)
def _held_out_part(alone: Run, language: Language, part: int) -> pd.DataFrame:
    each = N_PAIRS // N_PARTS
    pairs = _pairs()[part * each : (part + 1) * each]
    reader = tokens.tokenizer_of(alone.input.vocabulary)
    if not isinstance(reader, SentenceTokenizer):
        raise ValueError("no model of the sentences that are held out")
    model = cached.model(alone)
    with cached.turn(alone.device):
        return alignment.over_pairs(model, pairs, language, reader, alone.device)


@lru_cache(maxsize=16)
def across_languages(alone: Run) -> encoder_output.Across:
    """Whether words that stand for each other meet in the encoder of this model."""
    reader = tokens.tokenizer_of(alone.input.vocabulary)
    assert isinstance(reader, SentenceTokenizer)
    model, pairs = cached.model(alone), _pairs()[:N_ACROSS]
    with cached.turn(alone.device):
        return encoder_output.across_languages(
            model, alone.config.n_layers, pairs, reader, alone.device
        )


@lru_cache(maxsize=1)
def _pairs():
    """Sentences that no one learned from, always the same."""
    return held_out_pairs(N_PAIRS)


@lru_cache(maxsize=32)
def _held_out(alone: Run, language: Language, n_parts: int) -> pd.DataFrame:
    """The error rate of each head over the first parts, one column a row of attention."""
    found = pd.concat([_held_out_part(alone, language, part) for part in range(n_parts)])
    table = alignment.summed(found).pivot(index=["layer", "head"], columns="row", values="error")
    return table.rename(columns={str(Row.WRITES): "held_out", str(Row.READS): "held_out_reads"})


@lru_cache(maxsize=32)
def aligned_heads(run: Run, n_parts: int) -> pd.DataFrame:
    """Every head of cross-attention against the truth, a row each.

    Columns: layer, head; where the truth of this sentence is known the fields of `Score`, and
    error_reads, the error of the row one later; where `n_parts` of the held-out sentences are
    measured held_out and held_out_reads, the error over all of them.
    """
    heads = range(run.config.n_heads)
    layers = range(run.config.n_decoder_layers)
    places = [(layer, head) for layer in layers for head in (*heads, alignment.MEAN)]
    table = pd.DataFrame(places, columns=["layer", "head"])
    if true_links(run) is not None:
        table = table.merge(_on_this_sentence(run), on=["layer", "head"])
    if n_parts:
        found = _held_out(model_alone(run), source_language(run), n_parts)
        table = table.merge(found, left_on=["layer", "head"], right_index=True)
    return table


def _on_this_sentence(run: Run) -> pd.DataFrame:
    true = true_links(run) or frozenset()
    found = two_texts.patterns(cached.recording(run), AttentionKind.CROSS, run.config)
    table = alignment.all_heads(found, source_words(run), target_words(run), true)
    one = table[table["row"] == Row.WRITES].reset_index(drop=True)
    other = table[table["row"] == Row.READS].reset_index(drop=True)
    return one.drop(columns="row").assign(error_reads=other["error"])


def least_error(run: Run) -> float:
    """The lowest error that one link for each word can reach."""
    true = true_links(run) or frozenset()
    seen = run.input.is_token()[0].tolist()  # padding is masked, so no word is linked to it
    is_special = [word is None for word in source_words(run)]
    may_be_silent = any(a and b for a, b in zip(seen, is_special, strict=True))
    return alignment.least_error(true, target_words(run), may_be_silent=may_be_silent)


@lru_cache(maxsize=32)
def cross_weights(run: Run, layer: int, head: int) -> NDArray[np.float32]:
    """Cross-attention of a head, or (head −1) of the mean of the layer, NaN where masked."""
    found = two_texts.pattern(cached.recording(run), AttentionKind.CROSS, layer).float()
    one = found.mean(dim=0) if head == alignment.MEAN else found[head]
    return two_texts.weights(one, _allowed(run, AttentionKind.CROSS))


@lru_cache(maxsize=4)
def _stream(run: Run):
    return encoder_output.stream(cached.recording(run), run.config.n_layers)


@lru_cache(maxsize=16)
def source_tokens(run: Run) -> pd.DataFrame:
    """One row a source token: what is handed over, and what it was before the first layer."""
    return encoder_output.tokens(_stream(run)).assign(token=run.input.labels)


@lru_cache(maxsize=16)
def source_cosines(run: Run, step: int) -> NDArray[np.float32]:
    """How alike source tokens are: before the first layer (0), or as they are handed over (−1)."""
    return encoder_output.cosines(_stream(run)[step]).cpu().numpy()


@lru_cache(maxsize=16)
def mean_changes(run: Run) -> NDArray[np.float32]:
    """How much each of these steps changes a source token on average, padding left out."""
    return source_changes(run)[:, is_source(run)].mean(axis=1)


def is_source(run: Run) -> NDArray[np.bool_]:
    """Which source tokens are no padding."""
    return run.input.is_token()[0].numpy()


@lru_cache(maxsize=16)
def moved_by_padding(run: Run) -> float:
    """By how much padding moves a probability of a next token, or what the target reads, at most.

    Of two runs with nothing changed inside.
    """
    padded = run.untouched
    alone = replace(padded, input=replace(padded.input, n_padding=0))
    chances = [cached.recording(each).output[0].float().softmax(dim=-1) for each in (padded, alone)]
    reads = [
        two_texts.patterns(cached.recording(each), AttentionKind.CROSS, each.config)
        for each in (padded, alone)
    ]
    rows = padded.input.is_token()[0].to(chances[0].device)
    pairs = [chances, *((a[..., rows], b) for a, b in zip(*reads, strict=True))]
    return max(float((a - b).abs().max()) for a, b in pairs)


@lru_cache(maxsize=16)
def mean_cosine(run: Run, step: int) -> float:
    """Of all pairs of different tokens that are no padding."""
    is_token = run.input.is_token()[0].to(run.device)
    return encoder_output.mean_cosine(encoder_output.cosines(_stream(run)[step][is_token]))


@lru_cache(maxsize=16)
def source_changes(run: Run) -> NDArray[np.float32]:
    """How much each layer, and the final norm where there is one, changes each source token."""
    found = encoder_output.changes(_stream(run)).cpu().numpy()
    has_final = bool(found[-1].any())
    return found if has_final else found[:-1]

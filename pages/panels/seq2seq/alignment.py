"""Which source word each target word stands for: the model's links against the grammar's."""

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks.corpora.stories import Language
from blocks.inspection import alignment as measures
from blocks.inspection import two_texts
from blocks.inspection.alignment import MEAN, Links, Row, score
from blocks.inspection.two_texts import AttentionKind
from blocks.model.faults import N_
from blocks.observe.run import Input, Run
from blocks.text.bilingual import SPECIAL, SentenceTokenizer
from pages.figures import head_table
from pages.figures import two_texts as pictures
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.figures.token_matrix import Names
from pages.panels.attention.shared import head_called
from pages.panels.seq2seq import shared
from pages.panels.seq2seq.attention import note_on_cross_attention
from pages.panels.seq2seq.shared import Pins
from pages.ui import cached, labelled, link, tokens
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language, enumeration, literal
from pages.ui.link_fields.seq2seq import ALIGNED
from pages.ui.steps import in_steps

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


def truth(run: Run) -> str:
    """Whether the true alignment is known, and if not, why."""
    if not shared.knows_grammar(run):
        return "no_grammar"
    if true_links(run) is not None:
        return "known"
    is_said = measures.true_links(source_words(run), (None,)) is not None
    return "other_target" if is_said else "not_said"


@lru_cache(maxsize=64)
def true_links(run: Run) -> Links | None:
    """The grammar's links of this pair; None where it does not know them."""
    if not shared.knows_grammar(run):
        return None
    return measures.true_links(source_words(run), target_words(run))


@lru_cache(maxsize=16)
def strongest(run: Run) -> list[list[list[int]]]:
    """The most-read source token of each row, by layer and head; the last head is the mean."""
    found = two_texts.patterns(cached.recording(run), AttentionKind.CROSS, run.config)
    return measures.strongest(found)


@lru_cache(maxsize=64)
def found_links(run: Run, layer: int, head: int, row: str) -> Links:
    """What a head links, or (head −1) the mean of the layer."""
    one = strongest(run)[layer][head]
    return measures.hard_links(one, source_words(run), target_words(run), Row(row))


def source_language(run: Run) -> Language:
    """The language that is read."""
    return measures.language_of([word for word in source_words(run) if word is not None])


def held_out_steps(run: Run) -> list[Callable[[], pd.DataFrame]]:
    """Measures all heads on held-out sentences of the direction of this run, a part a step."""
    what = shared.model_alone(run), source_language(run)
    return [partial(_held_out_part, *what, part) for part in range(shared.N_PARTS)]


@lru_cache(maxsize=32)
def _held_out_part(alone: Run, language: Language, part: int) -> pd.DataFrame:
    each = shared.N_PAIRS // shared.N_PARTS
    pairs = shared._pairs()[part * each : (part + 1) * each]
    reader = tokens.tokenizer_of(alone.input.vocabulary)
    if not isinstance(reader, SentenceTokenizer):
        raise ValueError("no model of the sentences that are held out")
    model = cached.model(alone)
    with cached.turn(alone.device):
        return measures.over_pairs(model, pairs, language, reader, alone.device)


@lru_cache(maxsize=32)
def _held_out_score(alone: Run, language: Language, n_parts: int) -> pd.DataFrame:
    """The error rate of each head over the first parts, one column a row of attention."""
    found = pd.concat([_held_out_part(alone, language, part) for part in range(n_parts)])
    table = measures.summed(found).pivot(index=["layer", "head"], columns="row", values="error")
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
    places = [(layer, head) for layer in layers for head in (*heads, measures.MEAN)]
    table = pd.DataFrame(places, columns=["layer", "head"])
    if true_links(run) is not None:
        table = table.merge(_on_this_sentence(run), on=["layer", "head"])
    if n_parts:
        found = _held_out_score(shared.model_alone(run), source_language(run), n_parts)
        table = table.merge(found, left_on=["layer", "head"], right_index=True)
    return table


def _on_this_sentence(run: Run) -> pd.DataFrame:
    true = true_links(run) or frozenset()
    found = two_texts.patterns(cached.recording(run), AttentionKind.CROSS, run.config)
    table = measures.all_heads(found, source_words(run), target_words(run), true)
    one = table[table["row"] == Row.WRITES].reset_index(drop=True)
    other = table[table["row"] == Row.READS].reset_index(drop=True)
    return one.drop(columns="row").assign(error_reads=other["error"])


def least_error(run: Run) -> float:
    """The lowest error that one link for each word can reach."""
    true = true_links(run) or frozenset()
    seen = run.input.is_token()[0].tolist()  # padding is masked, so no word is linked to it
    is_special = [word is None for word in source_words(run)]
    may_be_silent = any(a and b for a, b in zip(seen, is_special, strict=True))
    return measures.least_error(true, target_words(run), may_be_silent=may_be_silent)


@lru_cache(maxsize=32)
def cross_weights(run: Run, layer: int, head: int) -> NDArray[np.float32]:
    """Cross-attention of a head, or (head −1) of the mean of the layer, NaN where masked."""
    found = two_texts.pattern(cached.recording(run), AttentionKind.CROSS, layer).float()
    one = found.mean(dim=0) if head == measures.MEAN else found[head]
    return two_texts.weights(one, shared._allowed(run, AttentionKind.CROSS))


ALIGNED_LABELS = {
    "best_head": N_("best head"),
    "one_head": N_("the chosen head"),
    "layer_mean": N_("mean of the layer"),
}


ROW_LABELS = {"writes": N_("predicts the word"), "reads": N_("has read the word")}


SORT_LABELS = {
    "held_out": N_("error rate on validation sentences"),
    "held_out_reads": N_("error rate on validation sentences, one row later"),
    "error": N_("error rate on this sentence"),
    "error_reads": N_("error rate on this sentence, one row later"),
    "precision": N_("precision on this sentence"),
    "recall": N_("recall on this sentence"),
    "layer": N_("layer"),
}


def aligned_head(has_best: bool) -> str:
    """Whose attention is aligned by; which head is best only the truth can say."""
    options = ALIGNED if has_best else ALIGNED[1:]
    chosen = link.value("aligned_head")
    shown = chosen if chosen in options else options[-1]
    shared._choose("aligned_head", _("Links from"), options, ALIGNED_LABELS, shown)
    return shown


def aligned_row() -> str:
    """Which row of the attention speaks for a target word."""
    shared._choose("aligned_row", _("Query row"), ROW_LABELS, ROW_LABELS)
    return link.value("aligned_row")


def sort_choice(options: tuple[str, ...]) -> str:
    """The order of the heads: the reader's where there is such a measure."""
    chosen = link.value("sort_aligned_by")
    shown = chosen if chosen in options else options[0]
    with st.container(key="sort_aligned_by"):
        st.selectbox(
            _("Sort heads by"),
            options,
            format_func=lambda name: _(SORT_LABELS[name]),
            **link.view("sort_aligned_by", shown, (options, current_language())),
        )
    return shown


def open_aligned(customdata: list[Any]) -> None:
    """A head of the table was clicked: [layer, head]; head −1 is the mean of its layer."""
    layer, head = int(customdata[0]), int(customdata[1])
    link.change("aligned_head", "layer_mean" if head < 0 else "one_head")
    shared.open_head(str(AttentionKind.CROSS), layer, max(head, 0))


def pin_aligned(customdata: list[Any]) -> None:
    """A cell of the alignment was clicked: its target word and source token are pinned."""
    shared._pin_cell(AttentionKind.CROSS, customdata)


MOST_HEADS = 20

IS_BETTER_BELOW = {
    "held_out": True,
    "held_out_reads": True,
    "error": True,
    "error_reads": True,
    "precision": False,
    "recall": False,
}

COLUMNS = {
    "held_out": N_("error, validation"),
    "held_out_reads": N_("validation, row later"),
    "error": N_("error, here"),
    "error_reads": N_("here, row later"),
    "precision": N_("precision, here"),
    "recall": N_("recall, here"),
}

BEST_BY = {Row.WRITES: ("held_out", "error"), Row.READS: ("held_out_reads", "error_reads")}


def measures_frame(run: Run, n_parts: int) -> list[str]:
    """What is known of the heads: over held-out sentences, and on this one."""
    return [name for name in COLUMNS if name in aligned_heads(run, n_parts)]


def best_by(run: Run, row: Row, n_parts: int) -> str | None:
    """The measure by which a head is best: held-out sentences before this one."""
    known = measures_frame(run, n_parts)
    return next((name for name in BEST_BY[row] if name in known), None)


def best(run: Run, row: Row, n_parts: int) -> pd.Series:
    """The head that aligns best with this row; the first of those that are alike."""
    table = aligned_heads(run, n_parts)
    return table.iloc[table[best_by(run, row, n_parts)].argmin()]


def looked_at(run: Run, shown: str, row: str, n_parts: int) -> tuple[int, int]:
    """Layer and head (−1: their mean) whose links are drawn."""
    if shown == "best_head":
        found = best(run, Row(row), n_parts)
        return int(found["layer"]), int(found["head"])
    layer = min(link.value("layer"), run.config.n_decoder_layers - 1)
    return layer, MEAN if shown == "layer_mean" else labelled.selected_head(run)


def picture(run: Run, layer: int, head: int, row: str, pins: Pins) -> dict[str, Any]:
    """Weights, names, links and pins of the part of both texts that is drawn."""
    n_words = len(run.target_or_start.labels) - 1
    rows = shared.part(n_words, pins.target - 1, shared.MOST_ROWS)
    columns = shared.part(len(run.input.labels), pins.source, shared.MOST_COLUMNS)
    places = slice(rows.start + 1, rows.stop + 1)
    spoken = slice(Row(row).of(places.start), Row(row).of(places.stop))
    first = places.start, columns.start
    true = true_links(run)
    pinned = pins.target - places.start
    return {
        "weights": cross_weights(run, layer, head)[spoken, columns],
        "rows": run.target_or_start.labels[places],
        "columns": run.input.labels[columns],
        "found": _cells(found_links(run, layer, head, row), places, columns),
        "true": None if true is None else _cells(true, places, columns),
        "pinned": pinned if pinned >= 0 else None,
        "first": first,
    }


def _cells(
    links: Iterable[tuple[int, int]], places: slice, columns: slice
) -> list[tuple[int, int]]:
    """Links as (row, column) of the picture, as far as they are drawn."""
    return [
        (place - places.start, key - columns.start)
        for key, place in sorted(links)
        if places.start <= place < places.stop and columns.start <= key < columns.stop
    ]


def sort_options(run: Run, n_parts: int) -> tuple[str, ...]:
    """The orders that can be asked for."""
    return (*measures_frame(run, n_parts), "layer")


def head_rows(run: Run, sort_by: str, selected: tuple[int, int], n_parts: int) -> dict[str, Any]:
    """The heads in this order, for `pages.figures.head_table`; strong colours are good."""
    table, names = aligned_heads(run, n_parts), measures_frame(run, n_parts)
    if sort_by != "layer":
        table = table.sort_values(sort_by, ascending=IS_BETTER_BELOW[sort_by], kind="stable")
    table = table.head(MOST_HEADS)
    numbers = table[names].to_numpy(float)
    returns = [(int(row.layer), int(row.head)) for row in each_row(table)]
    is_error = [IS_BETTER_BELOW[name] for name in names]
    return {
        "numbers": numbers,
        "shares": np.where(is_error, 1 - numbers, numbers),
        "heads": [_short(layer, head) for layer, head in returns],
        "columns": [_(COLUMNS[name]) for name in names],
        "returns": returns,
        "selected": returns.index(selected) if selected in returns else None,
    }


def _short(layer: int, head: int) -> str:
    return f"{from_one(layer)}·{_head_or_mean(head)}"


def _head_or_mean(head: int) -> str:
    return _("mean") if head == MEAN else str(from_one(head))


def table(run: Run, n_parts: int) -> None:
    """Every head of cross-attention: a click on a column sorts it."""
    found = aligned_heads(run, n_parts)
    shown = pd.DataFrame(
        {
            _("layer"): found["layer"].map(from_one),
            _("head"): found["head"].map(_head_or_mean),
            **{_(COLUMNS[name]): found[name] for name in measures_frame(run, n_parts)},
        }
    )
    st.dataframe(shown.round(3), hide_index=True, key="alignment_table", height=250)


UNKNOWN = {
    "no_grammar": N_(
        "No reference alignment: these tokens are not words of the translation grammar."
    ),
    "not_said": N_("No reference alignment: the grammar cannot produce this source."),
    "other_target": N_(
        "No reference alignment: this target is not the grammar's translation of the source."
    ),
}


def sentence(run: Run, layer: int, head: int, row: str, n_parts: int) -> str:
    """How well the links agree with the truth; or, where it is not known, what they are."""
    why = truth(run)
    is_known = why == "known"
    said = (
        [_agreement(run, layer, head, row), _bound(run)]
        if is_known
        else [_(UNKNOWN[why]), _own_links(run, layer, head, row)]
    )
    return " ".join(filter(None, (*said, _held_out(run, n_parts), _random(run))))


def _agreement(run: Run, layer: int, head: int, row: str) -> str:
    true = true_links(run) or frozenset()
    found = score(found_links(run, layer, head, row), true)
    text = _(
        "Cross-attention of {head} finds {right} of {true} true links with {found} "
        "links: alignment error rate {error:.2f}, precision {precision:.0%}, recall "
        "{recall:.0%}."
    )
    return text.format(
        head=aligned_called(layer, head),
        right=found.n_right,
        true=found.n_true,
        found=found.n_found,
        error=found.error,
        precision=found.precision,
        recall=found.recall,
    )


def _random(run: Run) -> str:
    if run.weights:
        return ""
    text = _("The weights are random (seed {seed}), so this is chance.")
    return text.format(seed=run.seed)


def _bound(run: Run) -> str:
    """Why 0 is not always within reach."""
    least = least_error(run)
    if least == 0:
        return _("With one link per target word it could reach 0.")
    text = _(
        "With one link per target word the error rate cannot go below {least:.2f} here: "
        "some words have several true links, some none."
    )
    return text.format(least=least)


def _held_out(run: Run, n_parts: int) -> str:
    """Which head aligns best over many sentences, and what the row one later would give."""
    if not n_parts:
        return ""
    one, other = (best(run, row, n_parts) for row in Row)
    text = _(
        "Over {n} validation sentences {head} aligns best (error rate {error:.2f}); by "
        "the query one row later it would be {other} ({other_error:.2f})."
    )
    return text.format(
        n=n_parts * shared.N_PAIRS // shared.N_PARTS,
        head=_row_called(one),
        error=one["held_out"],
        other=_row_called(other),
        other_error=other["held_out_reads"],
    )


def _row_called(row: pd.Series) -> str:
    return aligned_called(int(row["layer"]), int(row["head"]))


def aligned_called(layer: int, head: int) -> str:
    """A head, or the mean of a layer."""
    if head == MEAN:
        return _("layer {layer}, mean of heads").format(layer=from_one(layer))
    return head_called(layer, head)


def links_title(layer: int, head: int) -> str:
    """Whose links are drawn."""
    called = aligned_called(layer, head)
    return called[:1].upper() + called[1:]


def _own_links(run: Run, layer: int, head: int, row: str, most: int = 6) -> str:
    """The model's own links as pairs of words."""
    links = sorted(found_links(run, layer, head, row), key=lambda link: link[1])
    source, target = run.input.labels, run.target_or_start.labels
    pairs = [f"{literal(target[b])} ← {literal(source[a])}" for a, b in links[:most]]
    if not pairs:
        return _("{head} predicts no link.").format(head=links_title(layer, head))
    if len(links) > most:
        text = _("From the largest weights of {head}, among others: {pairs}.")
    else:
        text = _("From the largest weights of {head}: {pairs}.")
    return text.format(head=aligned_called(layer, head), pairs=enumeration(pairs))


def row_note(run: Run, row: str) -> str:
    """Which row of the attention is drawn for a word."""
    if row == Row.WRITES:
        said = _(
            "Each row is named after the word that it predicts: its query is the token "
            "before, since the decoder begins with a start token and predicts the next "
            "word at each."
        )
    else:
        said = _(
            "Each row is named after the word that is its query: the decoder has read "
            "it and predicts the next one. In large translation models words often "
            "align better this way (Chen et al. 2020)."
        )
    if truth(run) == "known":
        said += " " + _("A frame marks a true link, a dot the largest weight of its row.")
    return said


def alt(run: Run, layer: int, head: int, row: str, *_pins: object) -> str:
    """Write the alt text of the picture."""
    text = _("Target words down, source tokens across; query row: {row}. {sentence}")
    said = sentence(run, layer, head, row, 0)
    return text.format(row=_(ROW_LABELS[row]), sentence=said)


def table_alt(run: Run, _sort_by: str, _selected: object, n_parts: int) -> str:
    """Write the alt text of the table of heads."""
    text = _("One row per cross-attention head, one column per measure. {sentence}")
    return text.format(sentence=_held_out(run, n_parts)).strip()


def table_note(run: Run, n_shown: int, n_parts: int) -> str:
    """How to read the table."""
    said = _(
        "Validation: held-out sentences no model was trained on, each with its "
        "reference translation. Here: the current sentence. Darker is better; click to "
        "choose a head."
    )
    n = len(aligned_heads(run, n_parts))
    if n > n_shown:
        text = _("Shown: the first {n} of {all}; the table has all.")
        said += " " + text.format(n=n_shown, all=n)
    return said


@section
def alignment(run: Run) -> None:
    """Links read off cross-attention, held against the true ones where they are known."""
    code = (measures.hard_links, measures.score, measures.least_error)
    place = explained(("word_alignment", "cross_attention"), code, key="alignment")
    if not any(target_words(run)):
        place.info(_("Nothing has been generated, so there is nothing to align."))
        return
    n_parts = _held_out_parts(run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        row = aligned_row()
        has_best = best_by(run, measures.Row(row), n_parts) is not None
        shown = aligned_head(has_best)
    layer, head = looked_at(run, shown, row, n_parts)
    note_on_cross_attention(run)
    place.info(sentence(run, layer, head, row, n_parts), icon=":material/lightbulb:")
    if not has_best:
        _links(run, layer, head, row)
        return
    left, right = st.columns([6, 5])
    with left:
        _links(run, layer, head, row)
    with right:
        _heads(run, layer, head, n_parts)
    table(run, n_parts)


def _held_out_parts(run: Run) -> int:
    """How many parts of the held-out sentences are measured, where the grammar can be asked."""
    if not shared.knows_grammar(run):
        return 0
    what = shared.model_alone(run), source_language(run)
    return len(in_steps(held_out_steps(run), what=what, key="held_out_alignment").found)


def _links(run: Run, layer: int, head: int, row: str) -> None:
    show(
        draw_alignment,
        run,
        layer,
        head,
        row,
        shared.pins(run),
        key="alignment_map",
        alt=alt,
        on_click=pin_aligned,
    )
    note(row_note(run, row))


def _heads(run: Run, layer: int, head: int, n_parts: int) -> None:
    sort_by = sort_choice(sort_options(run, n_parts))
    show(
        draw_heads,
        run,
        sort_by,
        (layer, head),
        n_parts,
        key="aligned_heads",
        alt=table_alt,
        on_click=open_aligned,
    )
    note(table_note(run, MOST_HEADS, n_parts))


def draw_alignment(run: Run, layer: int, head: int, row: str, pins: Pins) -> Picture:
    """Cross-attention with links found and links that are true."""
    found = picture(run, layer, head, row, pins)
    legend = pictures.legend_of_links(_, is_known=found["true"] is not None)
    title = links_title(layer, head) + f" · {legend}"
    names = Names(
        title, _("target word"), _("source token"), found.pop("rows"), found.pop("columns")
    )
    return pictures.alignment_map(names=names, **found, _=_)


def draw_heads(run: Run, sort_by: str, selected: tuple[int, int], n_parts: int) -> Picture:
    """A row a head."""
    return head_table.measures(**head_rows(run, sort_by, selected, n_parts), _=_)

"""Which source word each target word stands for: the model's links against the grammar's."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.corpora.stories import Language
from blocks.inspection import aligned_heads
from blocks.inspection import alignment as measures
from blocks.inspection.aligned_heads import HeadsFacts, HeadsShown, LinksFacts, TextsFacts, Truth
from blocks.inspection.alignment import MEAN, Row
from blocks.inspection.three_attentions import Pins
from blocks.inspection.two_texts import AttentionKind
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.counting import from_one, told_apart
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.seq2seq import alignment_picture, inputs, shared
from pages.panels.seq2seq.alignment_picture import COLUMNS, MOST_HEADS, aligned_name, head_or_mean
from pages.panels.seq2seq.attention import note_on_cross_attention
from pages.server import cached
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.show.said import say
from pages.show.steps import in_steps
from pages.show.tables import show_table
from pages.stage import link, present, tokens
from pages.state import labelled
from pages.state.link_fields.seq2seq import ALIGNED
from pages.state.values import State
from pages.words.language import _, current_language, enumeration, fill, literal, sentences

MOST_PAIRS = 6
ALIGNED_LABELS = {
    "best_head": N_("best head"),
    "one_head": N_("chosen head"),
    "layer_mean": N_("layer mean"),
}
ROW_LABELS = {"writes": N_("predicts the word"), "reads": N_("has read the word")}
SORT_LABELS = {
    "held_out": N_("error rate on validation sentences"),
    "held_out_reads": N_("error rate on validation sentences (query from the next row)"),
    "error": N_("error rate on this sentence"),
    "error_reads": N_("error rate on this sentence (query from the next row)"),
    "precision": N_("precision (sentence)"),
    "recall": N_("recall (sentence)"),
    "layer": N_("layer"),
}
UNKNOWN = {
    Truth.NO_GRAMMAR: N_(
        "No reference alignment: these tokens are not words of the translation grammar."
    ),
    Truth.NOT_SAID: N_("No reference alignment: the grammar cannot produce this source."),
    Truth.OTHER_TARGET: N_(
        "No reference alignment: this target is not the grammar's translation of the source."
    ),
}


@lru_cache(maxsize=64)
def texts_facts(run: Run) -> TextsFacts:
    return aligned_heads.texts_facts(run, tokens.tokenizer_of(run.input.vocabulary))


@lru_cache(maxsize=64)
def links_facts(run: Run, layer: int, head: int, row: Row, pins: Pins) -> LinksFacts:
    shown = texts_facts(run), layer, head, row, pins
    return aligned_heads.links_facts(run, cached.recording(run), *shown)


@lru_cache(maxsize=32)
def heads_facts(run: Run, n_parts: int) -> HeadsFacts:
    """All heads, over the first parts of the validation sentences."""
    texts = texts_facts(run)
    held_out = [part() for part in _held_out_steps(run)[:n_parts]]
    n_pairs = n_parts * shared.N_PAIRS // shared.N_PARTS
    return aligned_heads.heads_facts(run, cached.recording(run), texts, held_out, n_pairs)


def heads_shown(run: Run, n_parts: int, sort_by: str, selected: tuple[int, int]) -> HeadsShown:
    return HeadsShown(heads_facts(run, n_parts), sort_by, selected)


def _held_out_steps(run: Run) -> list[Callable[[], pd.DataFrame]]:
    """Measures all heads on validation sentences of the direction of this run, a part a step."""
    if not shared.knows_grammar(run):
        return []
    what = shared.model_alone(run), _language(run)
    return [partial(_held_out_part, *what, part) for part in range(shared.N_PARTS)]


def _language(run: Run) -> Language:
    return measures.language_of([word for word in texts_facts(run).source if word is not None])


@lru_cache(maxsize=32)
def _held_out_part(alone: Run, language: Language, part: int) -> pd.DataFrame:
    each = shared.N_PAIRS // shared.N_PARTS
    pairs = shared.validation_pairs()[part * each : (part + 1) * each]
    reader = shared.sentence_tokenizer(alone.input.vocabulary)
    model = cached.model(alone)
    with cached.turn(alone.device):
        return measures.over_pairs(model, pairs, language, reader, alone.device)


def says_links(facts: LinksFacts) -> str:
    """How well the links agree with the truth; or, where it is not known, what they are."""
    said = (
        sentences(_(UNKNOWN[facts.truth]), _own_links(facts))
        if facts.score is None
        else sentences(_agreement(facts), _bound(facts))
    )
    text = _("The weights are random (seed {seed}), so these links are due to chance.")
    chance = "" if facts.seed is None else text.format(seed=facts.seed)
    return sentences(said, _pinned(facts), chance)


def _pinned(facts: LinksFacts) -> str:
    """Whether the link of the row that is outlined is a true one."""
    pinned = facts.pinned
    if pinned is None or pinned.found is None:
        return ""
    source, target = told_apart(facts.source), told_apart(facts.target)
    text = _("The outlined word {word} is linked to {found}.")
    others = [literal(source[place]) for place in pinned.true or () if place != pinned.found]
    if pinned.true is not None:
        text = _("The outlined word {word}, which has no true link, is linked to {found}.")
        if pinned.found in pinned.true:
            text = _("The outlined word {word} is linked to {found}; this link is correct.")
        elif others:
            text = _(
                "The outlined word {word} is linked to {found}, but should be linked to {others}."
            )
    return text.format(
        word=literal(target[pinned.target]),
        found=literal(source[pinned.found]),
        others=enumeration(others),
    )


def _agreement(facts: LinksFacts) -> str:
    text = _(
        "Cross-attention of {head} predicts {n_found} links and finds {n_right} of the {n_true} "
        "true ones: alignment error rate {error:.2f}, precision {precision:.0%}, recall "
        "{recall:.0%}."
    )
    found = facts.score
    assert found is not None
    return fill(text, found, head=aligned_name(facts.layer, facts.head, _))


def _bound(facts: LinksFacts) -> str:
    """Why 0 is not always within reach."""
    if facts.least_error == 0:
        return _("With one link per target word, the error rate could reach 0.")
    return _(
        "With one link per target word, the error rate cannot go below {least:.2f} here: not "
        "every word has exactly one true link."
    ).format(least=facts.least_error)


def _own_links(facts: LinksFacts) -> str:
    """The model's own links as pairs of words."""
    head = aligned_name(facts.layer, facts.head, _)
    if not facts.pairs:
        return _("{head} predicts no links.").format(head=head[:1].upper() + head[1:])
    text = (
        _("Links from the largest weights of {head} include {pairs}.")
        if len(facts.pairs) > MOST_PAIRS
        else _("Links from the largest weights of {head}: {pairs}.")
    )
    pairs = (f"{literal(to)} ← {literal(word)}" for to, word in facts.pairs[:MOST_PAIRS])
    return text.format(head=head, pairs=enumeration(pairs))


def says_heads(facts: HeadsFacts) -> str:
    """Which head aligns best over many sentences, and what the row one later would give."""
    if not facts.n_pairs:
        return ""
    one, other = facts.best(Row.WRITES), facts.best(Row.READS)
    text = _(
        "Over {n} validation sentences, {head} aligns best (error rate {error:.2f}); with the"
        " query taken from the next row, where the word itself is read, {other} would align "
        "best ({other_error:.2f})."
    )
    return text.format(
        n=facts.n_pairs,
        head=aligned_name(one.layer, one.head, _),
        error=one.error,
        other=aligned_name(other.layer, other.head, _),
        other_error=other.error,
    )


def says_row(facts: LinksFacts) -> str:
    """Which row of the attention is drawn for a word."""
    if facts.row is Row.WRITES:
        text = _(
            "Each row is labeled with the word it predicts; in “{question}”, it is labeled "
            "with the preceding word, which is its query. The decoder begins with a start "
            "token and predicts the next word at each token."
        )
    else:
        text = _(
            "Each row is labeled with the word that is its query, as in “{question}”: the "
            "decoder has read that word and predicts the next one. In large translation "
            "models, words often align better this way (Chen et al. 2020)."
        )
    said = text.format(question=_(shared.ATTENTIONS))
    if facts.true is not None:
        said = sentences(said, _("A frame marks a true link, a dot the largest weight of its row."))
    return said


def says_table(facts: HeadsFacts) -> str:
    """How to read the table."""
    said = _(
        "Validation sentences are held out, so no model was trained on them; each has its "
        "reference translation. Rates on this sentence are those of the current one. Darker "
        "is better; click to choose a head."
    )
    if len(facts.table) > MOST_HEADS:
        text = _("The first {n} of {all} rows are shown; the table lists all of them.")
        said = sentences(said, text.format(n=MOST_HEADS, all=len(facts.table)))
    return said


def heads_table(facts: HeadsFacts) -> None:
    """Every head of cross-attention: a click on a column sorts it."""
    table = facts.table
    shown = pd.DataFrame(
        {
            _("layer"): table["layer"].map(from_one),
            _("head"): [head_or_mean(head, _) for head in table["head"]],
            **{_(COLUMNS[name]): table[name] for name in facts.measures},
        }
    )
    show_table(shown.round(3), key="alignment_table", n_names=2, height=250)


@section
def alignment(run: Run, state: State) -> None:
    """Links read off cross-attention, held against the true ones where they are known."""
    code = (measures.hard_links, measures.score, measures.least_error)
    place = explained(("word_alignment", "cross_attention"), code, key="alignment")
    if not any(texts_facts(run).target):
        place.info(_("Nothing has been generated, so there is nothing to align."))
        return
    n_parts = _n_held_out(run)
    heads = heads_facts(run, n_parts)
    note_on_cross_attention(run)
    has_best = heads.best_by(Row(state.aligned_row)) is not None
    left, right = st.columns([6, 5]) if has_best else (st.container(), None)
    with present.aside() if present.is_on() else right or left:
        row, selected = _which_links(run, heads, state)
    shown = run, *selected, row, shared.pins(run, state)
    with place:
        say(says_links, *shown, facts=links_facts)
    with left:
        show(
            alignment_picture.links,
            *shown,
            facts=links_facts,
            key="alignment_map",
            on_click=partial(shared.pin_cell, AttentionKind.CROSS),
        )
        note(says_row(links_facts(*shown)))
    if right is None:
        return
    with right:
        with present.aside():
            sort_by = _order((*heads.measures, "layer"), state)
        show(
            alignment_picture.all_heads,
            *(run, n_parts, sort_by, selected),
            facts=heads_shown,
            key="aligned_heads",
            on_click=_open_aligned,
        )
        note(sentences(says_heads(heads), says_table(heads)))
    heads_table(heads)


def _n_held_out(run: Run) -> int:
    """How many parts of the validation sentences are measured, in sight of the reader."""
    if not (steps := _held_out_steps(run)):
        return 0
    what = shared.model_alone(run), _language(run)
    return len(in_steps(steps, what=what, key="held_out_alignment").found)


def _which_links(run: Run, heads: HeadsFacts, state: State) -> tuple[Row, tuple[int, int]]:
    """The row of attention that speaks for a word, and layer and head (−1: their mean).

    Which head is best only the truth can say.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shared.choose_one("aligned_row", _("Query row"), ROW_LABELS, ROW_LABELS)
        row = Row(state.aligned_row)
        options = ALIGNED if heads.best_by(row) else ALIGNED[1:]
        asked = state.aligned_head
        shown = asked if asked in options else options[-1]
        shared.choose_one("aligned_head", _("Links from"), options, ALIGNED_LABELS, shown)
    if shown == "best_head":
        return row, heads.best(row)[:2]
    layer = min(state.layer or 0, run.config.n_decoder_layers - 1)
    return row, (layer, MEAN if shown == "layer_mean" else labelled.selected_head(run, state))


def _order(options: tuple[str, ...], state: State) -> str:
    """The order of the heads: the reader's where there is such a measure."""
    asked = state.sort_aligned_by
    shown = asked if asked in options else options[0]
    with st.container(key="sort_aligned_by"):
        st.selectbox(
            _("Sort heads by"),
            options,
            format_func=lambda name: _(SORT_LABELS[name]),
            **link.view("sort_aligned_by", shown, (options, current_language())),
        )
    return shown


def _open_aligned(customdata: list[Any]) -> None:
    """A head of the table was clicked: [layer, head]; head −1 is the mean of its layer."""
    layer, head = int(customdata[0]), int(customdata[1])
    link.change("aligned_head", "layer_mean" if head == MEAN else "one_head")
    shared.open_head(AttentionKind.CROSS, layer, max(head, 0))


PANEL = Panel(
    "alignment",
    shared.ALIGNMENT,
    alignment,
    choices=inputs.two_tokens,
    fields=("n_decoder_layers", "n_heads"),
)

"""Three attentions of an encoder–decoder: all heads, one of them large, one token in both texts."""

from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.inspection import source, three_attentions, two_texts
from blocks.inspection.source import Source
from blocks.inspection.three_attentions import (
    N_DRAWN,
    Head,
    HeadFacts,
    KindFacts,
    Lines,
    PaddingFacts,
    Pins,
    TokenFacts,
)
from blocks.inspection.two_texts import AttentionKind
from blocks.model.attention import CrossAttention
from blocks.model.faults import N_
from blocks.observe.run import PaddingSide, Run
from pages.figures import bipartite
from pages.figures.counting import head_called
from pages.figures.numbers import readable
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.seq2seq import attention_picture, inputs, shared
from pages.server import cached
from pages.show.chart import columns, show
from pages.show.controls import slider
from pages.show.explain import explained, note
from pages.show.parts import Matrix
from pages.show.said import say
from pages.show.views import head_choice, one_of_layers
from pages.stage import link, present, progress
from pages.state.link_fields.seq2seq import TEXTS
from pages.state.values import State
from pages.words.language import _, bracketed, enumeration, literal, sentences
from pages.words.numbers import percent

MOST_EDGES, NO_MOVE = 16, 1e-4
KIND_LABELS = {
    "encoder": N_("encoder self-attention"),
    "decoder": N_("decoder self-attention"),
    "cross": N_("cross-attention"),
}
TEXT_LABELS = {"target": N_("target token"), "source": N_("source token")}
READS = {
    AttentionKind.ENCODER: N_("In {head} of the encoder, {token} attends to {read} in the source."),
    AttentionKind.DECODER: N_(
        "In {head} of the decoder, {token} attends to {read} in the target so far."
    ),
    AttentionKind.CROSS: N_("In {head} of the decoder, {token} attends to {read} in the source."),
}


@lru_cache(maxsize=16)
def all_heads(run: Run, kind: AttentionKind) -> pd.DataFrame:
    return three_attentions.all_heads(run, cached.recording(run), kind)


@lru_cache(maxsize=32)
def kind_facts(run: Run, kind: AttentionKind, which: Head, pins: Pins) -> KindFacts:
    seen = cached.recording(run)
    return three_attentions.kind_facts(run, seen, all_heads(run, kind), kind, which, pins)


@lru_cache(maxsize=32)
def head_facts(run: Run, which: Head, pins: Pins) -> HeadFacts:
    seen, heads = cached.recording(run), all_heads(run, which.kind)
    return three_attentions.head_facts(run, seen, heads, which, pins)


def line_facts(run: Run, which: Head, pins: Pins, n_edges: int, follows_key: bool) -> Lines:
    return Lines(head_facts(run, which, pins), n_edges, follows_key)


@lru_cache(maxsize=32)
def token_facts(run: Run, layer: int, head: int, text: str, pins: Pins) -> TokenFacts:
    return three_attentions.token_facts(run, cached.recording(run), layer, head, text, pins)


@lru_cache(maxsize=16)
def padding_facts(run: Run) -> PaddingFacts:
    """What padding changes."""
    alone = three_attentions.without_padding(run)
    both = cached.recording(run.untouched), cached.recording(alone)
    return three_attentions.padding_facts(run, *both)


def says_head(facts: HeadFacts) -> str:
    """Where the pinned token reads, and how sharp the heads of this attention are."""
    which, token = facts.which, literal(facts.queries[facts.query])
    head = head_called(which.layer, which.head, _)
    if facts.is_blind:
        text = _("In {head}, {token} cannot attend to any key: its row is all zeros.")
        said = text.format(head=head, token=token)
    else:
        read = most_read(facts.most_read)
        said = _(READS[which.kind]).format(head=head, token=token, read=read)
    if facts.written_next:
        text = _("The decoder writes “{token}” next.")
        said = sentences(said, text.format(token=literal(facts.written_next)))
    return sentences(said, says_sharpness(facts), says_weights(facts))


def most_read(found: Iterable[tuple[str, float]]) -> str:
    return enumeration(bracketed(literal(token), percent(weight)) for token, weight in found)


def says_sharpness(facts: HeadFacts) -> str:
    """From how many tokens the heads of this attention read."""
    text = _(
        "In {kind}, a query effectively attends to {least:.1f}–{most:.1f} tokens, "
        "depending on the head."
    )
    least, most = facts.effective_tokens
    return text.format(kind=_(KIND_LABELS[facts.which.kind]), least=least, most=most)


def says_weights(facts: HeadFacts) -> str:
    """That they are random, where they are: the head of the page says that they are trained."""
    if facts.seed is None:
        return ""
    text = _("The weights are random (seed {seed}), so the attention has no meaning yet.")
    return text.format(seed=facts.seed)


def says_padding(facts: PaddingFacts) -> str:
    """What padding changes, measured: nothing, where it moves no token to another place."""
    text = _(
        "The mask hides [PAD]. Compared with the same run without padding, next-token "
        "probabilities and cross-attention weights differ by no more than {most}. {verdict}"
    )
    if facts.most < NO_MOVE:
        verdict = _("So translation and attention are the same with and without padding.")
    elif facts.side is PaddingSide.LEFT:
        verdict = _("Padding is on the left, so every token has moved to a later position.")
    else:
        verdict = _(
            "The remaining difference comes from quantities computed over all tokens at "
            "once, padding included."
        )
    return text.format(most=readable(facts.most), verdict=verdict)


def says_map(facts: HeadFacts) -> str:
    return sentences(_rows(facts), _masked(facts), _pale(facts), _part(facts))


def _rows(facts: HeadFacts) -> str:
    match facts.which.kind:
        case AttentionKind.CROSS:
            return _(
                "Each row is a target token that the decoder has read and from which it "
                "predicts the next row's token. In “{question}”, rows are named after the "
                "predicted token."
            ).format(question=_(shared.ALIGNMENT))
        case AttentionKind.ENCODER:
            return _(
                "Every source token attends to all source tokens: earlier ones, later ones "
                "and itself."
            )
        case _ if facts.n_masked:
            return _("Each target token attends to itself and to the target tokens before it.")
        case _:
            return _("Nothing is masked here, so a target token also attends to later ones.")


def _masked(facts: HeadFacts) -> str:
    if not facts.n_masked:
        return ""
    text = _("Hatched cells are masked: {n} of {all}.")
    return text.format(n=facts.n_masked, all=facts.weights.size)


def _pale(facts: HeadFacts) -> str:
    """Why a map can be nearly blank."""
    if not facts.is_pale:
        return ""
    text = _("No weight exceeds {largest}: attention is spread so evenly that the map is pale.")
    return text.format(largest=percent(facts.largest))


def _part(facts: HeadFacts) -> str:
    """Which part of long texts is drawn."""
    part, sizes = facts.part(N_DRAWN), facts.weights.shape
    if part.is_all(*sizes):
        return ""
    text = _(
        "Queries {first} to {last} of {n} and keys {first_key} to {last_key} of {n_keys} "
        "are shown, around the pinned tokens."
    )
    return text.format(
        first=part.rows.start + 1,
        last=part.rows.stop,
        n=sizes[0],
        first_key=part.columns.start + 1,
        last_key=part.columns.stop,
        n_keys=sizes[1],
    )


def says_token(facts: TokenFacts) -> str:
    """What the followed token reads in both texts, or who reads it in both."""
    token = literal(facts.token)
    if facts.is_cut_off:
        text = (
            _("{token} cannot attend to the source.")
            if facts.is_of_target
            else _("{token} is masked: nothing attends to it.")
        )
        return text.format(token=token)
    text = (
        _("In the source, {token} attends most to {source}; in the target so far, to {target}.")
        if facts.is_of_target
        else _(
            "{token} receives the most attention from {target} in the target and from "
            "{source} in the source; together, the target tokens give it {total:.2f} of a "
            "total weight of {all}."
        )
    )
    return text.format(
        token=token,
        source=most_read(facts.most_in_source),
        target=most_read(facts.most_in_target),
        total=facts.total_of_target,
        all=len(facts.target),
    )


def of_a_head(run: Run, state: State) -> tuple[Run, Head, Pins]:
    """The head of the attention that is looked at, and the pinned tokens."""
    return (
        run,
        shared.chosen(run, AttentionKind(state.attention_of), state),
        shared.pins(run, state),
    )


@section
def who_reads_whom(run: Run, state: State) -> None:
    """Who reads whom: source and source, target and target, target and source."""
    _run, which, pins = of_a_head(run, state)
    code: tuple[Source, ...] = (CrossAttention, *source.heads_source(), two_texts.frame)
    concepts = ("cross_attention", "attention", "masks")
    with explained(concepts, code, key="three_attentions"):
        say(says_head, run, which, pins, facts=head_facts)
    note_on_cross_attention(run)
    if run.input.n_padding:
        st.info(says_padding(padding_facts(run)), icon=":material/visibility_off:")
    if progress.now():  # which speaks of one head, and asks in its map
        _one_head(run, which, pins, state)
    else:
        _all_heads(run, which, pins)
        with present.aside():
            _which_head(run, which)
    if present.is_on():  # a class has one screen
        return
    if progress.now():
        _all_heads(run, which, pins)
    else:
        _one_head(run, which, pins, state)
    shared.choose_one("pinned_in", _("Follow the pinned token"), TEXTS, TEXT_LABELS)
    shown = run, which.layer, which.head, state.pinned_in, pins
    st.markdown(says_token(token_facts(*shown)))
    show(attention_picture.strips, *shown, facts=token_facts, key="strips", on_click=_pin_in_strip)


def note_on_cross_attention(run: Run) -> None:
    """Where what is drawn is read in vain."""
    if three_attentions.reads_in_vain(run):
        said = _(
            "Cross-attention is switched off: its weights are still shown, but zeros replace "
            "its output, so nothing from the source reaches the target."
        )
        st.info(said, icon=":material/link_off:")


def _all_heads(run: Run, which: Head, pins: Pins) -> None:
    for kind, column in zip(AttentionKind, st.columns(3), strict=True):
        with column:
            show(
                attention_picture.tiles,
                *(run, kind, which, pins),
                facts=kind_facts,
                key=f"tiles_{kind}",
                on_click=partial(_open_tile, kind),
            )
    note(
        _(
            "All heads share one scale; gray cells are masked, and a tick marks the "
            "pinned token. Click a tile to open its head."
        )
    )


def _open_tile(kind: AttentionKind, customdata: list[Any]) -> None:
    """A tile was clicked: heads are counted through all layers."""
    shared.open_head(kind, *divmod(int(customdata[0]), link.config().n_heads))


def _which_head(run: Run, which: Head) -> None:
    """Which of the three, which layer, which head."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shared.choose_one("attention_of", _("Attention"), AttentionKind, KIND_LABELS)
        _sharpest(run, which)
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        n_layers = two_texts.n_layers(run.config, which.kind)
        if n_layers == 1:
            st.caption(_("Layer") + " 1")
        else:
            one_of_layers(range(n_layers), which.layer)
    with right:
        head_choice(run, which.head)


def _sharpest(run: Run, which: Head) -> None:
    """The way to the head of this attention that reads from the fewest tokens."""
    heads = all_heads(run, which.kind)
    there = three_attentions.sharpest(heads)
    text = _("Sharpest head: {head} (effectively {n:.1f} tokens)")
    st.button(
        text.format(head=head_called(*there, _), n=heads["effective_tokens"].min()),
        icon=":material/my_location:",
        on_click=shared.open_head,
        args=(which.kind, *there),
        key="sharpest_of_kind",
        disabled=there == which[1:],
    )


def _one_head(run: Run, which: Head, pins: Pins, state: State) -> None:
    left, right = columns(2)
    facts = head_facts(run, which, pins)
    with left:
        show(
            attention_picture.head_map,
            *(run, which, pins),
            facts=head_facts,
            key="two_text_map",
            on_click=partial(shared.pin_cell, which.kind),
        )
        note(says_map(facts))
    with right:
        most = min(MOST_EDGES, len(facts.keys))
        n_edges = min(state.edges, most)
        follows_key = which.kind is AttentionKind.CROSS and state.pinned_in == "source"
        show(
            attention_picture.lines,
            *(run, which, pins, n_edges, follows_key),
            facts=line_facts,
            key="two_text_lines",
            on_click=partial(_pin_end, which.kind),
        )
        text = _(
            "Lines show each query's largest weights (up to {n}) that are at least {least:.0%}."
        )
        note(text.format(n=n_edges, least=bipartite.LEAST))
        if most > 1:
            with present.aside():
                slider("edges", _("Lines per token"), n_edges, most=most)


def _pin_end(kind: AttentionKind, customdata: list[Any]) -> None:
    """A token at either end of the lines was clicked: [number, 1 if it is a key]."""
    is_source = kind.reads_source if customdata[1] else kind.is_of_source
    shared.pin("source" if is_source else "target", int(customdata[0]))


def _pin_in_strip(customdata: list[Any]) -> None:
    """A token of either text was clicked: [number, 1 if of the target]."""
    shared.pin("target" if customdata[1] else "source", int(customdata[0]))


PANEL = Panel(
    "attention",
    shared.ATTENTIONS,
    who_reads_whom,
    choices=inputs.two_tokens,
    fields=("n_layers", "n_decoder_layers", "n_heads", "n_kv_heads", "position_kind"),
    at=of_a_head,
    shows=(Matrix(attention_picture.head_map, "two_text_map", facts=head_facts),),
)

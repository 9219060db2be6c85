"""Three attentions of an encoder–decoder: all heads, one of them large, one token in both texts."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks.inspection import source, two_texts
from blocks.inspection.source import Source
from blocks.inspection.two_texts import AttentionKind
from blocks.model.attention import CrossAttention
from blocks.model.faults import N_
from blocks.observe.interventions import without_cross_attention
from blocks.observe.run import PaddingSide, Run
from pages.figures import bipartite, heads
from pages.figures import two_texts as pictures
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture
from pages.figures.token_matrix import Names
from pages.panels.attention import shared as attention_shared
from pages.panels.attention.shared import head_called
from pages.panels.seq2seq import shared
from pages.panels.seq2seq.shared import Chosen, Pins
from pages.ui import cached, link
from pages.ui.chart import columns, show
from pages.ui.controls import slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language, enumeration, literal
from pages.ui.link_fields.seq2seq import TEXTS
from pages.ui.numbers import percent, readable
from pages.ui.said import say
from pages.ui.views import head_choice, one_of_layers


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


def chosen(run: Run) -> shared.Chosen:
    """The reader's choice, where the model has it."""
    kind = AttentionKind(link.value("attention_of"))
    return shared.chosen_of(run, kind)


@lru_cache(maxsize=32)
def weights(run: Run, which: shared.Chosen) -> NDArray[np.float32]:
    """One head, NaN where masked: (query, key)."""
    found = two_texts.pattern(cached.recording(run), which.kind, which.layer)[which.head]
    return two_texts.weights(found, shared._allowed(run, which.kind))


def followed_text(kind: AttentionKind) -> str:
    """Which end of the lines belongs to the token that is followed: query, or key."""
    is_key = kind is AttentionKind.CROSS and link.value("pinned_in") == "source"
    return "key" if is_key else "query"


def followed(
    run: Run, kind: AttentionKind, layer: int, head: int, text: str, pinned: shared.Pins
) -> NDArray[np.float32]:
    """What a pinned token reads in one of the attentions, or who reads it: a weight a token.

    A target token reads (decoder, cross); a source token is read (cross, encoder).
    """
    layer = min(layer, two_texts.n_layers(run.config, kind) - 1)
    found = weights(run, shared.Chosen(kind, layer, head))
    return found[pinned.target] if text == "target" else found[:, pinned.source]


@lru_cache(maxsize=16)
def all_heads(run: Run, kind: AttentionKind) -> pd.DataFrame:
    """One row a head of all layers: from how many tokens those that are no padding read."""
    found = two_texts.patterns(cached.recording(run), kind, run.config)
    is_open = shared._allowed(run, kind)
    if kind.is_of_source:
        rows = run.input.is_token()[0]
        found, is_open = [each[:, rows.to(each.device)] for each in found], is_open[rows]
    return two_texts.frame(found, is_open)


@lru_cache(maxsize=12)
def head_tiles(run: Run, kind: AttentionKind) -> NDArray[np.uint8]:
    """All heads of all layers, one byte a cell."""
    found = two_texts.patterns(cached.recording(run), kind, run.config)
    return two_texts.tiled(found, shared._allowed(run, kind))


def row_sums(run: Run, which: shared.Chosen) -> NDArray[np.float32]:
    """What each whole row adds up to: 1, or 0 where nothing may be seen."""
    return np.nansum(weights(run, which), axis=1)


def measured_cut(
    run: Run, kind: AttentionKind, pinned: shared.Pins, most: int = shared.MOST_ROWS
) -> Cut:
    """All that is drawn of one head: of long texts the part around the pinned tokens."""
    row = pinned.reading(kind)
    column = pinned.source if kind is AttentionKind.CROSS else row
    rows = shared.part(len(shared.queries(run, kind)), row, most)
    columns = shared.part(len(shared.keys(run, kind)), column, most)
    is_cross = kind is AttentionKind.CROSS
    return Cut(rows, columns, row - rows.start, column - columns.start if is_cross else None)


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


KIND_LABELS = {
    "encoder": N_("encoder self-attention"),
    "decoder": N_("decoder self-attention"),
    "cross": N_("cross-attention"),
}


TEXT_LABELS = {"target": N_("target token"), "source": N_("source token")}


def which_attention(run: Run, which: shared.Chosen) -> None:
    """Which of the three, which layer, which head."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shared._choose("attention_of", _("Attention"), AttentionKind, KIND_LABELS)
        _sharpest(run, which)
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        _layer(run, which)
    with right, st.container(gap="xxsmall"):
        if run.config.n_heads > 1:
            st.caption(_("Head"))
        head_choice(run, which.head)


def _sharpest(run: Run, which: shared.Chosen) -> None:
    """The way to the head of this attention that reads from the fewest tokens."""
    table = all_heads(run, which.kind)
    found = table.iloc[table["entropy_bits"].argmin()]
    there = int(found["layer"]), int(found["head"])
    text = _("Sharpest head: {head} (effectively {n:.1f} tokens)")
    st.button(
        text.format(head=attention_shared.head_called(*there), n=found["effective_tokens"]),
        icon=":material/my_location:",
        on_click=shared.open_head,
        args=(str(which.kind), *there),
        key="sharpest_of_kind",
        disabled=there == (which.layer, which.head),
    )


def _layer(run: Run, which: shared.Chosen) -> None:
    """Layers of the half that has this attention, counted from 1 on the screen."""
    n_layers = two_texts.n_layers(run.config, which.kind)
    if n_layers == 1:
        st.caption(_("Layer") + " 1")
    else:
        one_of_layers(n_layers, which.layer)


def open_tile(kind: AttentionKind) -> Callable[[list[Any]], None]:
    """What a click on a tile of this attention does: heads are counted through all layers."""
    return partial(_open_tile, str(kind))


def _open_tile(kind: str, customdata: list[Any]) -> None:
    layer, head = divmod(int(customdata[0]), link.config().n_heads)
    shared.open_head(kind, layer, head)


def pin_cell(kind: AttentionKind) -> Callable[[list[Any]], None]:
    """What a click on a cell does: its query is pinned, and of two texts its key too."""
    return partial(shared._pin_cell, kind)


def pin_end(kind: AttentionKind) -> Callable[[list[Any]], None]:
    """What a click on a token at either end of the lines does."""
    return partial(_pin_end, kind)


def _pin_end(kind: AttentionKind, customdata: list[Any]) -> None:
    is_key = bool(customdata[1])
    is_source = kind.reads_source if is_key else kind.is_of_source
    shared.pin("source" if is_source else "target", int(customdata[0]))


def pin_in_strip(customdata: list[Any]) -> None:
    """A token of either text was clicked: [number, 1 if of the target]."""
    shared.pin("target" if customdata[1] else "source", int(customdata[0]))


def followed_control() -> str:
    """Which pinned token is followed through both texts."""
    shared._choose("pinned_in", _("Follow the pinned token"), TEXTS, TEXT_LABELS)
    return link.value("pinned_in")


MOST_EDGES = 16


def n_edges_control(n_keys: int) -> int:
    """How many lines leave each token: the reader's number, as far as there are keys."""
    return min(link.value("edges"), n_keys, MOST_EDGES)


def edges_choice(n_keys: int) -> None:
    """The widget for it."""
    most = min(MOST_EDGES, n_keys)
    if most > 1:
        slider("edges", _("Lines from each token"), n_edges_control(n_keys), most=most)


MOST_IN_A_STRIP = 32

KIND_TITLES = {
    AttentionKind.ENCODER: N_("Encoder self-attention: source to source"),
    AttentionKind.DECODER: N_("Decoder self-attention: target to target"),
    AttentionKind.CROSS: N_("Cross-attention: target to source"),
}

READ = {"source": N_("Source: what it attends to"), "target": N_("Target: what it attends to")}

READERS = {"source": N_("Source: what attends to it"), "target": N_("Target: what attends to it")}


def kind_title(kind: AttentionKind) -> str:
    """What its tiles are called."""
    return _(KIND_TITLES[kind])


def labelled_tiles(run: Run, kind: AttentionKind) -> pd.DataFrame:
    """One row a tile: `head` counts through all layers; label, hover."""
    return _labelled_tiles(run, kind, current_language())


@lru_cache(maxsize=32)
def _labelled_tiles(run: Run, kind: AttentionKind, language: str) -> pd.DataFrame:
    table = all_heads(run, kind)
    text = _("{head}: entropy {entropy:.2f} bits, effectively {tokens:.1f} tokens")
    hovers = [
        text.format(
            head=head_called(int(row.layer), int(row.head)),
            entropy=row.entropy_bits,
            tokens=row.effective_tokens,
        )
        for row in each_row(table)
    ]
    labels = [f"{from_one(row.layer)}·<b>{from_one(row.head)}</b>" for row in each_row(table)]
    return table.assign(head=range(len(table)), label=labels, hover=hovers)


def tile(run: Run, which: Chosen) -> int:
    """Where a head stands among the tiles of its attention."""
    return which.layer * run.config.n_heads + which.head


def share(names: tuple[str, ...], token: int) -> float:
    """Where a token stands in its text, 0 (first) to 1."""
    return (token + 0.5) / len(names)


def pinned_key_share(run: Run, kind: AttentionKind, pins: Pins) -> float | None:
    """Where the pinned source token stands among the keys that the target reads."""
    return share(run.input.labels, pins.source) if kind is AttentionKind.CROSS else None


def strips(run: Run, layer: int, head: int, text: str, pins: Pins) -> tuple[Any, Any]:
    """The fields of two `pages.figures.two_texts.Strip`: the source's and the target's."""
    titles = READ if text == "target" else READERS
    own = AttentionKind.DECODER if text == "target" else AttentionKind.ENCODER
    in_source = AttentionKind.CROSS if text == "target" else own
    in_target = own if text == "target" else AttentionKind.CROSS
    made = []
    for name, kind, labels, token in (
        ("source", in_source, run.input.labels, pins.source),
        ("target", in_target, run.target_or_start.labels, pins.target),
    ):
        found = followed(run, kind, layer, head, text, pins)
        shown = shared.part(len(labels), token, MOST_IN_A_STRIP)
        is_here = name == text
        made.append(
            {
                "title": _(titles[name]),
                "tokens": labels[shown],
                "weights": found[shown],
                "pinned": token - shown.start if is_here else None,
                "first": shown.start,
            }
        )
    return made[0], made[1]


def strips_title(run: Run, layer: int, head: int, text: str, pins: Pins) -> str:
    """Which token is followed, and in which heads."""
    labels = run.input.labels if text == "source" else run.target_or_start.labels
    said = _("{token} in both texts · {head}")
    token = labels[pins.source if text == "source" else pins.target]
    return said.format(token=token, head=head_called(layer, head))


BLANK_BELOW, NO_MOVE = 0.1, 1e-4

READS = {
    AttentionKind.ENCODER: N_("In {head} of the encoder, {token} attends to {read} in the source."),
    AttentionKind.DECODER: N_(
        "In {head} of the decoder, {token} attends to {read} in the target so far."
    ),
    AttentionKind.CROSS: N_("In {head} of the decoder, {token} attends to {read} in the source."),
}

MAP_TITLES = {
    AttentionKind.ENCODER: N_("Source to source"),
    AttentionKind.DECODER: N_("Target to target so far"),
    AttentionKind.CROSS: N_("Target to source"),
}


def switched_off(run: Run) -> str:
    """That what cross-attention reads reaches nobody, where all of it is switched off."""
    is_off = run.interventions and set(without_cross_attention(run.config)) <= {*run.interventions}
    if not is_off:
        return ""
    return _(
        "Cross-attention is switched off: its weights are still drawn, but zeros "
        "replace its output, so nothing of the source reaches the target."
    )


def padding_note(run: Run) -> str:
    """What padding changes, measured: nothing, where it moves no token to another place."""
    if not run.input.n_padding:
        return ""
    text = _(
        "The mask hides [PAD]. Compared with the same run without padding, next-token "
        "probabilities and cross-attention weights change by no more than {most}. "
        "{verdict}"
    )
    most = moved_by_padding(run)
    return text.format(most=readable(most), verdict=_padding_verdict(run, most))


def _padding_verdict(run: Run, most: float) -> str:
    if most < NO_MOVE:
        return _("So translation and attention are the same with and without padding.")
    if run.input.padding_side is PaddingSide.LEFT:
        return _("Padding is on the left, so every token has moved to a later position.")
    return _("What still changes is computed over all tokens at once, padding included.")


def reads_sentence(run: Run, which: Chosen, pins: Pins) -> str:
    """Where the pinned token reads, and how sharp the heads of this attention are."""
    query = pins.reading(which.kind)
    row = weights(run, which)[query]
    token = literal(shared.queries(run, which.kind)[query])
    head = head_called(which.layer, which.head)
    if np.isnan(row).all():
        text = _("In {head}, {token} cannot attend to any key: its row is all zeros.")
        said = text.format(head=head, token=token)
    else:
        read = most_read(row, shared.keys(run, which.kind))
        said = _(READS[which.kind]).format(head=head, token=token, read=read)
    parts = said, _written_next(run, which, pins), _sharpness(run, which.kind), whose_weights(run)
    return " ".join(filter(None, parts))


def _written_next(run: Run, which: Chosen, pins: Pins) -> str:
    """What this row of cross-attention was good for."""
    target = run.target_or_start.labels
    if which.kind is not AttentionKind.CROSS or pins.target + 1 >= len(target):
        return ""
    return _("The token it writes next is “{token}”.").format(
        token=literal(target[pins.target + 1])
    )


def most_read(row: np.ndarray, names: tuple[str, ...], most: int = 3) -> str:
    """The tokens with the largest weights, with their shares."""
    order = np.argsort(-np.nan_to_num(row), kind="stable")[:most]
    shown = [key for key in order if row[key] > 0.05] or order[:1]
    text = _("{token} ({share})")
    return enumeration(
        text.format(token=literal(names[key]), share=percent(float(row[key]))) for key in shown
    )


def _sharpness(run: Run, kind: AttentionKind) -> str:
    """From how many tokens its heads read."""
    table = all_heads(run, kind)
    text = _(
        "A query of {kind} effectively attends to {least:.1f} tokens (in {sharpest}) to {most:.1f}."
    )
    numbers = table["effective_tokens"]
    first = table.iloc[numbers.argmin()]
    return text.format(
        kind=_(KIND_LABELS[kind]),
        least=numbers.min(),
        most=numbers.max(),
        sharpest=head_called(int(first["layer"]), int(first["head"])),
    )


def whose_weights(run: Run) -> str:
    """Trained or random, said where it matters what is seen."""
    if run.weights:
        return _("The weights are trained.")
    text = _("The weights are random (seed {seed}): the attention has no meaning yet.")
    return text.format(seed=run.seed)


def map_note(run: Run, which: Chosen, cut: Cut) -> str:
    """How to read the map of this attention."""
    notes = [_what_a_row_is(run, which), _even_note(run, which), cut_note(run, which.kind, cut)]
    return " ".join(filter(None, notes))


def _even_note(run: Run, which: Chosen) -> str:
    """Why a map can be nearly blank."""
    largest = float(np.nan_to_num(weights(run, which)).max())
    if not 0 < largest < BLANK_BELOW:
        return ""
    text = _("No weight exceeds {largest}: they are so evenly spread that the map is pale.")
    return text.format(largest=percent(largest))


def _what_a_row_is(run: Run, which: Chosen) -> str:
    n_masked = int(np.isnan(weights(run, which)).sum())
    match which.kind:
        case AttentionKind.CROSS:
            said = _(
                "Each row is a target token that the decoder has read; its output there "
                "predicts the token of the next row."
            )
        case AttentionKind.ENCODER:
            said = _(
                "Every source token attends to all source tokens, earlier and later "
                "ones and itself."
            )
        case _ if n_masked:
            said = _("Each target token attends to itself and to the target tokens before it.")
        case _:
            said = _("Nothing is masked here, so a target token also attends to later ones.")
    if n_masked:
        said += " " + _("Hatched cells are masked: {n} of {all}.").format(
            n=n_masked, all=weights(run, which).size
        )
    return said


def cut_note(run: Run, kind: AttentionKind, cut: Cut) -> str:
    """Which part of long texts is drawn; nothing where all of it is."""
    n_rows, n_columns = len(shared.queries(run, kind)), len(shared.keys(run, kind))
    if (
        cut.rows.stop - cut.rows.start == n_rows
        and cut.columns.stop - cut.columns.start == n_columns
    ):
        return ""
    text = _(
        "Shown: queries {first} to {last} of {n} and keys {first_key} to {last_key} of "
        "{n_keys}, around the pinned tokens."
    )
    return text.format(
        first=cut.rows.start + 1,
        last=cut.rows.stop,
        n=n_rows,
        first_key=cut.columns.start + 1,
        last_key=cut.columns.stop,
        n_keys=n_columns,
    )


def map_title(which: Chosen) -> str:
    """What reads what, and in which head."""
    text = _("{what} · {head}")
    return text.format(what=_(MAP_TITLES[which.kind]), head=head_called(which.layer, which.head))


def map_alt(run: Run, which: Chosen, pins: Pins) -> str:
    """Write the alt text of the map."""
    text = _("Attention map, queries down, keys across: {title}. {sentence}")
    return text.format(title=map_title(which), sentence=reads_sentence(run, which, pins))


def lines_alt(run: Run, which: Chosen, pins: Pins, *_drawn: object) -> str:
    """Write the alt text of the lines."""
    text = _("Tokens left and right, a line from each token to those it attends to. {sentence}")
    return text.format(sentence=reads_sentence(run, which, pins))


def lines_note(n_edges: int, least: float) -> str:
    """Which lines are drawn."""
    text = _(
        "Shown: the {n} largest weights of each query, from {least:.0%} up. Orange: the "
        "pinned token."
    )
    return text.format(n=n_edges, least=least)


def tiles_alt(run: Run, kind: AttentionKind, *_marked: object) -> str:
    """Write the alt text of all heads of one attention."""
    text = _("All heads of {kind} on one scale, one row per layer: {n}. {sentence}")
    n = len(all_heads(run, kind))
    return text.format(kind=_(KIND_LABELS[kind]), n=n, sentence=_sharpness(run, kind))


def follow_sentence(run: Run, layer: int, head: int, text: str, pins: Pins) -> str:
    """What the followed token reads in both texts, or who reads it in both."""
    return (
        _followed_target(run, head, layer, pins)
        if text == "target"
        else _followed_source(run, head, layer, pins)
    )


def _followed_target(run: Run, head: int, layer: int, pins: Pins) -> str:
    cross, own = (
        followed(run, kind, layer, head, "target", pins)
        for kind in (AttentionKind.CROSS, AttentionKind.DECODER)
    )
    target = run.target_or_start.labels
    if np.isnan(cross).all():
        return _("{token} cannot attend to the source.").format(token=literal(target[pins.target]))
    text = _("{token} attends in the source to {source}, and in the target so far to {target}.")
    return text.format(
        token=literal(target[pins.target]),
        source=most_read(cross, run.input.labels),
        target=most_read(own, target),
    )


def _followed_source(run: Run, head: int, layer: int, pins: Pins) -> str:
    readers, own = (
        followed(run, kind, layer, head, "source", pins)
        for kind in (AttentionKind.CROSS, AttentionKind.ENCODER)
    )
    source = run.input.labels
    own = np.where(shared.is_source(run), own, np.nan)
    if np.isnan(readers).all():
        return _("{token} is masked: nothing attends to it.").format(
            token=literal(source[pins.source])
        )
    text = _(
        "{token} gets most attention from {target} in the target and from {source} in "
        "the source; all target tokens together give it {total:.2f} of {all}."
    )
    return text.format(
        token=literal(source[pins.source]),
        target=most_read(readers, run.target_or_start.labels),
        source=most_read(own, source),
        total=np.nansum(readers),
        all=len(readers),
    )


def strips_alt(run: Run, layer: int, head: int, text: str, pins: Pins) -> str:
    """Write the alt text of both texts as strips."""
    said = _("Both texts as strips, shaded by attention weight. {sentence}")
    return said.format(sentence=follow_sentence(run, layer, head, text, pins))


THIRD = 300

"""Pixels that a third of the page is likely to have."""


@section
def three_attentions(run: Run) -> None:
    """Who reads whom: source and source, target and target, target and source."""
    which, pins = chosen(run), shared.pins(run)
    code: tuple[Source, ...] = (CrossAttention, *source.heads_source(), two_texts.frame)
    concepts = ("cross_attention", "attention", "masks")
    with explained(concepts, code, key="three_attentions"):
        say(reads_sentence, run, which, pins)
    note_on_cross_attention(run)
    if said := padding_note(run):
        st.info(said, icon=":material/visibility_off:")
    _all_heads(run, which, pins)
    which_attention(run, which)
    _one_head(run, which, pins)
    _one_token(run, which, pins)


def note_on_cross_attention(run: Run) -> None:
    """Where what is drawn is read in vain."""
    if said := switched_off(run):
        st.info(said, icon=":material/link_off:")


def _all_heads(run: Run, which: Chosen, pins: Pins) -> None:
    for kind, column in zip(AttentionKind, st.columns(3), strict=True):
        with column:
            show(
                draw_tiles,
                run,
                kind,
                which if which.kind is kind else None,
                pins,
                key=f"tiles_{kind}",
                alt=tiles_alt,
                on_click=open_tile(kind),
            )
    note(
        _(
            "One row of tiles per layer, one tile per head, all on one scale; grey is "
            "masked. A tick marks a pinned token. Click a tile to choose its head."
        )
    )


def _one_head(run: Run, which: Chosen, pins: Pins) -> None:
    left, right = columns(2)
    with left:
        on_click = pin_cell(which.kind)
        show(draw_map, run, which, pins, key="two_text_map", alt=map_alt, on_click=on_click)
        note(map_note(run, which, measured_cut(run, which.kind, pins)))
    with right:
        n_edges = n_edges_control(len(shared.keys(run, which.kind)))
        shown = run, which, pins, n_edges, followed_text(which.kind)
        on_click = pin_end(which.kind)
        show(draw_lines, *shown, key="two_text_lines", alt=lines_alt, on_click=on_click)
        note(lines_note(n_edges, bipartite.LEAST))
        edges_choice(len(shared.keys(run, which.kind)))


def _one_token(run: Run, which: Chosen, pins: Pins) -> None:
    text = followed_control()
    shown = run, which.layer, which.head, text, pins
    st.markdown(follow_sentence(*shown))
    show(
        draw_strips,
        *shown,
        key="strips",
        alt=strips_alt,
        on_click=pin_in_strip,
    )


def draw_tiles(run: Run, kind: AttentionKind, which: Chosen | None, pins: Pins) -> Picture:
    """All heads of one of the three attentions, a row a layer."""
    return heads.overview(
        head_tiles(run, kind),
        labelled_tiles(run, kind),
        columns=run.config.n_heads,
        selected=None if which is None else tile(run, which),
        pinned=share(shared.queries(run, kind), pins.reading(kind)),
        pinned_key=pinned_key_share(run, kind, pins),
        title=kind_title(kind),
        width=THIRD,
        _=_,
    )


def draw_map(run: Run, which: Chosen, pins: Pins) -> Picture:
    """One head; of long texts the part around the pinned tokens."""
    cut = measured_cut(run, which.kind, pins)
    names = Names(
        map_title(which),
        _("query: attends"),
        _("key: attended to"),
        shared.queries(run, which.kind)[cut.rows],
        shared.keys(run, which.kind)[cut.columns],
    )
    return pictures.attention_map(
        weights(run, which)[cut.rows, cut.columns],
        names,
        pinned=cut.pinned,
        pinned_column=cut.pinned_column,
        first=cut.first,
        sums=row_sums(run, which)[cut.rows],
        _=_,
    )


def draw_lines(run: Run, which: Chosen, pins: Pins, n_edges: int, followed: str) -> Picture:
    """Attention weights as lines; those of the followed token stand out."""
    cut = measured_cut(run, which.kind, pins, shared.MOST_LINES)
    is_query = followed == "query"
    return bipartite.lines(
        weights(run, which)[cut.rows, cut.columns],
        shared.queries(run, which.kind)[cut.rows],
        most=n_edges,
        pinned=cut.pinned if is_query else None,
        first=cut.rows.start,
        keys=bipartite.Keys(
            shared.keys(run, which.kind)[cut.columns],
            cut.columns.start,
            None if is_query else cut.pinned_column,
        ),
        title=map_title(which),
        _=_,
    )


def draw_strips(run: Run, layer: int, head: int, text: str, pins: Pins) -> Picture:
    """The followed token in the source and in the target."""
    both = strips(run, layer, head, text, pins)
    source_strip, target_strip = (pictures.Strip(**each) for each in both)
    title = strips_title(run, layer, head, text, pins)
    return pictures.strips(source_strip, target_strip, title=title, _=_)

"""Sentences about three attentions: who reads whom in this run."""

import numpy as np

from blocks.inspection.two_texts import AttentionKind
from blocks.model.faults import N_
from blocks.observe.interventions import without_cross_attention
from blocks.observe.run import PaddingSide, Run
from pages.ui.attention.words import head_called
from pages.ui.language import _, enumeration, literal
from pages.ui.numbers import percent, readable
from pages.ui.seq2seq import measured
from pages.ui.seq2seq.attention_controls import KIND_LABELS
from pages.ui.seq2seq.measured import Chosen, Cut, Pins

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
    most = measured.moved_by_padding(run)
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
    row = measured.weights(run, which)[query]
    token = literal(measured.queries(run, which.kind)[query])
    head = head_called(which.layer, which.head)
    if np.isnan(row).all():
        text = _("In {head}, {token} cannot attend to any key: its row is all zeros.")
        said = text.format(head=head, token=token)
    else:
        read = most_read(row, measured.keys(run, which.kind))
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
    table = measured.all_heads(run, kind)
    text = _(
        "A query of {kind} effectively attends to {least:.1f} tokens (in {sharpest}) to {most:.1f}."
    )
    numbers = table["effective_tokens"]
    first = table.loc[numbers.idxmin()]
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
    largest = float(np.nan_to_num(measured.weights(run, which)).max())
    if not 0 < largest < BLANK_BELOW:
        return ""
    text = _("No weight exceeds {largest}: they are so evenly spread that the map is pale.")
    return text.format(largest=percent(largest))


def _what_a_row_is(run: Run, which: Chosen) -> str:
    n_masked = int(np.isnan(measured.weights(run, which)).sum())
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
            n=n_masked, all=measured.weights(run, which).size
        )
    return said


def cut_note(run: Run, kind: AttentionKind, cut: Cut) -> str:
    """Which part of long texts is drawn; nothing where all of it is."""
    n_rows, n_columns = len(measured.queries(run, kind)), len(measured.keys(run, kind))
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
    """The map in words."""
    text = _("Attention map, queries down, keys across: {title}. {sentence}")
    return text.format(title=map_title(which), sentence=reads_sentence(run, which, pins))


def lines_alt(run: Run, which: Chosen, pins: Pins, *_drawn: object) -> str:
    """The lines in words."""
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
    """All heads of one attention in words."""
    text = _("All heads of {kind} on one scale, one row per layer: {n}. {sentence}")
    n = len(measured.all_heads(run, kind))
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
        measured.followed(run, kind, layer, head, "target", pins)
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
        measured.followed(run, kind, layer, head, "source", pins)
        for kind in (AttentionKind.CROSS, AttentionKind.ENCODER)
    )
    source = run.input.labels
    own = np.where(measured.is_source(run), own, np.nan)
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
    """Both texts as strips, in words."""
    said = _("Both texts as strips, shaded by attention weight. {sentence}")
    return said.format(sentence=follow_sentence(run, layer, head, text, pins))

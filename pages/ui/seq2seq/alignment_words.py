"""Sentences about alignment: what is found, what is true, and how far both agree."""

import pandas as pd

from blocks.inspection.alignment import MEAN, Row, score
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.ui.attention.words import head_called
from pages.ui.language import _, enumeration, literal
from pages.ui.seq2seq import measured
from pages.ui.seq2seq.alignment_frames import best
from pages.ui.seq2seq.attention_controls import ROW_LABELS

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
    why = measured.truth(run)
    is_known = why == "known"
    said = (
        [_agreement(run, layer, head, row), _bound(run)]
        if is_known
        else [_(UNKNOWN[why]), _own_links(run, layer, head, row)]
    )
    return " ".join(filter(None, (*said, _held_out(run, n_parts), _random(run))))


def _agreement(run: Run, layer: int, head: int, row: str) -> str:
    true = measured.true_links(run) or frozenset()
    found = score(measured.found_links(run, layer, head, row), true)
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
    least = measured.least_error(run)
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
        n=n_parts * measured.N_PAIRS // measured.N_PARTS,
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
        return _("layer {layer}, mean of heads").format(layer=layer + 1)
    return head_called(layer, head)


def links_title(layer: int, head: int) -> str:
    """Whose links are drawn."""
    called = aligned_called(layer, head)
    return called[:1].upper() + called[1:]


def _own_links(run: Run, layer: int, head: int, row: str, most: int = 6) -> str:
    """The model's own links as pairs of words."""
    links = sorted(measured.found_links(run, layer, head, row), key=lambda link: link[1])
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
    if measured.truth(run) == "known":
        said += " " + _("A frame marks a true link, a dot the largest weight of its row.")
    return said


def alt(run: Run, layer: int, head: int, row: str, *_pins: object) -> str:
    """The picture in words."""
    text = _("Target words down, source tokens across; query row: {row}. {sentence}")
    said = sentence(run, layer, head, row, 0)
    return text.format(row=_(ROW_LABELS[row]), sentence=said)


def table_alt(run: Run, _sort_by: str, _selected: object, n_parts: int) -> str:
    """The table of heads in words."""
    text = _("One row per cross-attention head, one column per measure. {sentence}")
    return text.format(sentence=_held_out(run, n_parts)).strip()


def table_note(run: Run, n_shown: int, n_parts: int) -> str:
    """How to read the table."""
    said = _(
        "Validation: held-out sentences no model was trained on, each with its "
        "reference translation. Here: the current sentence. Darker is better; click to "
        "choose a head."
    )
    n = len(measured.aligned_heads(run, n_parts))
    if n > n_shown:
        text = _("Shown: the first {n} of {all}; the table has all.")
        said += " " + text.format(n=n_shown, all=n)
    return said

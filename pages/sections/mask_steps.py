"""Every mask for this input, and what the chosen one does to a head; painting one by hand."""

import pandas as pd
import streamlit as st

from blocks.inspection import mask_faults
from blocks.model import masks as mask_rules
from blocks.model.attention import attention_pattern, attention_scores
from blocks.model.masks import MaskKind
from blocks.observe.run import Run
from pages.figures import heads, mask_steps
from pages.ui import labelled
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.language import _
from pages.ui.masks import controls, measured, painting, words
from pages.ui.said import say
from pages.ui.views import head_choice, layer_choice, pin_token

CODE = (mask_rules.build_mask, mask_faults.raw_scores, attention_scores, attention_pattern)


def what_the_mask_does(run: Run, layer: int, head: int, token: int) -> None:
    """All masks small; the chosen one, the scores before it and the pattern after it large."""
    place = explained(("masks", "attention"), CODE, key="mask_steps")
    left, right = columns(2)
    with left:
        click = controls.choose_kind
        show(draw_kinds, run, token, key="mask_kinds", alt=words.kinds_alt, on_click=click)
        note(words.kinds_note(run))
        controls.padding_button(run)
    with right:
        title = _("Paint a mask by hand")
        st.markdown(f"**{title}**")
        note(_("Click a cell of the large mask below, or choose one here."))
        painting.painting_controls(run)
    layer_choice(run)
    head_choice(run, head)
    three_pictures(run, layer, head, token)
    with place:
        say(words.steps_sentence, run, layer, head, token)


def three_pictures(run: Run, layer: int, head: int, token: int) -> None:
    """Mask, scores, pattern on the same axes."""
    shown = run, layer, head, token
    first, second, third = columns(3)
    with first:
        paint = painting.cell_painter(run) if painting.can_paint(run) else None
        show(draw_mask, run, token, key="mask_map", alt=words.mask_alt, on_click=paint)
    with second:
        show(draw_scores, *shown, key="score_map", alt=words.scores_alt, on_click=pin_token)
    with third:
        show(draw_pattern, *shown, key="pattern_map", alt=words.pattern_alt, on_click=pin_token)


def draw_kinds(run: Run, token: int):
    """The mask of every kind for this input."""
    labels = controls.kind_labels()
    return heads.overview(
        measured.kinds(run),
        pd.DataFrame({"head": range(len(labels)), "label": labels, "hover": labels}),
        columns=measured.COLUMNS,
        selected=list(MaskKind).index(run.mask.mask_kind),
        pinned=labelled.row_share(run, token),
        title=_("Every mask, for this input"),
        _=_,
    )


def draw_mask(run: Run, token: int):
    """Who may see whom, large."""
    labels = run.input.labels
    is_open, can_paint = measured.open_cells(run), painting.can_paint(run)
    return mask_steps.mask_map(is_open, labels, labels, pinned=token, can_paint=can_paint, _=_)


def draw_scores(run: Run, layer: int, head: int, token: int):
    """Scores of one head before the mask."""
    scores, _pattern = measured.steps(run, layer, head)
    return mask_steps.score_map(scores, run.input.labels, run.input.labels, pinned=token, _=_)


def draw_pattern(run: Run, layer: int, head: int, token: int):
    """Pattern of one head after the mask."""
    _scores, pattern = measured.steps(run, layer, head)
    labels, is_open = run.input.labels, measured.open_cells(run)
    return mask_steps.pattern_map(pattern, is_open, labels, labels, pinned=token, _=_)

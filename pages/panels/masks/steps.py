"""Every mask for this input, and what the chosen one does to a head."""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import pandas as pd
import streamlit as st
from numpy import uint8
from numpy.typing import NDArray

from blocks.inspection import mask_faults
from blocks.inspection import mask_steps as measures
from blocks.inspection.head_facts import window
from blocks.inspection.mask_steps import StepFacts
from blocks.model import masks as mask_rules
from blocks.model.attention import attention_pattern, attention_scores
from blocks.model.faults import N_
from blocks.model.masks import MaskKind
from blocks.observe.run import Run
from pages.figures import heads
from pages.figures.theme import Picture
from pages.page.declared import Panel
from pages.panels.masks import painting, shared, steps_picture
from pages.server import cached
from pages.show.explain import note
from pages.show.parts import Aside, Beside, Controls, File, Item, Matrix, Note, Say, the_values
from pages.show.phone import folded
from pages.show.views import head_choice, layer_choice, pin_token
from pages.show.ways import take, way
from pages.stage import progress
from pages.state import labelled
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, fill, sentences

COLUMNS = 4  # of the small masks
CODE = (
    mask_rules.build_mask,
    mask_rules.within,
    mask_faults.raw_scores,
    attention_scores,
    attention_pattern,
)


def step_facts(run: Run, layer: int, head: int, token: int) -> StepFacts:
    return shared.step_facts(run, layer, head, token)


@lru_cache(maxsize=32)
def kinds(run: Run) -> NDArray[uint8]:
    """The masks of every kind for this input, side by side, one byte per cell."""
    return measures.kinds_side_by_side(run, COLUMNS)


def says_kinds(run: Run) -> str:
    """How to read the small masks, and what they cannot show for this input."""
    said = _(
        "Blue cells are allowed, gray ones forbidden. Choose a mask by clicking it, or by "
        "name above."
    )
    if not run.input.n_padding:
        said = sentences(said, _("This input has no padding token, so padding masks hide nothing."))
    return said


def says_steps(facts: StepFacts) -> str:
    """What the mask changes for the pinned query of this head."""
    text = _("Keys to which query {query} may attend: {n_open} of {all}.")
    query = shared.token(facts.labels, facts.query)
    said = [fill(text, facts, query=query, all=len(facts.labels))]
    if not facts.n_open:
        said.append(_("Its row is all zeros, so attention adds nothing there."))
    elif not facts.has_scores:
        said.append(_("Some scores of this query are too large for this number format."))
    else:
        text = _("Its largest weight, {best_weight:.3f}, goes to key {key}.")
        key = shared.token(facts.labels, facts.best_key)
        said += [fill(text, facts, key=key), _without_mask(facts)]
    return sentences(*said)


def _without_mask(facts: StepFacts) -> str:
    """What the softmax would have given to keys that are forbidden."""
    if facts.worst_query is None:
        return ""
    text = _(
        "Without the mask, forbidden keys would take {mean_taken:.0%} of this head's weight on "
        "average, and at most {most_taken:.0%}, at query {worst}."
    )
    return fill(text, facts, worst=shared.token(facts.labels, facts.worst_query))


def says_small_masks(run: Run, *_more: int) -> str:
    """How many cells each mask allows, which small tiles cannot show to all."""
    found = measures.n_open_by_kind(run)
    counts = (f"{terms.option(kind)} {n_open}" for kind, n_open in found.items())
    return _(
        "Masks for this input side by side, with the number of allowed cells in each: {counts}."
    ).format(counts=enumeration(counts))


def draw_kinds(run: Run, _layer: int, _head: int, token: int) -> Picture:
    """The mask of every kind for this input."""
    labels = [terms.option(kind) for kind in MaskKind]
    return heads.overview(
        kinds(run),
        pd.DataFrame({"head": range(len(labels)), "label": labels, "hover": labels}),
        columns=COLUMNS,
        selected=list(MaskKind).index(run.mask.mask_kind),
        pinned=labelled.row_share(run, token),
        title=_("All masks for this input"),
        _=_,
    )


def draw_mask(run: Run, layer: int, _head: int, token: int) -> Picture:
    """Who may see whom in a layer, large."""
    part = window(len(run.input.labels), token, shared.MOST_DRAWN)
    labels, can_paint = run.input.labels[part.rows], painting.is_paintable(run)
    is_open = shared.open_cells(run, layer)[part.rows, part.rows]
    pinned = part.inside(token)
    return steps_picture.mask_map(is_open, labels, labels, pinned=pinned, can_paint=can_paint, _=_)


def draw_scores(facts: StepFacts) -> Picture:
    """Scores of one head before the mask."""
    drawn = facts.around(shared.MOST_DRAWN)
    return steps_picture.score_map(
        drawn.scores, drawn.labels, drawn.labels, pinned=drawn.query, _=_
    )


def draw_pattern(facts: StepFacts) -> Picture:
    """Pattern of one head after the mask."""
    drawn = facts.around(shared.MOST_DRAWN)
    return steps_picture.pattern_map(
        drawn.pattern, drawn.is_open, drawn.labels, drawn.labels, pinned=drawn.query, _=_
    )


def some_padding(run: Run) -> None:
    if not run.input.n_padding:
        way(_("Add 3 padding tokens"), "use_some_padding", n_padding=3)


def by_hand(run: Run, state: State) -> None:
    """A mask that the reader paints."""
    title, in_lesson = _("Paint a mask by hand"), bool(progress.now())
    folded(
        title, partial(_painting, run, title, state=state), key="paint_fold", is_folded=in_lesson
    )


def looked_at(run: Run, _layer: int, head: int) -> None:
    layer_choice(run)
    head_choice(run, head)


def _painting(run: Run, title: str, state: State) -> None:
    st.markdown(f"**{title}**")
    note(_("Click a cell of the large mask below, or choose one here."))
    painting.controls(run, state)


def choose_kind(customdata: list[Any]) -> None:
    take({"mask_kind": str(list(MaskKind)[int(customdata[0])])})


def shown(run: Run) -> Sequence[Item]:
    """All masks small; the chosen one, the scores before it and the pattern after it large."""
    paint = painting.cell_painter(run) if painting.is_paintable(run) else None
    return (
        Aside(
            Beside(
                (
                    Matrix(
                        draw_kinds,
                        "mask_kinds",
                        alt=says_small_masks,
                        click=choose_kind,
                        facts=the_values,
                    ),
                    Note(says_kinds, facts=the_values),
                    Controls(some_padding, is_aside=False),
                ),
                Controls(by_hand, is_aside=False),
            ),
            Controls(looked_at, is_aside=False),
        ),
        Beside(
            Matrix(draw_mask, "mask_map", click=paint, facts=the_values),
            Matrix(draw_scores, "score_map", click=pin_token),
            Matrix(draw_pattern, "pattern_map", click=pin_token),
        ),
        Note(shared.says_window),
        Say(says_steps),
        File(cached.heads, "heads", counted=("layer", "head"), facts=the_values),
    )


PANEL = Panel(
    "steps",
    N_("What does a mask do?"),
    fields=("n_heads", "position_kind"),
    of_attention=True,
    concepts=("masks", "local_attention", "attention"),
    code=CODE,
    at=shared.at,
    facts=step_facts,
    shows=shown,
)

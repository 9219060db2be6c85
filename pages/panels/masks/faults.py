"""What a planted fault does to a head, and a setting in which it leaks."""

import math
from functools import lru_cache
from typing import Any

import streamlit as st

from blocks.inspection import mask_steps as steps
from blocks.inspection.leaks import LeakFacts
from blocks.inspection.mask_faults import MaskFault
from blocks.inspection.mask_steps import Lead, StepFacts
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskKind
from blocks.observe.run import PaddingSide, Run
from pages.figures.counting import from_one
from pages.figures.theme import Picture
from pages.panels.masks import plan, shared, steps_picture
from pages.show.chart import columns, show
from pages.show.explain import note
from pages.show.ways import take, way
from pages.stage import link
from pages.state.link_fields.masks import MOST_SCALE
from pages.state.values import State
from pages.words.language import _

A_BIT_MORE = 1.2
NAMES = {
    MaskFault.NONE: N_("none: as configured"),
    MaskFault.WRONG_AXIS: N_("softmax over the wrong axis"),
    MaskFault.ADDITIVE: N_("−10,000 instead of −∞"),
    MaskFault.AFTER_SOFTMAX: N_("mask after the softmax"),
    MaskFault.OFF_BY_ONE: N_("off by one"),
    MaskFault.PADDING_ATTENDED: N_("padding attended to"),
}
WHAT_IT_DOES = {
    MaskFault.WRONG_AXIS: N_(
        "Each key distributes its weight over the queries: columns sum to 1 instead of rows, "
        "so a weight depends on later queries."
    ),
    MaskFault.ADDITIVE: N_(
        "−10,000 is added to forbidden scores. This is enough while scores are small, but too"
        " little where a forbidden score far exceeds the allowed ones or where a query cannot"
        " attend to any key."
    ),
    MaskFault.AFTER_SOFTMAX: N_(
        "The softmax sees all keys, and the mask zeroes forbidden weights only afterwards. "
        "Forbidden keys still take their share of the sum, so rows sum to less than 1."
    ),
    MaskFault.OFF_BY_ONE: N_(
        "The mask is one diagonal too wide: each query can attend to one more token, the one "
        "it has to predict."
    ),
    MaskFault.PADDING_ATTENDED: N_(
        "The mask does not take padding into account, so padding tokens are attended to like "
        "any others."
    ),
}


@lru_cache(maxsize=32)
def lead(run: Run) -> Lead:
    """What it would take for a bias of −1e4 to be overwhelmed, in layer 1."""
    return steps.lead(run, shared.layer_steps(run, 0))


def name(fault: str) -> str:
    return _(NAMES[MaskFault(fault)])


def says_no_leak(facts: LeakFacts) -> str:
    """Why a planted fault does nothing in this setting."""
    if not facts.n_forbidden:
        return _("Nothing is forbidden here, so this fault cannot leak anything.")
    if facts.test.fault is MaskFault.PADDING_ATTENDED:
        return _(
            "This mask hides no padding that could otherwise be attended to, so the fault "
            "changes nothing."
        )
    if facts.test.fault is MaskFault.ADDITIVE:
        return _("With scores of this size, −10,000 is enough: nothing leaks.")
    return _("In this setting the fault leaks nothing.")


def says_lead(found: Lead, dtype: str) -> str:
    """How large scores must be for −10,000 to be too little."""
    if found.largest <= 0:
        return _(
            "In layer 1, no forbidden score exceeds the highest allowed one of the same "
            "query, so −10,000 is enough there at any scale."
        )
    return _(
        "In layer 1, forbidden scores exceed the highest allowed score of the same query "
        "by at most {lead:.2f}. In {dtype}, −10,000 is enough up to a difference of about "
        "{bearable:,.0f}: for a leak, scores would have to be {scale:,.0f} times as "
        "large."
    ).format(lead=found.largest, bearable=found.bearable, scale=found.scale, dtype=dtype)


def says_weights(facts: StepFacts) -> str:
    """What the fault does to one head, in numbers."""
    if not facts.is_finite:
        return _("Some weights are NaN.")
    least, most = facts.row_sums
    return _(
        "Row sums range from {least:.3f} to {most:.3f}; {share:.1%} of the total weight lies "
        "on forbidden cells."
    ).format(least=least, most=most, share=facts.forbidden_share)


def draw_planted(
    run: Run, layer: int, head: int, token: int, fault: MaskFault, scale: int
) -> Picture:
    """The pattern of a head with a fault, or without."""
    facts = shared.step_facts(run, layer, head, token, fault, scale).around(shared.MOST_DRAWN)
    called = _("as configured") if fault is MaskFault.NONE else name(fault)
    title = _("Layer {layer}, head {head}: {name}")
    title = title.format(layer=from_one(layer), head=from_one(head), name=called)
    labels, pinned = facts.labels, facts.query
    return steps_picture.pattern_map(
        facts.pattern, facts.is_open, labels, labels, title=title, pinned=pinned, _=_
    )


def what_it_does(facts: LeakFacts, layer: int, head: int, token: int, state: State) -> None:
    """The pattern of one head, clean and with the fault; a way out where it does not matter."""
    run, fault, scale = facts.test.run, facts.test.fault, plan.score_scale(state)
    st.markdown(_(WHAT_IT_DOES[fault]))
    if fault is MaskFault.ADDITIVE:
        st.markdown(says_lead(lead(run), run.dtype))
    planted = ((MaskFault.NONE, "clean_pattern"), (fault, "faulty_pattern"))
    for column, (each, key) in zip(columns(2), planted, strict=True):
        with column:
            shown = run, layer, head, token, each, scale
            show(draw_planted, *shown, key=key)
            note(says_weights(shared.step_facts(*shown)))
    if said := shared.says_window(shared.step_facts(run, layer, head, token, fault, scale)):
        note(said)


def fault_choice(run: Run, state: State) -> None:
    """Which fault is planted; one that lets padding in comes with padding that a mask hides."""
    view = link.view("planted_fault", state.planted_fault)
    moved = view.pop("on_change")

    def chosen(*args: Any) -> None:
        moved(*args)
        is_hidden = bool(run.input.n_padding) and run.mask.mask_kind.hides_padding
        if plan.planted_fault(link.now()) is MaskFault.PADDING_ATTENDED and not is_hidden:
            take(_left_padding(run))

    st.segmented_control(
        _("Plant a fault"),
        list(map(str, MaskFault)),
        format_func=name,
        required=True,
        wrap=True,
        on_change=chosen,
        **view,
    )


def way_to_a_leak(facts: LeakFacts) -> None:
    """Why a fault does nothing here, and buttons to where it does; nothing where it leaks."""
    if facts.is_clean is not False:
        st.markdown(says_no_leak(facts))
        where_it_leaks(facts.test.run, facts.test.fault)


def where_it_leaks(run: Run, fault: MaskFault) -> None:
    """Buttons to a setting in which a planted fault leaks."""
    with st.container(horizontal=True):
        if fault is MaskFault.ADDITIVE:
            scale = math.ceil(lead(run).scale * A_BIT_MORE)
            if 1 < scale <= MOST_SCALE:
                label = _("Make scores {scale:,} times as large").format(scale=scale)
                way(label, "use_scale", score_scale=scale)
        if fault in (MaskFault.ADDITIVE, MaskFault.PADDING_ATTENDED):
            way(_("Pad on the left"), "use_padding", **_left_padding(run))
        else:
            causal_button()


def causal_button() -> None:
    """A way to a mask that forbids something."""
    way(
        _("Use the causal mask"),
        "use_causal",
        icon=":material/tune:",
        mask_kind=str(MaskKind.CAUSAL),
    )


def _left_padding(run: Run) -> dict[str, Any]:
    """Padding before the text, which causal queries would read; an encoder reads both ways."""
    is_encoder = run.config.architecture is Architecture.ENCODER
    kind = MaskKind.PADDING if is_encoder else MaskKind.CAUSAL_PADDING
    return {"mask_kind": str(kind), "padding_side": str(PaddingSide.LEFT), "n_padding": 3}

"""Does the mask hold: one token changes, and the outputs that may not move are watched."""

import math
from collections.abc import Callable, Hashable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from blocks.inspection import leaks, mask_faults
from blocks.inspection import mask_steps as steps_measures
from blocks.inspection.leaks import N_PROJECTIONS, AttentionPath, LeakTest, Verdict, known_leaks
from blocks.inspection.mask_faults import MaskFault
from blocks.inspection.mask_steps import Lead
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.model.masks import MaskKind
from blocks.observe.run import PaddingSide, Run
from pages.figures import mask_steps
from pages.figures.counting import from_one
from pages.figures.theme import Picture
from pages.figures.token_matrix import Names
from pages.panels.masks import leaks_picture, shared
from pages.panels.masks.shared import Leaks
from pages.ui import link
from pages.ui.chart import columns, show
from pages.ui.controls import choose, slide, slider
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.link_fields.masks import MOST_SCALE
from pages.ui.steps import in_steps
from pages.ui.views import pin_token


@lru_cache(maxsize=32)
def lead(run: Run) -> Lead:
    """What it would take for a bias of −1e4 to be overwhelmed, in layer 1."""
    return steps_measures.lead(run, shared.layer_steps(run, 0))


def steps_of(plan: shared.Leaks) -> list[Callable[[], NDArray[np.float64]]]:
    """What is measured, one step after another: first the changes, then the gradients."""
    return [
        partial(shared._measure, measure, plan.test, chunk, plan.together)
        for measure, chunks in ((leaks.moved, plan.changed), (leaks.gradients, plan.followed))
        for chunk in chunks
    ]


@lru_cache(maxsize=64)
def by_change(found: shared.Leaks) -> Verdict:
    """What the changes say."""
    run, tokens = found.test.run, found.tokens
    cells = shared.forbidden(run)[:, tokens]
    return leaks.verdict(shared.moved(found), cells, range(len(cells)), tokens)


@lru_cache(maxsize=64)
def by_gradient(found: shared.Leaks) -> Verdict:
    """What the gradients say."""
    cells = shared.forbidden(found.test.run)[found.outputs, :]
    return leaks.verdict(shared.gradients(found), cells, found.outputs, range(cells.shape[1]))


FAULTS = {
    MaskFault.NONE: N_("none: as configured"),
    MaskFault.WRONG_AXIS: N_("softmax over the wrong axis"),
    MaskFault.ADDITIVE: N_("−10,000 instead of −∞"),
    MaskFault.AFTER_SOFTMAX: N_("mask after the softmax"),
    MaskFault.OFF_BY_ONE: N_("off by one"),
    MaskFault.PADDING_ATTENDED: N_("padding attended to"),
}


WHAT_IT_DOES = {
    MaskFault.WRONG_AXIS: N_(
        "Each key shares its weight among the queries: columns sum to 1 instead of "
        "rows, so a weight depends on later queries."
    ),
    MaskFault.ADDITIVE: N_(
        "−10,000 is added to forbidden scores: enough while scores are small, too "
        "little where a forbidden score far exceeds the allowed ones or where a query "
        "cannot attend to any key."
    ),
    MaskFault.AFTER_SOFTMAX: N_(
        "Softmax sees all keys and the mask zeroes forbidden weights afterwards: they "
        "still take their share of the sum, so rows sum to less than 1."
    ),
    MaskFault.OFF_BY_ONE: N_(
        "The mask is one diagonal too wide: each query can attend to one more key, the "
        "one it has to predict."
    ),
    MaskFault.PADDING_ATTENDED: N_(
        "The mask does not know which tokens are padding: they are attended to like any other."
    ),
}


LEAKS = {
    "batchnorm": N_(
        "In training mode BatchNorm takes mean and variance over all tokens of the "
        "batch, later ones included: no mask can prevent that."
    ),
    "expert_capacity": N_(
        "With limited capacity, tokens compete for experts: where a token is routed "
        "depends on the others."
    ),
    "mean": N_(
        "A part was replaced by its mean over all tokens, later ones included: its "
        "output therefore depends on all of them."
    ),
}


def fault_text(name: str) -> str:
    """What a planted fault is called."""
    return _(FAULTS[MaskFault(name)])


def what_it_does(name: MaskFault) -> str:
    """What the faulty code does."""
    return _(WHAT_IT_DOES[name])


def how(test: LeakTest) -> str:
    """How the test is done."""
    text = _(
        "Each token in turn is replaced by another (seed {seed}), and every output is "
        "compared with the original bit by bit. The gradient ‖∂output/∂input‖ is "
        "estimated from {n} random ±1 projections of the output (same seed); where it "
        "is 0, it is exactly 0."
    )
    return text.format(seed=test.change_seed, n=N_PROJECTIONS)


def path_note(run: Run, path: str, fault_name: str) -> str:
    """Why the path is not the one that was asked for; empty where it is."""
    if fault_name != MaskFault.NONE:
        return _(
            "The fault is planted in the softmax, so attention runs in eager mode, step by step."
        )
    if path == AttentionPath.FUSED and not shared.runs_fused(run):
        return _(
            "Dropout needs the attention weights, so attention runs in eager mode, step by step."
        )
    return ""


def tested(found: shared.Leaks) -> str:
    """How much was tested, where that is not all."""
    n = len(found.test.run.input.labels)
    if len(found.tokens) == n == len(found.outputs):
        return ""
    text = _("Tested so far: {changed} of {n} tokens changed, gradients of {followed} outputs.")
    return text.format(changed=len(found.tokens), followed=len(found.outputs), n=n)


def reach(run: Run) -> str:
    """How many cells stay forbidden through all layers."""
    cells = shared.forbidden(run)
    n_one, n_all = int((~shared.open_cells(run)).sum()), int(cells.sum())
    if n_one == n_all:
        text = _("{n_all:,} of {cells:,} output–token pairs are forbidden through all layers.")
    else:
        text = _(
            "One layer forbids {n_one:,} of {cells:,} cells. Across {n_layers} layers "
            "and residual connections, {n_all:,} output–token pairs stay forbidden."
        )
    return text.format(n_one=n_one, n_all=n_all, cells=cells.size, n_layers=run.config.n_layers)


def verdict(found: shared.Leaks) -> str:
    """What the test says of this model, in a sentence or two."""
    change = by_change(found)
    gradient = by_gradient(found) if found.followed else None
    if not change.n_forbidden:
        return _("Nothing is forbidden here, so nothing can leak: choose a mask to test.")
    if unknown := change.n_unknown + (gradient.n_unknown if gradient else 0):
        text = _("{n:,} forbidden cells are NaN, so the test is inconclusive: {why}")
        return text.format(n=unknown, why=_("the model itself overflows."))
    if change.is_clean and (gradient is None or gradient.is_clean):
        return _no_leak(change, gradient)
    return " ".join((_leak(found, change, gradient), *_reasons(found)))


def _no_leak(change: Verdict, gradient: Verdict | None) -> str:
    if gradient is None:
        text = _("No leak so far: all {n:,} forbidden cells are exactly 0 when tokens change.")
    else:
        text = _(
            "No leak: all {n:,} forbidden cells are exactly 0, both when tokens change "
            "and in the gradient."
        )
    return text.format(n=change.n_forbidden)


def _leak(found: shared.Leaks, change: Verdict, gradient: Verdict | None) -> str:
    run = found.test.run
    by = change if change.n_leaking or gradient is None else gradient
    if change.n_leaking:
        text = _("Leak: output {output} changes by {worst:.3g} when token {token} changes.")
    else:
        text = _(
            "Leak: output {output} has a gradient of {worst:.3g} with respect to token {token}."
        )
    said = text.format(
        output=shared.token(run, by.output), token=shared.token(run, by.token), worst=by.worst
    )
    text = _("{leaking:,} of {forbidden:,} forbidden cells are not 0.")
    return f"{said} {text.format(leaking=by.n_leaking, forbidden=by.n_forbidden)}"


def _reasons(found: shared.Leaks) -> list[str]:
    reasons = [_(LEAKS[name]) for name in known_leaks(found.test.run)]
    if not found.together:
        text = _("Another sequence of the same batch changes too, by {x:.3g}.")
        reasons.append(text.format(x=shared.mixing(found.test)))
    return reasons


def is_clean_text(found: shared.Leaks) -> bool | None:
    """Whether nothing leaks; None where the test cannot say."""
    verdicts = [by_change(found)]
    verdicts += [by_gradient(found)] if found.followed else []
    if any(each.n_leaking for each in verdicts):
        return False
    return True if all(each.is_clean for each in verdicts) else None


def what_is_seen(found: shared.Leaks) -> str:
    """What the two pictures show of this test."""
    change = shared.moved(found)
    allowed = ~shared.forbidden(found.test.run)[:, found.tokens]
    seen = change[allowed & np.isfinite(change)]
    text = _(
        "{moving:,} of {n:,} allowed cells change, by up to {most:.3g}. Hatched cells "
        "are forbidden and must stay exactly 0."
    )
    most = float(seen.max()) if len(seen) else 0.0
    return text.format(n=int(allowed.sum()), moving=int((seen > 0).sum()), most=most)


def no_matter(run: Run, name: MaskFault) -> str:
    """Why a planted fault does nothing in this setting."""
    if not shared.forbidden(run).any():
        return _("Nothing is forbidden here, so this fault cannot leak anything.")
    if name is MaskFault.PADDING_ATTENDED:
        return _(
            "This mask hides no padding that anything could attend to: the fault changes nothing."
        )
    if name is MaskFault.ADDITIVE:
        return _("With scores of this size −10,000 is enough: nothing leaks.")
    return _("In this setting the fault leaks nothing.")


def lead_text(run: Run) -> str:
    """How large scores must be for −10,000 to be too little."""
    found = lead(run)
    if found.largest <= 0:
        return _(
            "In layer 1 no forbidden score exceeds the best allowed one, so −10,000 is "
            "enough there at any size of the scores."
        )
    text = _(
        "In layer 1 a forbidden score exceeds the best allowed one of its query by at "
        "most {lead:.2f}. In {dtype}, −10,000 holds up to about {bearable:,.0f}: scores "
        "would have to be {scale:,.0f} times as large."
    )
    return text.format(
        lead=found.largest, bearable=found.bearable, scale=found.scale, dtype=run.dtype
    )


def row_sums(run: Run, layer: int, head: int, name: MaskFault, scale: int) -> str:
    """What the fault does to one head, in numbers."""
    _scores, pattern = shared.steps(run, layer, head, name, scale)
    is_open = shared.open_cells(run)
    sums = pattern.sum(axis=1)
    text = _(
        "Rows sum to {least:.3f} to {most:.3f}; {share:.1%} of all weight lies on forbidden cells."
    )
    if not np.isfinite(pattern).all():
        return _("Some of its weights are NaN.")
    total = max(float(pattern.sum()), 1e-30)
    share = float(pattern[~is_open].sum()) / total
    return text.format(least=float(sums.min()), most=float(sums.max()), share=share)


def moved_alt(found: shared.Leaks, *_more: Hashable) -> str:
    """The first leak picture in words."""
    begun = _("How much each output changes when one token changes.")
    return f"{begun} {verdict(found)}"


def gradient_alt(found: shared.Leaks, *_more: Hashable) -> str:
    """The second leak picture in words."""
    begun = _("Gradient of each output with respect to each token.")
    return f"{begun} {verdict(found)}"


def unit(run: Run) -> str:
    """What an output is made of."""
    return _("max |Δ logit|") if run.config.architecture.reads_tokens else _("max |Δ output|")


SCALES = (1, 10, 100, 1_000, 10_000, 100_000)


A_BIT_MORE = 1.2


def fault_controls(run: Run) -> None:
    """Which fault is planted, how attention is computed, and how much is tested."""
    choose("planted_fault", _("Plant a fault"), MaskFault, label_of=fault_text)
    if link.value("planted_fault") == MaskFault.ADDITIVE:
        slide("score_scale", _("Multiply QKᵀ by"), SCALES, link.value("score_scale"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if link.value("planted_fault") == MaskFault.NONE and shared.runs_fused(run):
            choose("attention_path", _("Attention implementation"), AttentionPath)
        st.button(
            _("Other replacements"),
            icon=":material/casino:",
            on_click=link.change,
            args=("leak_seed", link.value("leak_seed") + 1),
            key="other_replacements",
        )
    n = len(run.input.labels)
    if n > link.value("n_changed") or n > 24:
        shown = min(link.value("n_changed"), n)
        slider("n_changed", _("Tokens to change, evenly spaced"), shown, most=n)


def where_it_matters(run: Run, fault: MaskFault) -> None:
    """Buttons to a setting in which a planted fault leaks."""
    with st.container(horizontal=True):
        if fault is MaskFault.ADDITIVE:
            _larger_scores(run)
        if fault in (MaskFault.ADDITIVE, MaskFault.PADDING_ATTENDED):
            shared._button("use_padding", _("Pad on the left"), **_left_padding(run))
        else:
            causal_button()


def causal_button() -> None:
    """A way to a mask that forbids something."""
    shared._button("use_causal", _("Use the causal mask"), mask_kind=str(MaskKind.CAUSAL))


def _larger_scores(run: Run) -> None:
    scale = math.ceil(lead(run).scale * A_BIT_MORE)
    if 1 < scale <= MOST_SCALE:
        label = _("Make scores {scale:,} times as large").format(scale=scale)
        shared._button("use_scale", label, score_scale=scale)


def _left_padding(run: Run) -> dict[str, Any]:
    """Padding before the text, which causal queries would read; an encoder reads both ways."""
    is_encoder = run.config.architecture is Architecture.ENCODER
    kind = MaskKind.PADDING if is_encoder else MaskKind.CAUSAL_PADDING
    return {"mask_kind": str(kind), "padding_side": str(PaddingSide.LEFT), "n_padding": 3}


CODE = (
    leaks.reachable,
    leaks.moved,
    leaks.gradients,
    mask_faults.faulty_pattern,
)


@section
def does_it_hold(run: Run, layer: int, head: int, token: int) -> None:
    """The verdict on this model, and on the same model with a fault in it."""
    with explained(("leak_test", "mask_faults", "masks"), CODE, key="leaks"):
        fault_controls(run)
    fault = MaskFault(link.value("planted_fault"))
    clean = _found(run, MaskFault.NONE)
    if clean is None:
        return
    shown = clean
    if fault is not MaskFault.NONE:
        shown = _found(run, fault) or clean
    _verdicts(clean, shown)
    _pictures(shown, token)
    note(" ".join(filter(None, (how(clean.test), tested(shown)))))
    if shown.test.fault is not MaskFault.NONE:
        what_the_fault_does(shown, layer, head, token)


def _found(run: Run, fault: MaskFault) -> Leaks | None:
    """What the test has found so far; None where it was stopped before anything was."""
    plan = shared.planned(run, fault)
    done = in_steps(steps_of(plan), what=plan, key=shared.steps_key(fault))
    return shared.as_far_as(plan, len(done.found)) if done.found else None


def _verdicts(clean: Leaks, shown: Leaks) -> None:
    """One beside the other where a fault was planted."""
    run, fault = clean.test.run, shown.test.fault
    if shown is clean:
        _verdict(clean, _("This model as configured"), "verdict")
        _nothing_forbidden(run)
    else:
        left, right = st.columns(2)
        with left:
            _verdict(clean, _("This model as configured"), "verdict")
        with right:
            title = _("With the fault: {fault}").format(fault=fault_text(fault))
            _verdict(shown, title, "fault_verdict")
    note(" ".join(filter(None, (reach(run), _path_note(run)))))


def _path_note(run: Run) -> str:
    return path_note(run, link.value("attention_path"), link.value("planted_fault"))


def _verdict(found: Leaks, title: str, key: str) -> None:
    """A mark and a sentence."""
    is_clean = is_clean_text(found)
    with st.container(border=True, key=key):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{title}**", width="content")
            if is_clean is None:
                st.badge(_("inconclusive"), color="gray", icon=":material/help:")
            elif is_clean and found.test.fault is not MaskFault.NONE:
                label = _("does not show with this input")
                st.badge(label, color="orange", icon=":material/visibility_off:")
            elif is_clean:
                st.badge(_("no leak"), color="green", icon=":material/check:")
            else:
                st.badge(_("leak"), color="red", icon=":material/water_drop:")
        st.markdown(verdict(found))


def _nothing_forbidden(run: Run) -> None:
    if not shared.forbidden(run).any():
        causal_button()


def _pictures(found: Leaks, token: int) -> None:
    left, right = st.columns(2)
    with left:
        show(draw_moved, found, token, key="moved", alt=moved_alt, on_click=pin_token)
    with right:
        if found.followed:
            alt = gradient_alt
            show(draw_gradient, found, token, key="gradient", alt=alt, on_click=pin_token)
        else:
            note(_("The gradient was not computed: the test was stopped."))
    st.info(what_is_seen(found), icon=":material/lightbulb:")


def what_the_fault_does(found: Leaks, layer: int, head: int, token: int) -> None:
    """The pattern of one head, clean and with the fault; a way out where it does not matter."""
    run, fault, scale = found.test.run, found.test.fault, shared.score_scale()
    st.markdown(what_it_does(fault))
    if fault is MaskFault.ADDITIVE:
        st.markdown(lead_text(run))
    if is_clean_text(found) is not False:
        st.markdown(no_matter(run, fault))
        where_it_matters(run, fault)
    left, right = columns(2)
    for column, planted in ((left, MaskFault.NONE), (right, fault)):
        with column:
            shown = run, layer, head, planted, scale, token
            key = "clean_pattern" if planted is MaskFault.NONE else "faulty_pattern"
            show(draw_planted, *shown, key=key, alt=shared.pattern_alt)
            note(row_sums(run, layer, head, planted, scale))


def draw_moved(found: Leaks, token: int) -> Picture:
    """How far each output moves when one token changes."""
    run = found.test.run
    return leaks_picture.leak_map(
        shared.moved(found),
        shared.forbidden(run)[:, found.tokens],
        Names(
            _("One token changes: how much outputs change"),
            _("output"),
            _("token that changes"),
            run.input.labels,
            [run.input.labels[i] for i in found.tokens],
        ),
        unit=unit(run),
        pinned=token,
        _=_,
    )


def draw_gradient(found: Leaks, token: int) -> Picture:
    """How strongly each output depends on each token."""
    run = found.test.run
    return leaks_picture.leak_map(
        shared.gradients(found),
        shared.forbidden(run)[found.outputs, :],
        Names(
            _("Gradient of outputs with respect to tokens"),
            _("output"),
            _("token"),
            [run.input.labels[i] for i in found.outputs],
            run.input.labels,
        ),
        unit=_("‖∂output/∂input‖"),
        pinned=found.outputs.index(token) if token in found.outputs else None,
        _=_,
    )


def draw_planted(
    run: Run, layer: int, head: int, fault: MaskFault, scale: int, token: int
) -> Picture:
    """The pattern of a head with a fault, or without."""
    _scores, pattern = shared.steps(run, layer, head, fault, scale)
    name = _("as configured") if fault is MaskFault.NONE else fault_text(fault)
    title = _("Layer {layer}, head {head}: {name}")
    title = title.format(layer=from_one(layer), head=from_one(head), name=name)
    labels = run.input.labels
    return mask_steps.pattern_map(
        pattern, shared.open_cells(run), labels, labels, title=title, pinned=token, _=_
    )

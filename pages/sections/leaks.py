"""Does the mask hold: one token changes, and the outputs that may not move are watched."""

import streamlit as st

from blocks.inspection import leaks as leak_measures
from blocks.inspection import mask_faults
from blocks.inspection.mask_faults import MaskFault
from blocks.observe.run import Run
from pages.figures import leaks, mask_steps
from pages.figures.token_matrix import Names
from pages.ui import link
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.masks import controls, measured, words
from pages.ui.masks.measured import Leaks
from pages.ui.steps import in_steps
from pages.ui.views import pin_token

CODE = (
    leak_measures.reachable,
    leak_measures.moved,
    leak_measures.gradients,
    mask_faults.faulty_pattern,
)


@section
def does_it_hold(run: Run, layer: int, head: int, token: int) -> None:
    """The verdict on this model, and on the same model with a fault in it."""
    with explained(("leak_test", "mask_faults", "masks"), CODE, key="leaks"):
        controls.fault_controls(run)
    fault = MaskFault(link.value("planted_fault"))
    clean = _found(run, MaskFault.NONE)
    if clean is None:
        return
    shown = clean
    if fault is not MaskFault.NONE:
        shown = _found(run, fault) or clean
    _verdicts(clean, shown)
    _pictures(shown, token)
    note(" ".join(filter(None, (words.how(clean.test), words.tested(shown)))))
    if shown.test.fault is not MaskFault.NONE:
        what_the_fault_does(shown, layer, head, token)


def _found(run: Run, fault: MaskFault) -> Leaks | None:
    """What the test has found so far; None where it was stopped before anything was."""
    plan = controls.planned(run, fault)
    done = in_steps(measured.steps_of(plan), what=plan, key=controls.steps_key(fault))
    return measured.as_far_as(plan, len(done.found)) if done.found else None


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
            title = _("With the fault: {fault}").format(fault=words.fault(fault))
            _verdict(shown, title, "fault_verdict")
    note(" ".join(filter(None, (words.reach(run), _path_note(run)))))


def _path_note(run: Run) -> str:
    return words.path_note(run, link.value("attention_path"), link.value("planted_fault"))


def _verdict(found: Leaks, title: str, key: str) -> None:
    """A mark and a sentence."""
    is_clean = words.is_clean(found)
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
        st.markdown(words.verdict(found))


def _nothing_forbidden(run: Run) -> None:
    if not measured.forbidden(run).any():
        controls.causal_button()


def _pictures(found: Leaks, token: int) -> None:
    left, right = st.columns(2)
    with left:
        show(draw_moved, found, token, key="moved", alt=words.moved_alt, on_click=pin_token)
    with right:
        if found.followed:
            alt = words.gradient_alt
            show(draw_gradient, found, token, key="gradient", alt=alt, on_click=pin_token)
        else:
            note(_("The gradient was not computed: the test was stopped."))
    st.info(words.what_is_seen(found), icon=":material/lightbulb:")


def what_the_fault_does(found: Leaks, layer: int, head: int, token: int) -> None:
    """The pattern of one head, clean and with the fault; a way out where it does not matter."""
    run, fault, scale = found.test.run, found.test.fault, controls.score_scale()
    st.markdown(words.what_it_does(fault))
    if fault is MaskFault.ADDITIVE:
        st.markdown(words.lead(run))
    if words.is_clean(found) is not False:
        st.markdown(words.no_matter(run, fault))
        controls.where_it_matters(run, fault)
    left, right = columns(2)
    for column, planted in ((left, MaskFault.NONE), (right, fault)):
        with column:
            shown = run, layer, head, planted, scale, token
            key = "clean_pattern" if planted is MaskFault.NONE else "faulty_pattern"
            show(draw_planted, *shown, key=key, alt=words.pattern_alt)
            note(words.row_sums(run, layer, head, planted, scale))


def draw_moved(found: Leaks, token: int):
    """How far each output moves when one token changes."""
    run = found.test.run
    return leaks.leak_map(
        measured.moved(found),
        measured.forbidden(run)[:, found.tokens],
        Names(
            _("One token changes: how much outputs change"),
            _("output"),
            _("token that changes"),
            run.input.labels,
            [run.input.labels[i] for i in found.tokens],
        ),
        unit=words.unit(run),
        pinned=token,
        _=_,
    )


def draw_gradient(found: Leaks, token: int):
    """How strongly each output depends on each token."""
    run = found.test.run
    return leaks.leak_map(
        measured.gradients(found),
        measured.forbidden(run)[found.outputs, :],
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


def draw_planted(run: Run, layer: int, head: int, fault: MaskFault, scale: int, token: int):
    """The pattern of a head with a fault, or without."""
    _scores, pattern = measured.steps(run, layer, head, fault, scale)
    name = _("as configured") if fault is MaskFault.NONE else words.fault(fault)
    title = _("Layer {layer}, head {head}: {name}")
    title = title.format(layer=layer + 1, head=head, name=name)
    labels = run.input.labels
    return mask_steps.pattern_map(
        pattern, measured.open_cells(run), labels, labels, title=title, pinned=token, _=_
    )

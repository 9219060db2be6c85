"""Does the mask hold: one token changes, and the outputs that may not move are watched."""

from collections.abc import Hashable
from operator import attrgetter

import streamlit as st

from blocks.inspection import leaks, mask_faults
from blocks.inspection.leaks import N_PROJECTIONS, AttentionPath, LeakFacts, known_leaks
from blocks.inspection.mask_faults import MaskFault
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import Picture
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.masks import faults, leaks_picture, plan, shared
from pages.panels.masks.plan import Plan, leak_facts
from pages.show.chart import show
from pages.show.controls import choose, slide, slider
from pages.show.explain import explained, note
from pages.show.parts import File, Matrix, the_values
from pages.show.said import tell
from pages.show.steps import in_steps
from pages.show.views import pin_token
from pages.show.ways import way
from pages.stage import present
from pages.state import labelled
from pages.state.values import State
from pages.words.language import _, fill, sentences

CODE = (leaks.reachable, leaks.moved, leaks.gradients, mask_faults.faulty_pattern)
SCALES = (1, 10, 100, 1_000, 10_000, 100_000)
LEAST_SLIDER = 24
KNOWN = {
    "batchnorm": N_(
        "In training mode BatchNorm computes the mean and variance over all tokens of the "
        "batch, later ones included, and no mask can prevent that."
    ),
    "expert_capacity": N_(
        "With limited capacity, tokens compete for experts, so where a token is routed "
        "depends on the others."
    ),
    "mean": N_(
        "A part was replaced by its mean over all tokens, later ones included, so its output "
        "depends on all of them."
    ),
}


def says_verdict(facts: LeakFacts) -> str:
    """What the test says of this model, in a sentence or two."""
    if not facts.by_change.n_forbidden:
        return _("Nothing is forbidden here, so nothing can leak. Choose a mask to test.")
    if facts.leak is not None:
        return sentences(_leak(facts), *_reasons(facts))
    if facts.n_unknown:
        text = _("Some forbidden cells ({n:,}) are NaN, so the test is inconclusive: {why}")
        return text.format(n=facts.n_unknown, why=_("the model itself overflows."))
    text = _("No leak so far: every forbidden cell ({n:,} in all) is exactly 0 when tokens change.")
    if facts.gradient is not None:
        text = _(
            "No leak: every forbidden cell ({n:,} in all) is exactly 0, both when tokens "
            "change and in the gradient."
        )
    if facts.by_change.n_forbidden < facts.n_forbidden:
        text = _(
            "No leak: {changed} of {tokens} tokens were changed, which tests {n:,} of the {all:,} "
            "forbidden cells, and all of these are exactly 0."
        )
    n, whole = facts.by_change.n_forbidden, facts.n_forbidden
    return text.format(n=n, all=whole, changed=len(facts.tokens), tokens=len(facts.labels))


def _leak(facts: LeakFacts) -> str:
    by = facts.leak
    assert by is not None
    text = _(
        "Leak: output {output} has a gradient of {worst:.3g} with respect to the input "
        "vector of token {token}."
    )
    if by is facts.by_change:
        text = _("Leak: output {output} changes by {worst:.3g} when token {token} changes.")
    output, token = (shared.token(facts.labels, place) for place in (by.output, by.token))
    said = text.format(output=output, worst=by.worst, token=token)
    text = _("Forbidden cells that are not 0: {leaking:,} of {forbidden:,}.")
    if by.n_forbidden < facts.n_forbidden:
        text = _("Tested forbidden cells that are not 0: {leaking:,} of {forbidden:,}.")
    return sentences(said, text.format(leaking=by.n_leaking, forbidden=by.n_forbidden))


def _reasons(facts: LeakFacts) -> list[str]:
    reasons = [_(KNOWN[name]) for name in known_leaks(facts.test.run)]
    if facts.mixing:
        text = _("The output of another sequence in the same batch changes too, by up to {x:.3g}.")
        reasons.append(text.format(x=facts.mixing))
    return reasons


def says_reach(facts: LeakFacts) -> str:
    """How many cells stay forbidden through all layers."""
    text = _(
        "One layer forbids {n_closed:,} of {forbidden.size:,} cells. Through all layers "
        "({test.run.config.n_layers}) and residual connections, {n_forbidden:,} output–token "
        "pairs stay forbidden."
    )
    if facts.n_closed == facts.n_forbidden:
        text = _(
            "{n_forbidden:,} of {forbidden.size:,} output–token pairs are forbidden through all "
            "layers."
        )
    return fill(text, facts)


def says_path(run: Run, path: str, fault: MaskFault) -> str:
    """Why the path is not the one that was asked for; empty where it is."""
    if fault is not MaskFault.NONE:
        return _(
            "The fault is planted between scores and weights, so attention runs in eager "
            "mode, step by step."
        )
    if path == AttentionPath.FUSED and not plan.runs_fused(run):
        return _(
            "Dropout acts on the attention weights here, so attention runs in eager mode, "
            "step by step."
        )
    return ""


def says_moving(facts: LeakFacts) -> str:
    """What the two pictures show of this test."""
    text = _(
        "Of the allowed cells, {n_moving:,} of {n_allowed:,} change, by up to "
        "{most_moved:.3g}. Hatched cells are forbidden and must stay exactly 0."
    )
    return fill(text, facts)


def says_how(facts: LeakFacts) -> str:
    """How the test is done, and how much was tested where that is not all."""
    text = _(
        "Each token in turn is replaced by another (seed {seed}), and every output is "
        "compared with the original bit by bit. The gradient norm ‖∂output/∂input‖ is "
        "estimated from {n} random ±1 projections of the output (same seed); where it is "
        "exactly 0, so is the estimate."
    )
    said = text.format(seed=facts.test.change_seed, n=N_PROJECTIONS)
    if facts.is_whole:
        return said
    text = _("Tested so far: {changed} of {n} tokens changed; gradients of outputs: {followed}.")
    numbers = {"changed": len(facts.tokens), "followed": len(facts.outputs)}
    return sentences(said, text.format(n=len(facts.labels), **numbers))


def draw_moved(done: Plan, token: int) -> Picture:
    return leaks_picture.moved(leak_facts(done), pinned=token, _=_)


def draw_gradient(done: Plan, token: int) -> Picture | None:
    """How strongly each output depends on each token; None where none was followed."""
    return leaks_picture.gradient(leak_facts(done), pinned=token, _=_) if done.followed else None


@section
def does_it_hold(run: Run, state: State) -> None:
    """The verdict on this model, and on the same model with a fault in it."""
    _run, layer, head, token = shared.at(run, state)
    with explained(("leak_test", "mask_faults", "masks"), CODE, key="leaks"):
        controls(run, state)
    fault = plan.planted_fault(state)
    clean = _tested(run, MaskFault.NONE, state)
    if clean is None:
        return
    shown = clean if fault is MaskFault.NONE else _tested(run, fault, state) or clean
    if present.is_on():
        _on_one_screen(clean, shown, token)
        return
    _verdicts(run, clean, shown, state)
    facts = leak_facts(shown)
    left, right = st.columns(2)
    with left:
        show(draw_moved, shown, token, key="moved", on_click=pin_token)
    with right:
        if facts.gradient is None:
            note(_("The gradient was not computed: the test was stopped."))
        else:
            show(draw_gradient, shown, token, key="gradient", on_click=pin_token)
    tell(says_moving(facts))
    note(says_how(facts))
    if facts.test.fault is not MaskFault.NONE:
        faults.what_it_does(facts, layer, head, token, state)


def _on_one_screen(clean: Plan, shown: Plan, token: int) -> None:
    """For a projector: the verdicts, and beside them what moved."""
    left, right = st.columns([2, 3])
    with left:
        _verdict(leak_facts(clean), _("This model as configured"), "verdict")
        if shown is not clean:
            _verdict_of_fault(shown)
    with right:
        show(draw_moved, shown, token, key="moved", on_click=pin_token)


def _tested(run: Run, fault: MaskFault, state: State) -> Plan | None:
    """What the test has done so far; None where it was stopped before anything was."""
    whole = plan.planned(run, fault, state)
    done = in_steps(whole.steps, what=whole, key=plan.steps_key(fault))
    return whole.as_far_as(len(done.found)) if done.found else None


def _verdicts(run: Run, clean: Plan, shown: Plan, state: State) -> None:
    """One beside the other where a fault was planted."""
    facts, fault = leak_facts(clean), plan.planted_fault(state)
    if shown is clean:
        _verdict(facts, _("This model as configured"), "verdict")
        if not facts.n_forbidden:
            faults.causal_button()
    else:
        left, right = st.columns(2)
        with left:
            _verdict(facts, _("This model as configured"), "verdict")
        with right:
            _verdict_of_fault(shown)
    note(sentences(says_reach(facts), says_path(run, state.attention_path, fault)))


def _verdict_of_fault(shown: Plan) -> None:
    name = faults.name(shown.test.fault)
    title = _("With the fault: {fault}").format(fault=name)
    _verdict(leak_facts(shown), title, "fault_verdict")
    faults.way_to_a_leak(leak_facts(shown))


def _verdict(facts: LeakFacts, title: str, key: str) -> None:
    """A mark and a sentence."""
    with st.container(border=True, key=key):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{title}**", width="content")
            if facts.is_clean is None:
                st.badge(_("inconclusive"), color="gray", icon=":material/help:")
            elif facts.is_clean and facts.test.fault is not MaskFault.NONE:
                label = _("not revealed by this input")
                st.badge(label, color="orange", icon=":material/visibility_off:")
            elif facts.is_clean:
                st.badge(_("no leak"), color="green", icon=":material/check:")
            else:
                st.badge(_("leak"), color="red", icon=":material/water_drop:")
        st.markdown(says_verdict(facts))


def controls(run: Run, state: State) -> None:
    """Which fault is planted, how attention is computed, and how much is tested."""
    faults.fault_choice(run, state)
    with present.aside():
        _amount(run, plan.planted_fault(state), state)


def _amount(run: Run, fault: MaskFault, state: State) -> None:
    """How attention is computed, and how much is tested."""
    if fault is MaskFault.ADDITIVE:
        slide("score_scale", _("Multiply QKᵀ by"), SCALES)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if fault is MaskFault.NONE and plan.runs_fused(run):
            choose("attention_path", _("Attention implementation"), AttentionPath)
        label, seed = _("Try other replacements"), state.leak_seed + 1
        way(label, "other_replacements", icon=":material/casino:", leak_seed=seed)
        n = len(run.input.labels)
        if n > min(state.n_changed, LEAST_SLIDER):
            shown = min(state.n_changed, n)
            with st.container(width=260):
                slider("n_changed", _("Tokens to change, evenly spaced"), shown, most=n)


def at(run: Run, state: State) -> tuple[Hashable, ...] | None:
    """What the test on screen has found, and the token; None before it has found anything."""
    done = plan.found_so_far(run, state)
    return (done, labelled.pinned_token(run, state)) if done else None


PANEL = Panel(
    "leaks",
    N_("Does the mask hold?"),
    does_it_hold,
    fields=("n_layers", "n_heads", "position_kind"),
    instruments=("leak-test",),
    at=at,
    facts=leak_facts,
    shows=(
        Matrix(draw_moved, "moved", facts=the_values),
        Matrix(draw_gradient, "gradient", facts=the_values),
        File(attrgetter("table"), "leaks", counted=("output", "token")),
    ),
)

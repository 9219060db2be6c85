"""What norm and residual connection do for depth: all layers of a stack, forward and back."""

from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter

import streamlit as st

from blocks.inspection import depth_facts as measures
from blocks.inspection.depth_facts import EXPLODED, VANISHED, DepthFacts, WayBack
from blocks.inspection.stack import N_CLASSES
from blocks.model.faults import N_
from blocks.model.kinds import NormKind
from blocks.model.placements import own_placement
from blocks.observe.run import Run
from pages.figures.chart import Chart
from pages.figures.numbers import readable
from pages.page.declared import Panel
from pages.page.frame import must_have, section
from pages.panels.normalization import curves, stacks
from pages.panels.normalization.stacks import Stacks
from pages.show.explain import explained
from pages.show.parts import File, Given, Note, Say, Shown
from pages.show.steps import in_steps, n_finished
from pages.show.ways import refused, way
from pages.stage import present
from pages.stage.history import before
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, fill, listing, sentences


@lru_cache(maxsize=32)
def depth_facts(wanted: Stacks, n_done: int, before: Stacks) -> DepthFacts:
    """What the first of the stacks showed, and those that were drawn before."""
    done = wanted[:n_done]
    passes = [stacks.depth_pass(each) for each in done]
    ghost = [stacks.depth_pass(each) for each in before]
    earlier = measures.stack_curves(before, ghost) if before else None
    return measures.depth_facts(done, passes, n_wanted=len(wanted), before=earlier)


def one_measure(wanted: Stacks, n_done: int, before: Stacks, measure: str) -> DepthFacts:
    """The same, of its curves one measure, or every one."""
    facts = depth_facts(wanted, n_done, before)
    ghost = facts.before and facts.before.only(measure)
    return replace(facts, curves=facts.curves.only(measure), before=ghost)


def says_drawn(facts: DepthFacts) -> str:
    """What the one measure that is drawn does; where all are, the gradient stands for them."""
    match facts.curves.alone:
        case "" | "parameter_gradient":
            return says_gradient(facts)
        case "similarity":
            said = says_collapse(facts)
        case _other:
            said = curves.says_ends(facts.curves)
    waiting = stacks.says_how_far(len(facts.stacks), facts.n_wanted)
    return sentences(waiting, said, says_overflow(facts))


def says_gradient(facts: DepthFacts) -> str:
    """What reaches the first layer against the last, in every placement that is drawn."""
    said = [stacks.says_how_far(len(facts.stacks), facts.n_wanted)]
    if facts.ways_back:
        listed = listing(_way_back(way, facts) for way in facts.ways_back)
        text = _("Gradient in layer 1 relative to that in layer {n}, by norm placement: {listed}.")
        said.append(text.format(n=facts.curves.n_layers, listed=listed))
        if all(way.arrives for way in facts.ways_back):
            said += [_("No gradient vanishes or explodes."), _at_the_output(facts)]
    return sentences(*said, says_overflow(facts))


def _at_the_output(facts: DepthFacts) -> str:
    """Where placements do differ, if they do: how large the gradient is there."""
    sizes = {terms.option(way.placement): f"{way.last:.2g}" for way in facts.ways_back}
    if len(set(sizes.values())) < 2:
        return ""
    text = _(
        "The norm placements differ in the size of the gradient near the output (layer {n}): "
        "{listed}."
    )
    listed = enumeration(f"{name} {size}" for name, size in sizes.items())
    return text.format(n=facts.curves.n_layers, listed=listed)


def _way_back(way: WayBack, facts: DepthFacts) -> str:
    name = terms.option(way.placement)
    if way.placement == facts.own:
        name = _("{placement} (as in yours)").format(placement=name)
    text, ratio = _("{ratio} times as large"), readable(way.ratio) if way.last else ""
    if way.first == 0:
        text = _("underflows to 0 in {dtype}")
    elif way.last == 0:
        text = _("0 in the last layer")
    elif way.ratio < VANISHED:
        text = _("{ratio} times as large (vanishing)")
    elif way.ratio > EXPLODED:
        text = _("{ratio} times as large (exploding)")
    return f"{name}: {text.format(ratio=ratio, dtype=facts.first.run.dtype)}"


def says_overflow(facts: DepthFacts) -> str:
    """Where numbers left the number format: which placements, from which layer on."""
    said = []
    for found in facts.overflows:
        text = _("Norm placement {placement}: from layer {layer} on, the stream overflows {dtype}.")
        if found.layer is None:
            text = _(
                "Norm placement {placement}: the stream stays finite in {dtype}, but "
                "its gradients do not."
            )
        name, dtype = terms.option(found.placement), facts.first.run.dtype
        said.append(text.format(placement=name, layer=found.layer, dtype=dtype))
    return sentences(*said)


def says_collapse(facts: DepthFacts) -> str:
    """Whether tokens become alike, beside Dong et al. 2021."""
    if facts.similarity_in is None:
        return _("There is only one token, so there is no other to compare it with.")
    said = []
    if facts.similarity:
        ends = (f"{terms.option(name)} {end:.2f}" for name, end in facts.similarity.items())
        text = _(
            "Pairs of tokens have a mean cosine similarity of {start:.2f} at the input; "
            "after layer {n}, by norm placement: {listed}."
        )
        n, listed = facts.curves.n_layers, enumeration(ends)
        said.append(text.format(start=facts.similarity_in, n=n, listed=listed))
    return sentences(*said, _beside_dong(facts))


def _beside_dong(facts: DepthFacts) -> str:
    if not facts.first.run.config.norm.residual:
        text = _(
            "Dong et al. (2021) predict rank collapse without residual connections; {verdict}."
        )
        is_alike = facts.own in facts.alike
        verdict = _("this run agrees") if is_alike else _("this run does not show it (yet)")
        return text.format(verdict=verdict)
    text = _(
        "Dong et al. (2021) prove that attention alone, without residual connections, "
        "makes all tokens alike. With residual connections, this need not happen; here "
        "{verdict}. Switch the connections off to compare."
    )
    verdict = _("the tokens do not become alike")
    if facts.alike:
        verdict = _("the tokens become nearly identical anyway (norm placement: {listed})")
    return text.format(verdict=verdict.format(listed=enumeration(map(terms.option, facts.alike))))


def says_setting(facts: DepthFacts) -> str:
    """What was built and measured, with all that is needed to do it again."""
    stack, config = facts.first, facts.first.config
    text = _(
        "n_layers {n_layers}, d_model {config.d_model}, n_heads {config.n_heads}, d_ff "
        "{config.d_ff}, {n_tokens} tokens, {run.dtype}. The weights were drawn at random for this "
        "test ({drawn}, seeds {seeds}), with dropout off. Input: {read}. The "
        "loss ({loss} in the first stack) is the cross entropy of a random linear probe against a "
        "random label at each token ({classes} classes)."
    )
    read = _(
        "random vectors for the text's tokens, since this run's own vectors are wider "
        "than the stack"
    )
    if stack.reads_own_stream:
        read = _("the input of this run's first layer")
    is_finite = facts.loss < float("inf")
    loss = _("{nats:.2f} nats").format(nats=facts.loss) if is_finite else _("not finite")
    seeds, drawn = enumeration(map(str, facts.seeds)), terms.option(config.initialization)
    more = {"seeds": seeds, "drawn": drawn, "read": read, "classes": N_CLASSES, "loss": loss}
    said = fill(text, stack, **more)
    if stack.run.config.norm.norm_kind is NormKind.BATCH_NORM:
        said = sentences(said, _("BatchNorm uses the statistics of the batch, as in training."))
    return said


def every_layer(facts: DepthFacts) -> Chart:
    title = _("Effect of depth (n_layers = {n})").format(n=facts.curves.n_layers)
    return curves.by_layer(title, facts.curves, facts.before)


def at(run: Run, state: State) -> tuple[Hashable, ...] | None:
    """What is measured of the stacks, the setting before and the curves; None before any is."""
    wanted = stacks.wanted(run, state.depth, state)
    n_done = n_finished(wanted, KEY)
    mine = tuple(each for each in wanted[:n_done] if each.placement == own_placement(run.config))
    measure = curves.drawn(state)
    return (wanted, n_done, before("stacks", mine) or (), measure) if n_done else None


@section
def what_depth_does(run: Run, state: State) -> None:
    """One stack for each placement and seed: every measure of every layer on one axis."""
    place = explained(("placement_depth", "residual"), stacks.CODE, key="depth")
    wanted = stacks.wanted(run, state.depth, state)
    if fault := stacks.fault(wanted):
        refused(fault, "mend_depth")
        return
    must_have(stacks.n_bytes(wanted), run.device)
    rest = stacks.in_other_processes(wanted)
    in_steps(stacks.passes(wanted), what=wanted, key=KEY, rest=rest)
    if values := at(run, state):
        with present.aside():
            curves.curve_choice(state=state)
        for item in PARTS:
            item.draw(Given(values, one_measure, place))
        experiments(run)


def says_collapse_beside(facts: DepthFacts) -> str | None:
    """Whether tokens become alike, where that is one measure among others."""
    return None if facts.curves.alone else says_collapse(facts)


def experiments(run: Run) -> None:
    """What makes deep stacks fail, one click away; the curves of before stay as a ghost."""
    norm = run.config.norm
    has_norm = norm.norm_kind is not NormKind.NONE
    other_kind = NormKind.NONE if has_norm else NormKind.LAYER_NORM
    with present.aside(), st.container(horizontal=True, key="experiments"):
        off, on = _("Turn off residual connections"), _("Turn on residual connections")
        way(off if norm.residual else on, "try_residual", residual=not norm.residual)
        label = _("Remove the norm") if has_norm else _("Add LayerNorm")
        way(label, "try_norm_kind", norm_kind=str(other_kind))


KEY = "depth_work"
PARTS = (
    Say(says_drawn),
    Shown(every_layer, "depth_panels"),
    Note(says_collapse_beside),
    Note(says_setting),
    File(attrgetter("curves.table"), "depth", facts=depth_facts),
)
PANEL = Panel(
    "depth",
    N_("What does depth do?"),
    what_depth_does,
    stacks.stack_choice,
    fields=("norm_placement", "norm_kind", "residual", "initialization"),
    of_attention=True,
    at=at,
    facts=one_measure,
    shows=PARTS,
)

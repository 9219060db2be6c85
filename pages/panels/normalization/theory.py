"""Why pre-norm trains deeper: the last gradient in stacks of growing depth, beside theory."""

from functools import lru_cache

import streamlit as st

from blocks.inspection import depth_facts as measures
from blocks.inspection.depth_facts import POWERS, TheoryFacts
from blocks.model.kinds import NormKind
from blocks.observe.run import Run
from pages.figures.numbers import hundredths, with_unit
from pages.figures.theme import Picture, Translate
from pages.panels.normalization import depth_picture, shared, stacks
from pages.panels.normalization.stacks import Stacks
from pages.ui import link, present, terms
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, listing, sentences
from pages.ui.said import say
from pages.ui.settings import memory_budget


@lru_cache(maxsize=32)
def theory_facts(wanted: Stacks, n_done: int) -> TheoryFacts:
    """What the first of the stacks showed."""
    passes = [stacks.depth_pass(each) for each in wanted[:n_done]]
    return measures.theory_facts(wanted[:n_done], passes, n_wanted=len(wanted))


def says_theory(facts: TheoryFacts) -> str:
    """How the last gradient depends on depth, and what follows for training."""
    if waiting := stacks.says_how_far(facts.n_done, facts.n_wanted):
        return sentences(waiting, _("Conclusions appear once all stacks are measured."))
    if not facts.slopes:
        return _("Choose norm placement pre or post and at least 4 layers to compare with theory.")
    if facts.is_as_predicted:
        return sentences(_says_trends(facts), _says_what_follows())
    return sentences(_says_trends(facts), _says_what_differs(facts))


def _says_trends(facts: TheoryFacts) -> str:
    depths = facts.table["n_layers"]
    text = _(
        "From {first} to {last} layers, the gradient of the last matrix changes by these "
        "factors: {listed}."
    )
    ways = (f"{terms.option(each.placement)} {times(each.gradient)}" for each in facts.trends)
    return text.format(first=depths.min(), last=depths.max(), listed=enumeration(ways))


def _says_what_follows() -> str:
    return _(
        "The more layers an update changes at once, the smaller the gradient of each should "
        "be. With post-norm it does not shrink, so the first updates of a deep stack are too "
        "large, unless a warm-up keeps them small (Xiong et al. 2020)."
    )


def says_cause(facts: TheoryFacts) -> str:
    """What the norm does to the stream, and the stream to the gradient."""
    text = _(
        "The cause is where the norm sits. Pre-norm leaves the residual path untouched: the "
        "stream adds up the outputs of all layers (growth with depth: {pre}), and the final "
        "norm divides the gradient by the stream's size. Post-norm brings the stream back to "
        "the same size after every layer ({post})."
    )
    streams = {each.placement: times(each.stream) for each in facts.trends}
    return text.format(pre=streams["pre"], post=streams["post"])


def _says_what_differs(facts: TheoryFacts) -> str:
    """Which placement does not behave as predicted, or is missing."""
    if missing := POWERS.keys() - {each.placement for each in facts.slopes}:
        return _("Also show norm placement {placement} for comparison.").format(
            placement=enumeration(map(terms.option, sorted(missing)))
        )
    text = _(
        "Xiong et al. (2020) predict otherwise for norm placement {placements}; the "
        "reason is given below."
    )
    found = (terms.option(each.placement) for each in facts.slopes if not each.agrees)
    return text.format(placements=enumeration(found))


def says_exponents(facts: TheoryFacts) -> str:
    """The powers of depth, measured and predicted."""
    text = _("{placement}: depth^{measured}, theory {expected}")
    listed = (
        text.format(
            placement=terms.option(each.placement),
            measured=_signed(each.measured),
            expected=_signed(each.expected),
        )
        for each in facts.slopes
    )
    said = _(
        "Thin lines show the powers of depth that theory predicts, drawn from the "
        "measured value at 1 layer. Fitted to stacks of 2 or more layers: {listed}."
    )
    return said.format(listed=listing(listed)) if facts.slopes else ""


def _signed(power: float) -> str:
    return f"{round(power, 2) + 0.0:.2f}".replace("-", "−")


def times(ratio: float) -> str:
    """A ratio, to two decimals."""
    return with_unit(hundredths(ratio), "×")


def says_why(facts: TheoryFacts) -> str:
    """Why theory and this stack may differ."""
    config = facts.config
    if config.attention_only:
        return _("There is no feed-forward layer here, so the last matrix is attention's out_proj.")
    if not config.norm.residual:
        return _("The theorem assumes a residual connection, and here it is off.")
    if config.norm.norm_kind is not NormKind.LAYER_NORM:
        return _("The theorem assumes LayerNorm, which is not used here.")
    if config.initialization != "xavier_uniform":
        return _(
            "The theorem assumes Xavier initialization, where each branch adds as much as "
            "the stream carries; here the weights are drawn differently, and the input of "
            "the stack weighs more."
        )
    return _("Initialized as in the theorem, except for attention, which the theorem simplifies.")


def draw_gradients(facts: TheoryFacts, *, _: Translate) -> Picture:
    """The last gradient against depth."""
    names = shared.names(facts.table["placement"].unique())
    return depth_picture.last_gradients(facts.table, names, _=_)


@section
def how_it_scales(run: Run) -> None:
    """Stacks of 1, 2, 4, … layers up to the chosen depth."""
    place = explained(("why_pre_norm",), stacks.CODE, key="scaling_story")
    depth = link.value("depth")
    if stacks.wanted(run, depth)[0].fault(memory_budget(run.device)):
        return
    depths = measures.depths_below(depth)
    wanted = tuple(each for n_layers in depths for each in stacks.wanted(run, n_layers))
    n_done = stacks.measured(wanted, "scaling_work")
    if not n_done:
        return
    with place:
        say(says_theory, wanted, n_done, facts=theory_facts)
    picture, cause = st.columns([7, 4]) if present.is_on() else (st.container(), st.container())
    with picture:
        show(draw_gradients, wanted, n_done, facts=theory_facts, key="depth_scaling")
    facts = theory_facts(wanted, n_done)
    if facts.is_as_predicted:
        with cause:
            say(says_cause, wanted, n_done, facts=theory_facts)
    note(sentences(says_exponents(facts), says_why(facts)))

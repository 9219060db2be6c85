"""The gradient of the last matrix in stacks of growing depth, beside theory."""

from functools import lru_cache

from blocks.inspection import depth_facts as measures
from blocks.inspection.depth_facts import SLOPE_TOLERANCE, TheoryFacts
from blocks.model.kinds import NormKind
from blocks.observe.run import Run
from pages.figures.theme import Picture, Translate
from pages.panels.normalization import depth_picture, shared, stacks
from pages.panels.normalization.stacks import Stacks
from pages.ui import link, terms
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, sentences
from pages.ui.said import say
from pages.ui.settings import memory_budget


@lru_cache(maxsize=32)
def theory_facts(wanted: Stacks, n_done: int) -> TheoryFacts:
    """What the first of the stacks showed."""
    passes = [stacks.depth_pass(each) for each in wanted[:n_done]]
    return measures.theory_facts(wanted[:n_done], passes, n_wanted=len(wanted))


def says_theory(facts: TheoryFacts) -> str:
    """How the last gradient depends on depth, beside Xiong et al. 2020."""
    said = [
        _(
            "Xiong et al. 2020 (theorem 1, at initialization): the gradient of the last "
            "feed-forward matrix does not depend on depth for post-norm, and falls as "
            "1/√depth for pre-norm."
        )
    ]
    if waiting := stacks.says_how_far(facts.n_done, facts.n_wanted):
        said += [waiting, _("The comparison with theory follows when all are measured.")]
    elif not facts.slopes:
        said.append(_("Choose pre or post and at least 4 layers to compare with theory."))
    for slope in facts.slopes:
        text = _(
            "Measured for {placement}: depth^({slope:.2f}), predicted {expected:.1f}; {verdict}."
        )
        verdict = _("differs by more than {tolerance}")
        if slope.agrees:
            verdict = _("agrees within ±{tolerance}")
        name = terms.option(slope.placement)
        verdict = verdict.format(tolerance=SLOPE_TOLERANCE)
        values = {"slope": slope.measured, "expected": slope.expected, "verdict": verdict}
        said.append(text.format(placement=name, **values))
    return sentences(*said)


def says_why(facts: TheoryFacts) -> str:
    """Why theory and this stack may differ."""
    config = facts.config
    if config.attention_only:
        return _("There is no feed-forward here: the matrix is attention's out_proj.")
    if not config.norm.residual:
        return _("The theorem assumes a residual connection, and here it is off.")
    if config.norm.norm_kind is not NormKind.LAYER_NORM:
        return _("The theorem is about LayerNorm.")
    if config.initialization != "xavier_uniform":
        return _(
            "The theorem assumes Xavier initialization, where each branch adds as much "
            "as the stream carries; here the weights are drawn otherwise, and the input "
            "of the stack weighs more."
        )
    return _("Initialized as in the theorem, except attention, which the theorem simplifies.")


def draw_gradients(facts: TheoryFacts, *, _: Translate) -> Picture:
    """The last gradient against depth."""
    names = shared.names(facts.table["placement"].unique())
    return depth_picture.last_gradients(facts.table, names, _=_)


@section
def how_it_scales(run: Run) -> None:
    """Stacks of 1, 2, 4, … layers up to the chosen depth."""
    place = explained(("placement_depth",), stacks.CODE, key="scaling_story")
    depth = link.value("depth")
    if stacks.wanted(run, depth)[0].fault(memory_budget()):
        return
    depths = measures.depths_below(depth)
    wanted = tuple(each for n_layers in depths for each in stacks.wanted(run, n_layers))
    n_done = stacks.measured(wanted, "scaling_work")
    if not n_done:
        return
    with place:
        say(says_theory, wanted, n_done, facts=theory_facts)
    show(draw_gradients, wanted, n_done, facts=theory_facts, key="depth_scaling")
    note(says_why(theory_facts(wanted, n_done)))

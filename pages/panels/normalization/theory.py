"""Why pre-norm trains deeper: the last gradient in stacks of growing depth, beside theory."""

from collections.abc import Hashable, Sequence
from functools import lru_cache

from blocks.inspection import depth_facts as measures
from blocks.inspection.depth_facts import POWERS, TheoryFacts
from blocks.model.faults import N_
from blocks.model.kinds import NormKind
from blocks.observe.run import Run
from pages.figures.chart import Axis, Chart, Look, Series, band, line
from pages.figures.numbers import hundredths, with_unit
from pages.figures.series import placement_look
from pages.figures.theme import faint
from pages.page.declared import Panel
from pages.panels.normalization import shared, stacks
from pages.panels.normalization.stacks import Stacks
from pages.show.parts import Beside, Item, Note, Say, Shown, Steps, Text
from pages.stage import present
from pages.state.values import State
from pages.words import terms
from pages.words.language import _, enumeration, listing, sentences


@lru_cache(maxsize=32)
def theory_facts(wanted: Stacks, n_done: int) -> TheoryFacts:
    passes = [stacks.depth_pass(each) for each in wanted[:n_done]]
    return measures.theory_facts(wanted[:n_done], passes, n_wanted=len(wanted))


def says_theory(facts: TheoryFacts) -> str:
    """How the last gradient depends on depth, and what follows for training."""
    if waiting := stacks.says_how_far(facts.n_done, facts.n_wanted):
        return sentences(waiting, _("Conclusions appear once all stacks are measured."))
    if not facts.slopes:
        return _("Choose norm placement pre or post and at least 4 layers to compare with theory.")
    follows = _(
        "The more layers an update changes at once, the smaller the gradient of each should "
        "be. With post-norm it does not shrink, so the first updates of a deep stack are too "
        "large, unless a warm-up keeps them small (Xiong et al. 2020)."
    )
    more = follows if facts.is_as_predicted else _says_what_differs(facts)
    return sentences(_says_trends(facts), more)


def _says_trends(facts: TheoryFacts) -> str:
    depths = facts.table["n_layers"]
    text = _(
        "From {first} to {last} layers, the gradient of the last matrix changes by these "
        "factors: {listed}."
    )
    ways = (f"{terms.option(each.placement)} {times(each.gradient)}" for each in facts.trends)
    return text.format(first=depths.min(), last=depths.max(), listed=enumeration(ways))


def says_cause(facts: TheoryFacts) -> str | None:
    """What the norm does to the stream, and the stream to the gradient."""
    if not facts.is_as_predicted:
        return None
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
        "Xiong et al. (2020) make a different prediction for norm placement {placements}; the"
        " reason is given below."
    )
    found = (terms.option(each.placement) for each in facts.slopes if not each.agrees)
    return text.format(placements=enumeration(found))


def says_exponents(facts: TheoryFacts) -> str:
    """The powers of depth, measured and predicted."""
    if not facts.slopes:
        return ""
    text = _("{placement}: depth^{measured}, theory {expected}")
    listed = []
    for each in facts.slopes:
        powers = {name: _signed(getattr(each, name)) for name in ("measured", "expected")}
        listed.append(text.format(placement=terms.option(each.placement), **powers))
    return _(
        "Thin lines show the powers of depth that theory predicts, drawn from the "
        "measured value at 1 layer. Fitted to stacks of 2 or more layers: {listed}."
    ).format(listed=listing(listed))


def _signed(power: float) -> str:
    return f"{round(power, 2) + 0.0:.2f}".replace("-", "−")


def times(ratio: float) -> str:
    return with_unit(hundredths(ratio), "×")


def says_why(facts: TheoryFacts) -> str:
    """Why theory and this stack may differ."""
    config = facts.config
    if config.attention_only:
        return _("There is no feed-forward layer here, so the last matrix is attention's out_proj.")
    if not config.norm.residual:
        return _("The theorem assumes a residual connection, which is switched off here.")
    if config.norm.norm_kind is not NormKind.LAYER_NORM:
        return _("The theorem assumes LayerNorm, which is not used here.")
    if config.initialization != "xavier_uniform":
        return _(
            "The theorem assumes Xavier initialization, where each branch adds as much as "
            "the stream carries; here the weights are drawn differently, and the input of "
            "the stack weighs more."
        )
    return _(
        "The weights are initialized as in the theorem, except for attention, which the "
        "theorem simplifies."
    )


def says_more(facts: TheoryFacts) -> str:
    """The powers of depth, and why theory and these stacks may differ."""
    return sentences(says_exponents(facts), says_why(facts))


def last_gradients(facts: TheoryFacts) -> Chart:
    """The gradient of the last matrix in stacks of growing depth, both axes logarithmic.

    Dashed: how it goes on from the first depth if it does not depend on depth (post), or falls as
    1/√depth (pre; Xiong et al. 2020, theorem 1).
    """
    table = facts.table[facts.table["median"] > 0]
    names = shared.names(facts.table["placement"].unique())
    series = list[Series]()
    for name, rows in table.groupby("placement", sort=False):
        placement = str(name)
        look = placement_look(placement, names[placement], symbol="circle", size=8)
        series += [
            band("least", "most", str(look.color), rows=rows),
            line("median", look, rows=rows),
        ]
        if placement in POWERS and len(rows) > 1:
            post, pre = _("theory for post-norm: constant"), _("theory for pre-norm: 1/√depth")
            depth = rows["n_layers"]
            expected = rows["median"].iloc[0] * (depth / depth.iloc[0]) ** POWERS[placement]
            thin = Look(
                pre if placement == "pre" else post,
                faint(str(look.color), 0.7),
                dash="longdash",
                width=1,
            )
            theory = rows.assign(median=expected)
            series.append(line("median", thin, rows=theory, hover="{name}", in_legend=False))
    depths = sorted(set(facts.table["n_layers"]))
    ends = (table["median"].min(), table["median"].max()) if len(table) else (0.1, 1)
    return Chart(
        _("Gradient of the last matrix (thin: theory)"),
        {},
        Axis(_("number of layers"), of="n_layers", is_log=True, ticks=depths),
        Axis(_("gradient norm"), ends, is_log=True, room=0.15),
        series,
        hover="{name} · " + _("depth {n}").format(n="{x}") + ": {y:.4g} ({least:.4g} … {most:.4g})",
    )


def at(run: Run, state: State) -> tuple[Hashable, ...] | None:
    """Stacks of 1, 2, 4, … layers up to the chosen depth; None where they are too large."""
    depth = state.depth
    if stacks.fault(stacks.wanted(run, depth, state)):
        return None
    depths = measures.depths_below(depth)
    return (tuple(each for n_layers in depths for each in stacks.wanted(run, n_layers, state)),)


def shown(_stacks: Stacks) -> Sequence[Item]:
    """The picture, and the cause: beside it in front of a class."""
    picture, cause = Shown(last_gradients, "depth_scaling", room=470), Text(says_cause)
    parts = (Beside(picture, cause, widths=(7, 4)),) if present.is_on() else (picture, cause)
    steps = Steps(
        *(stacks.passes, Say(says_theory), *parts, Note(says_more)),
        key="scaling_work",
        rest=stacks.in_other_processes,
    )
    return (steps,)


PANEL = Panel(
    "theory",
    N_("Why pre-norm?"),
    choices=stacks.stack_choice,
    fields=("norm_placement", "norm_kind", "residual"),
    of_attention=True,
    concepts=("why_pre_norm",),
    code=stacks.CODE,
    at=at,
    needs=stacks.n_bytes,
    facts=theory_facts,
    shows=shown,
)

"""When does the induction head appear? Its score, its circuits, and the loss without it."""

import math
from collections.abc import Iterator

import pandas as pd

from blocks.inspection.head_probe import head_probe
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.phases import hindsight
from blocks.phases.clock import Clock
from blocks.phases.facts import InductionFacts
from blocks.phases.hindsight import FOUND_ABOVE
from blocks.training.induction import TOKENS
from blocks.training.tasks import TaskKind
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, line
from pages.figures.counting import from_one
from pages.page.declared import Panel
from pages.panels.phases import induction_picture, shared
from pages.show.choices import chooses
from pages.show.parts import Beside, Matrix, Note, OffScreen, Say, Shown, Text
from pages.show.ways import click_sets
from pages.state.values import State
from pages.words.language import _, enumeration, fill
from pages.words.numbers import percent


def at(_run: Run | None, state: State) -> tuple[Clock, int]:
    """The training, and the look at it."""
    series = shared.clock(TaskKind.INDUCTION, state)
    return series, shared.shown_step(series, state)


@chooses("phase_seed")
def choices(_run: Run | None) -> None:
    """The seed."""
    shared.seed_choice("induction")


def facts_of(series: Clock, step: int) -> InductionFacts:
    """Those of in-context repetition."""
    found = shared.facts_of(series, step)
    assert isinstance(found, InductionFacts)
    return found


def says_induction(facts: InductionFacts) -> str:
    """When it appears, what happens to the loss then, and what is lost without it."""
    text = _(
        "The held-out loss falls to half of its peak at step {jump}. By then, the induction "
        "heads ({heads}) give {least} to {most} of their attention to the token that followed"
        " the same token before ({start} at step 0). Their effects add up, so none of them "
        "needs to reach one half; the first to reach it does so at step {formed_at}."
    )
    least, most = facts.found_scores(facts.jump)
    return fill(
        text,
        facts,
        heads=enumeration(_place(*each) for each in facts.found),
        least=percent(least),
        most=percent(most),
        start=percent(facts.found_scores(0)[1]),
    )


def says_removed(facts: InductionFacts) -> str:
    """How many heads can go, and the control."""
    text = _(
        "Without the strongest induction head, the loss is {one:.2f} nats; without all of "
        "layer 2, it is {all:.2f} ({last:.2f} with every head): the heads can replace each "
        "other. Layer 1 is the other half. Without its head {head}, which attends most to the"
        " previous token, the loss is {previous:.2f}; in the control, without its other {n} "
        "heads together, it is {others:.2f}."
    )
    table = facts.removed
    return text.format(
        one=table["induction"][1],
        all=table["induction"].iloc[-1],
        last=table["induction"][0],
        head=_place(*facts.previous),
        previous=table["previous"][1],
        n=facts.n_others,
        others=table["others"].iloc[-2],
    )


def _place(layer: int, head: int) -> str:
    return f"{from_one(layer)}.{from_one(head)}"


def removal(facts: InductionFacts) -> Chart:
    """The loss at the end by the number of heads that write nothing."""
    table = facts.removed
    guess = math.log(TOKENS.vocab_size)
    return Chart(
        _("How many heads can be removed?"),
        table,
        Axis(_("heads removed"), (-0.1, facts.n_heads + 0.1), of="n", ticks=table["n"].tolist()),
        Axis(_("held-out loss, nats"), from_0=True),
        [
            line("induction", Look(_("of layer 2, the strongest first"), palette.PINNED, "circle")),
            line("previous", Look(_("of layer 1, the strongest first"), palette.BEFORE, "square")),
            line("others", Look(_("of layer 1, the weakest first"), palette.BEFORE, dash="dot")),
        ],
        hover=_("{n} removed: {value} nats").format(n="{x}", value="{y:.3g}"),
        tall=250,
        legend=Legend.FOOT,
        levels=[Level(guess, name=_("blind guess"))],
    )


def curves(facts: InductionFacts) -> Chart:
    """The loss, whole and without what was found, above what either layer looks at."""
    table = facts.table
    scores = facts.scores
    most = float(table[["held_out_loss", "without_found"]].to_numpy().max())
    return Chart(
        _("Loss and attention on one time axis"),
        table,
        shared.steps_axis(facts),
        (
            Axis(_("held-out loss, nats"), (0, 1.05 * most), is_heading=True),
            Axis(_("share of a head's attention"), (0, 1), is_share=True, is_heading=True),
        ),
        [
            line("held_out_loss", Look(_("untouched"), palette.HELD_OUT), plot=0),
            line("without_one", Look(_("without the strongest"), palette.ATTENTION, dash="dot")),
            line("without_found", Look(_("without all induction heads"), palette.PINNED)),
            *(
                line(
                    "induction" if layer else "previous_token",
                    Look(
                        _("layer 2, on what followed the same token (induction score)")
                        if layer
                        else _("layer 1, on the previous token"),
                        palette.ATTENTION if layer else palette.BEFORE,
                        width=1.5,
                    ),
                    rows=of_head,
                    plot=1,
                    in_legend=head == 0,
                    hover=_("layer {layer}, head {head}, step {step}: {share}").format(
                        layer=from_one(layer), head=from_one(head), step="{x}", share="{y:.0%}"
                    ),
                )
                for (layer, head), of_head in _of_heads(scores)
            ),
            line(
                "sink_mass",
                Look(_("all heads, on the first token"), palette.RESIDUAL, dash="dot"),
                plot=1,
            ),
        ],
        hover=_("step {n}: {value}").format(n="{x}", value="{y:.3g}"),
        click=("step",),
        tall=400,
        legend=Legend.FOOT,
        levels=[*shared.now(facts, 2), Level(FOUND_ABOVE, plot=1)],
    )


def _of_heads(scores: pd.DataFrame) -> Iterator[tuple[tuple[int, int], pd.DataFrame]]:
    for _number, of_head in scores.groupby("number"):
        first = of_head.iloc[0]
        yield (int(first["layer"]), int(first["head"])), of_head


def says_circuits(facts: InductionFacts) -> str:
    """How far the two circuits are diagonal at the step."""
    text = _(
        "At step {step}, for {ov} of the 64 tokens, reading the token raises its own logit "
        "most (OV, the diagonal). For {qk} of all queries, the best match is the key after "
        "their own token (QK through layer {layer}, head {head}, which looks back most). Both"
        " leave out norms and positions."
    )
    layer, head = facts.previous
    return text.format(
        step=facts.now.step,
        ov=percent(facts.diagonal("ov", facts.i)),
        qk=percent(facts.diagonal("qk", facts.i)),
        layer=from_one(layer),
        head=from_one(head),
    )


PANEL = Panel(
    "induction-head",
    N_("When does the induction head appear?"),
    choices=choices,
    reads_input=False,
    of_this_run=False,
    at=at,
    facts=facts_of,
    absent=shared.says_untrained,
    mend=lambda series: shared.train(series, "induction"),
    concepts=("induction",),
    code=(head_probe, hindsight.ov_circuit, hindsight.qk_circuit),
    shows=(
        Say(says_induction),
        shared.step_choice("induction"),
        Shown(curves, "induction_curves", click=click_sets("induction_step")),
        OffScreen(
            Beside(
                Matrix(induction_picture.pattern, "induction_pattern"),
                Matrix(induction_picture.ov, "induction_ov"),
                Matrix(induction_picture.qk, "induction_qk"),
            ),
            Note(says_circuits),
            Beside(Shown(removal, "heads_removed"), Text(says_removed)),
        ),
    ),
)

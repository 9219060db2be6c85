"""What a change brings at the same price: equal tokens, equal FLOPs, equal seconds."""

from typing import Any

import pandas as pd
import streamlit as st

from blocks.model.faults import N_, ConfigError, Fault
from blocks.sweep import verdict
from blocks.sweep.verdict import Answer, Contest, Currency, Verdict, contest
from blocks.training.command import assignment
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, dots
from pages.figures.theme import Translate
from pages.page.frame import live_section
from pages.panels.training import sweep, sweeps
from pages.panels.training.shared import expected_pace
from pages.panels.training.sweep_said import as_it_is
from pages.panels.training.wanted import wanted
from pages.show.chart import show
from pages.show.choices import chooses
from pages.show.controls import slider
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.tables import show_table
from pages.stage import link
from pages.state.link_fields.sweep import MOST_SEEDS, MOST_TYPED
from pages.state.values import State
from pages.words.language import _, say_fault, sentences

NAMES = {
    Currency.TOKENS: N_("equal tokens"),
    Currency.FLOPS: N_("equal FLOPs"),
    Currency.SECONDS: N_("equal time"),
}
ANSWERS = {
    Answer.BETTER: N_("With {currency}, the change is better: {mean:+.3f} ± {width:.3f} nats."),
    Answer.WORSE: N_("With {currency}, the change is worse: {mean:+.3f} ± {width:.3f} nats."),
    Answer.UNDECIDED: N_(
        "With {currency}, these seeds are inconclusive: {mean:+.3f} ± {width:.3f} nats."
    ),
}


@chooses("verdict_changes", "sweep_seeds")
def what_changes(_run: object, state: State) -> None:
    """The change, as names and values, and the seeds."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = link.view("verdict_changes", state.verdict_changes)
        st.text_input(_("Change, as name=value"), max_chars=MOST_TYPED, **view)
        slider("sweep_seeds", _("Seeds"), least=1, most=MOST_SEEDS, place="_verdict")


def what_a_change_brings(state: State) -> None:
    """The verdicts, and the trainings that they rest on."""
    with explained(("training", "loss_curve"), (verdict.contest, Verdict), key="verdict"):
        note(
            _(
                "The run with the current settings uses up tokens, FLOPs and time; with the "
                "change, the model is trained with the same seeds for as many updates as each"
                " of these three budgets allows. Check whether an interval crosses 0, and "
                "whether the three agree."
            )
        )
    try:
        asked = _wanted_contest(state)
        sweeps.sweeps().check(asked.sweep)
    except ConfigError as error:
        for fault in error.faults:
            st.info(say_fault(fault), icon=":material/block:")
        return
    is_running = sweeps.sweeps().view(asked.sweep).is_running
    every = sweep.EVERY if is_running else None
    live_section(_so_far, asked, is_running, every=every)


def _wanted_contest(state: State) -> Contest:
    asked = wanted(state)
    if asked.spec is None or asked.faults:
        raise ConfigError(asked.faults)
    words = (word.strip() for word in state.verdict_changes.split(","))
    changes: dict[str, Any] = dict(assignment(word) for word in words if word)
    if not changes:
        raise ConfigError([Fault(N_("Nothing changes: write a name and its value"))])
    found = contest(asked.spec, changes, tuple(range(state.sweep_seeds)), expected_pace)
    sweep.check_limits(found.sweep)
    return found


def _so_far(asked: Contest, was_running: bool) -> None:
    view = sweeps.sweeps().view(asked.sweep)
    sweep.state_row(view, "verdict")
    found = asked.verdicts({key: each.held_out_loss for key, each in view.found.items()})
    if found:
        st.info(says_verdicts(found), icon=":material/lightbulb:")
        show(verdicts_chart, found, facts=as_it_is, key="verdicts", room=sweep.room(view))
        show_table(verdicts_table(found), key="verdicts_table")
    with details(_("Export this sweep")):
        sweep.files_row(view, "verdict")
    if was_running and not view.is_running:
        st.rerun(scope="app")


def says_verdicts(found: tuple[Verdict, ...]) -> str:
    return sentences(*(_says(each) for each in found))


def _says(found: Verdict) -> str:
    if len(found.differences) == 1:
        return _(
            "With {currency} and only one seed, the loss differs by {mean:+.3f} nats, which "
            "is not conclusive."
        ).format(currency=_(NAMES[found.currency]), mean=found.mean)
    return _(ANSWERS[found.answer]).format(
        currency=_(NAMES[found.currency]), mean=found.mean, width=found.half_width
    )


def verdicts_chart(found: tuple[Verdict, ...], *, _: Translate) -> Chart:
    """The mean difference in each currency with its interval, and each seed."""
    means = pd.DataFrame(
        [{"row": i, "mean": each.mean, "half": each.half_width} for i, each in enumerate(found)]
    )
    seeds = pd.DataFrame(
        [
            {"row": i, "difference": difference}
            for i, each in enumerate(found)
            for difference in each.differences
        ]
    )
    mean = Look(_("mean, with its 95% interval"), palette.HELD_OUT, size=11)
    return Chart(
        _("Held-out loss with the change minus that of the baseline"),
        pd.DataFrame({"row": range(len(found))}),
        Axis("", names=[_(NAMES[each.currency]) for each in found]),
        Axis(_("difference, nats"), has_zero=True),
        [
            dots("difference", Look(_("each seed"), palette.BEFORE, size=6), rows=seeds),
            dots("mean", mean, rows=means, error="half", hover="{mean:+.4f} ± {half:.4f}"),
        ],
        hover="{difference:+.4f}",
        levels=[Level(y=0, name=_("no difference"))],
        tall=280,
    )


def verdicts_table(found: tuple[Verdict, ...]) -> pd.DataFrame:
    """A row a currency: updates and losses of both."""
    rows = [
        {
            _("budget"): _(NAMES[each.currency]),
            _("updates of the baseline"): each.n_steps[0],
            _("updates with the change"): each.n_steps[1],
            _("loss of the baseline"): f"{_mean(each.base):.4f}",
            _("loss with the change"): f"{_mean(each.change):.4f}",
        }
        for each in found
    ]
    return pd.DataFrame(rows)


def _mean(losses: tuple[float, ...]) -> float:
    return sum(losses) / len(losses)

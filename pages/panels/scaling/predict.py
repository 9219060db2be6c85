"""Larger trainings foretold by the law of small ones, then trained: the miss."""

from functools import lru_cache
from typing import NamedTuple

import pandas as pd
import streamlit as st

from blocks.cost.scaling_laws import Band, Counted
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.scaling import lab, plan
from blocks.scaling.band import Fitted
from blocks.scaling.lab import PredictFacts
from blocks.scaling.plan import Point, Trainings, points_of
from blocks.scaling.recorded import held_out
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.scaling import shared
from pages.panels.scaling.charts import miss_chart
from pages.panels.scaling.shared import facts_of, in_flops, says_band, size
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.show.fold import details
from pages.show.parts import Note, Say, Shown, Table
from pages.show.said import say
from pages.show.steps import in_series
from pages.show.tables import show_table
from pages.show.typed import typed
from pages.stage import present
from pages.state.values import State
from pages.words.language import _, sentences

ROOM = 420  # pixels of the picture before a class


class Foretold(NamedTuple):
    """A training that was asked for, and the loss that is expected of it."""

    point: Point
    n: float
    expected: Band

    def miss(self, loss: float) -> float:
        return loss / self.expected.value - 1

    def holds(self, loss: float) -> bool:
        return self.expected.least <= loss <= self.expected.most


@lru_cache(maxsize=16)
def predict_facts(runs: shared.Runs, larger: shared.Runs, counted: Counted) -> PredictFacts:
    return lab.predict_facts(shared.by_budget((*runs, *larger), counted))


@lru_cache(maxsize=64)
def foretold(runs: shared.Runs, counted: Counted, flops: float, seed: int) -> Foretold:
    """The model that the law calls best for this budget, and its loss."""
    fit = facts_of(runs, counted).fit
    (point,) = points_of(flops, [facts_of(runs, Counted.ALL).fit.best_size(flops).value], seed)
    n, d, _loss = plan.Measured(point, 0.0, 0.0).trained(counted)
    return Foretold(point, n, fit.expected(n, d))


def says_missed(facts: PredictFacts) -> str:
    """How many larger runs lie in their band, and how far the worst is off."""
    mean, worst = facts.misses
    text = _(
        "The law is fitted to {n_fitted} runs of at most {flops} FLOPs. Of {n} larger runs, "
        "up to {times:.1f} times as expensive and not used in the fit, {n_inside} had a loss "
        "inside their 90% band; the mean error is {mean:.2%}, the worst {worst:+.2%}."
    )
    return text.format(
        n_fitted=len(facts.fit.runs),
        flops=in_flops(facts.most_flops),
        n=len(facts.runs),
        times=facts.times,
        n_inside=facts.n_inside,
        mean=mean,
        worst=worst,
    )


def says_bend(facts: PredictFacts) -> str:
    """To which side the larger runs miss, and what that says of the law."""
    above, n = facts.n_above, len(facts.runs)
    if above == n:
        text = _(
            "All {n} came out above the predicted loss: beyond the runs that the law was "
            "fitted to, the loss is higher than the law says."
        )
    elif not above:
        text = _(
            "All {n} came out below the predicted loss: beyond the runs that the law was "
            "fitted to, the loss is lower than the law says."
        )
    else:
        text = _(
            "{above} of {n} came out above the predicted loss, so no systematic deviation is seen."
        )
    tell = _("Only even larger runs can show how far the loss departs from the law at that scale.")
    return sentences(text.format(n=n, above=above), tell)


def says_all(facts: PredictFacts) -> str:
    """The same test of every budget that can be foretold."""
    inside, n = facts.inside_of_all
    said = _(
        "The same test was made for every budget that has three cheaper ones: each was "
        "predicted by a law fitted to the cheaper ones only. Of the {n} runs predicted in "
        "this way, {inside} had a loss inside their 90% band."
    ).format(n=n, inside=inside)
    return sentences(said, _("The band is probably wider than necessary.") if inside == n else "")


def says_band_of(_facts: PredictFacts) -> str:
    """What the band holds."""
    return _(
        "The band includes two things: how much the law changes when one budget or the "
        "cheapest ones are left out and the runs of the others are resampled, and how much "
        "single runs scatter around it. The fit does not use the entropy of the text, so the "
        "lower end of the band may lie below that entropy, which no run can beat; the band is "
        "not drawn there."
    )


def says_foretold(found: Foretold) -> str:
    """What is expected, before it is trained."""
    text = _(
        "For {flops} FLOPs, the law recommends N = {n} parameters (d_model {d_model}) and {d}"
        " tokens, and predicts a loss of {expected} nats per token."
    )
    return text.format(
        flops=in_flops(found.point.flops),
        n=size(found.n),
        d_model=found.point.d_model,
        d=size(found.point.n_tokens),
        expected=says_band(found.expected, 3),
    )


def says_miss(found: Foretold, loss: float) -> str:
    """How far it was off, and whether the band held it."""
    text = _("The run reached {loss:.4f}, {miss:+.2%} from the prediction.")
    said = text.format(loss=loss, miss=found.miss(loss))
    verdict = _("The loss lies inside its band.")
    if not found.holds(loss):
        verdict = _("The loss lies outside its band.")
    return sentences(said, verdict)


def miss_rows(facts: PredictFacts) -> pd.DataFrame:
    """Every larger run, what was expected of it and what it came to."""
    rows = facts.table
    return pd.DataFrame(
        {
            _("training FLOPs"): rows["flops"].map(in_flops),
            _("parameters N"): rows["n"].map(size),
            _("tokens D"): rows["d"].map(size),
            _("expected"): rows["expected"].map("{:.4f}".format),
            _("90% band"): [
                f"{a:.4f} – {b:.4f}" for a, b in zip(rows["least"], rows["most"], strict=True)
            ],
            _("measured"): rows["loss"].map("{:.4f}".format),
            _("error"): rows["miss"].map("{:+.2%}".format),
        }
    )


@section
def can_it_be_foretold(run: Run, state: State) -> None:
    """The recorded larger runs against the law; and one of the reader's own, trained now."""
    place = explained(("predicting", "scaling_laws"), (Fitted.expected, points_of), key="predict")
    runs, larger, counted = shared.recorded_runs(), held_out(), shared.counted(state)
    if not runs:
        return
    with present.aside(), st.container(horizontal=True, vertical_alignment="bottom"):
        shared.counted_choice("predict")
    if larger:
        with place:
            say(says_missed, runs, larger, counted, facts=predict_facts)
        show(
            miss_chart, runs, larger, counted, facts=predict_facts, key="predict_misses", room=ROOM
        )
        st.markdown(says_bend(predict_facts(runs, larger, counted)))
        if not present.is_on():
            st.markdown(says_all(predict_facts(runs, larger, counted)))
        note(says_band_of(predict_facts(runs, larger, counted)))
    with present.aside():
        _one_more(run, runs, counted, state)
    if larger:
        with details(_("Every larger run"), icon=":material/table:"):
            show_table(miss_rows(predict_facts(runs, larger, counted)), key="predict_rows")


def _one_more(run: Run, runs: shared.Runs, counted: Counted, state: State) -> None:
    """A budget of the reader's: first the prediction, then the training."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="foretold_controls"):
        typed("predicted_flops", _("Your budget, in FLOPs"))
        shared.live_choice("train_predicted", _("Train it here and see the error"))
    found = foretold(runs, counted, state.predicted_flops, run.seed)
    st.markdown(says_foretold(found))
    if not state.train_predicted:
        return
    done = in_series(Trainings((found.point,)), key="foretold_steps", asked_by="train_predicted")
    if done.found:
        st.markdown(says_miss(found, done.found[0].trained(counted).loss))


def at(_run: Run, state: State) -> tuple[shared.Runs, shared.Runs, Counted] | None:
    runs, larger = shared.recorded_runs(), held_out()
    return (runs, larger, shared.counted(state)) if runs and larger else None


PANEL = Panel(
    "predict",
    N_("Can a larger run be predicted?"),
    can_it_be_foretold,
    of_this_run=False,
    reads_input=False,
    at=at,
    facts=predict_facts,
    shows=(
        Say(says_missed),
        Shown(miss_chart, "predict_misses"),
        Note(says_bend),
        Note(says_all),
        Note(says_band_of),
        Table(miss_rows, "predict_rows"),
    ),
)

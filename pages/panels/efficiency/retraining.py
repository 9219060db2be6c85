"""Whether a pruned model learns to do without what is gone, when it is trained on."""

from functools import lru_cache, partial

import pandas as pd

from blocks.efficiency import removal, retraining
from blocks.efficiency.names import name_of
from blocks.efficiency.recorded_retraining import recorded_retraining
from blocks.efficiency.removal import Removed, recipe_without, removal_fault, shares_of
from blocks.efficiency.retraining import N_UPDATES, Repair, Repaired, Retraining, going_on
from blocks.efficiency.retraining_facts import RetrainingFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.training.loop import Training
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, line
from pages.figures.units import quality_text
from pages.page.frame import section
from pages.panels.efficiency import keeping, shared
from pages.panels.efficiency.teaching import teacher_of
from pages.server import starts
from pages.server.settings import memory_budget
from pages.show import words
from pages.show.chart import show
from pages.show.controls import choose, slide, switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.said import say
from pages.show.steps import in_series
from pages.stage import present
from pages.state.values import State
from pages.words.language import _, say_fault, sentences
from pages.words.numbers import percent

CODE = (
    retraining.mask_smallest,
    retraining.take_out,
    removal.least_needed,
    retraining.removed_share,
    Training.mask,
)
LOOKS = {
    Repair.NONE: (N_("removed all at once, not retrained"), palette.BEFORE, "x"),
    Repair.AFTER: (N_("removed all at once, then retrained"), palette.ATTENTION, "square"),
    Repair.GRADUAL: (N_("removed gradually while retraining"), palette.FEED_FORWARD, "circle"),
}
LEAST_KEPT = 0.95
REMOVED_NAMES = {
    Removed.WEIGHTS: N_("weights"),
    Removed.HEADS: N_("heads"),
    Removed.HIDDEN_UNITS: N_("hidden units"),
    Removed.LAYERS: N_("layers"),
}


@lru_cache(maxsize=32)
def facts_of(weights: str, removed: Removed, found: tuple[Repaired, ...]) -> RetrainingFacts:
    """What was measured so far."""
    model = starts.calibrated(weights)
    score_name = model.score_name
    config = model.file.config
    return RetrainingFacts(removed, config, found, N_UPDATES, score_name, model.is_share)


def says_retraining(facts: RetrainingFacts) -> str:
    """How much can go without training, with it, and little by little."""
    once, after, gradual = (percent(facts.kept_up_to(repair, LEAST_KEPT)) for repair in Repair)
    text = _(
        "Without retraining, the model keeps {kept} with up to {once} of its {parts} removed."
        " If it is retrained for {n} updates afterwards, {after} can be removed, or {gradual}"
        " if they are removed gradually during these updates. With nothing removed, the same "
        "updates change the result from {before} to {control}, which is the reference here."
    )
    return text.format(
        parts=_(REMOVED_NAMES[facts.removed]),
        kept=shared.said_kept(LEAST_KEPT, facts.score_name, facts.is_share),
        once=once,
        after=after,
        gradual=gradual,
        n=facts.n_updates,
        before=_said(facts, facts.original),
        control=_said(facts, facts.control),
    )


def _said(facts: RetrainingFacts, found: Repaired) -> str:
    return quality_text(facts.quality(found), is_share=facts.is_share)


def retraining_table(facts: RetrainingFacts) -> pd.DataFrame:
    """One row a measurement."""
    return pd.DataFrame(
        {
            "repair": [str(each.repair) for each in facts.found],
            "removed": [each.share for each in facts.found],
            "parameters": [facts.n_parameters(each.share) for each in facts.found],
            "score": [each.score for each in facts.found],
            "held_out_loss": [each.loss for each in facts.found],
        }
    )


def lines(facts: RetrainingFacts) -> Chart:
    """A line a way; the whole model, trained on, is the level."""
    column = "score" if facts.is_share else "loss"
    return Chart(
        _("What retraining recovers"),
        facts.found,
        Axis(_("share removed"), (-0.02, 0.95), of="share", is_share=True),
        shared.quality_axis(facts.score_name, facts.is_share),
        [
            line(column, Look(_(name), color, symbol, size=9, width=2), rows=facts.line(repair))
            for repair, (name, color, symbol) in LOOKS.items()
            if len(facts.line(repair)) > 1
        ],
        hover=_("{share:.0%} removed: {score:.3f}, loss {loss:.3f}"),
        tall=290,
        legend=Legend.FOOT,
        levels=[Level(facts.quality(facts.control))],
    )


@section
def what_training_repairs(run: Run, state: State) -> None:
    """What is removed; what was recorded, or trained when the reader asks; then one to keep."""
    place = explained(("pruning",), CODE, key="retraining")
    why = _("A pruned model is retrained on the data that it was first trained on.")
    if shared.needs_training(run, why, "retrained"):
        return
    weights = starts.original(run.weights)
    names = {str(removed): _(name) for removed, name in REMOVED_NAMES.items()}
    with present.aside():
        choose("retrained_without", _("What to remove"), Removed, label_of=names.__getitem__)
    removed = Removed(state.retrained_without)
    if fault := removal_fault(starts.calibrated(weights).file.config, removed):
        place.info(say_fault(fault), icon=":material/lightbulb:")
        return
    with present.aside():
        switch("measure_retraining", _("Retrain here"))
    is_recorded = not state.measure_retraining
    found = (recorded_retraining if is_recorded else _trained)(weights, removed)
    if len(found) > 2:
        at = weights, removed, found
        with place:
            say(says_retraining, *at, facts=facts_of)
        show(lines, *at, facts=facts_of, key="retraining")
        note(says_how(facts_of(*at), is_recorded=is_recorded))
        rows = retraining_table(facts_of(*at))
        download("retraining.csv", lambda: rows.to_csv(index=False), "text/csv")
    elif is_recorded:
        text = _("There are no precomputed results for this model: retrain it here.")
        place.info(sentences(text, _expected_time(weights, removed)), icon=":material/lightbulb:")
        shared.recorded_models("retraining_of", partial(recorded_retraining, removed=removed))
    _to_keep(weights, removed, state)


def _expected_time(weights: str, removed: Removed) -> str:
    series = Retraining(origin=teacher_of(weights), removed=removed)
    spec = going_on(starts.calibrated(weights), series.origin, N_UPDATES)
    return shared.expected_time(spec, series.n_updates_of_all)


def says_how(facts: RetrainingFacts, *, is_recorded: bool) -> str:
    """On what it was trained on, what went first, and how small that makes the model."""
    said = _(
        "The task, batches and seed are the model's own; the learning rate is {rate:.0%} of "
        "the original."
    ).format(rate=retraining.RATE)
    gradually = _(
        "Parts are removed gradually, one step every {n} updates during the first half of the"
        " retraining."
    )
    return sentences(
        words.trained(is_recorded=is_recorded),
        said,
        _order(facts),
        gradually.format(n=retraining.EVERY),
        _size(facts),
    )


def _order(facts: RetrainingFacts) -> str:
    if facts.removed is Removed.WEIGHTS:
        return _("The smallest weights of each matrix are removed first (magnitude).")
    if facts.removed is Removed.LAYERS:
        return _("The layer whose removal raises the loss least is removed first.")
    return _("The parts with the smallest output weights are removed first (magnitude).")


def _size(facts: RetrainingFacts) -> str:
    if facts.removed is Removed.WEIGHTS:
        return ""
    text = _(
        "The model becomes smaller: with {share} removed, {n:,} of {of:,} parameters are "
        "left. Their optimizer states are kept."
    )
    n, of = facts.n_parameters(facts.most), facts.n_parameters(0.0)
    return text.format(share=percent(facts.most), n=n, of=of)


def _trained(weights: str, removed: Removed) -> tuple[Repaired, ...]:
    series = Retraining(origin=teacher_of(weights), removed=removed, budget=memory_budget("cpu"))
    return tuple(in_series(series, key="retraining_steps", asked_by="measure_retraining").found)


def _to_keep(weights: str, removed: Removed, state: State) -> None:
    """One of them as a model of its own."""
    with present.aside(), keeping.row(_("**Keep a pruned and retrained model**")):
        share = _share_to_remove(weights, removed, state)
        n_updates = keeping.n_updates("repair_updates", state)
        origin = teacher_of(starts.variant_of(weights, _recipe(weights, removed, share)))
        spec = going_on(starts.calibrated(weights), origin, n_updates)
        keeping.start_button(_("Retrain"), spec, key="repair")
    keeping.watched_one(spec, state, key="repair")


def _share_to_remove(weights: str, removed: Removed, state: State) -> float:
    """Of those that are measured; the one next to what the link says."""
    shares = shares_of(starts.calibrated(weights).file.config, removed)
    percents = {round(100 * share): share for share in shares}
    wanted = state.removed_percent
    shown = min(percents, key=lambda each: abs(each - wanted))
    slide("removed_percent", _("Share removed"), percents, shown, label_of=lambda each: f"{each}%")
    return percents[shown]


@lru_cache(maxsize=32)
def _recipe(weights: str, removed: Removed, share: float) -> str:
    """The name of what is trained on: layers are sought by their loss, once."""
    return name_of(recipe_without(starts.calibrated(weights), removed, share))

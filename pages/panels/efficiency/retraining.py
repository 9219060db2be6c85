"""Whether a pruned model learns to do without what is gone, when it is trained on."""

from functools import lru_cache

import pandas as pd

from blocks.efficiency import retraining
from blocks.efficiency.compression import Compression
from blocks.efficiency.names import name_of
from blocks.efficiency.recorded_retraining import recorded_retraining
from blocks.efficiency.retraining import N_UPDATES, Repair, Repaired, Retraining, going_on
from blocks.efficiency.retraining_facts import RetrainingFacts
from blocks.observe.run import Run
from blocks.training.loop import Training
from pages.figures.units import quality_text
from pages.panels.efficiency import keeping, retraining_picture, shared
from pages.panels.efficiency.teaching import teacher_of
from pages.ui import link, starts, words
from pages.ui.chart import show
from pages.ui.controls import choose, switch
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.frame import section
from pages.ui.language import _, sentences
from pages.ui.link_fields.efficiency import MASKED_SHARES
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.settings import memory_budget
from pages.ui.steps import in_series

CODE = (retraining.mask_smallest, retraining.masked_share, Training.mask)
LEAST_KEPT = 0.95


@lru_cache(maxsize=32)
def facts_of(weights: str, found: tuple[Repaired, ...]) -> RetrainingFacts:
    """What was measured so far."""
    model = starts.calibrated(weights)
    return RetrainingFacts(found, N_UPDATES, model.examiner.task.score_name, model.is_share)


def says_retraining(facts: RetrainingFacts) -> str:
    """How much can go without training, with it, and with a mask that grows."""
    once, after, gradual = (percent(facts.kept_up_to(repair, LEAST_KEPT)) for repair in Repair)
    text = _(
        "Keeping {kept}, the model can lose {once} of its weights without retraining, {after} "
        "with {n} updates after the mask, {gradual} when the mask grows during these updates. "
        "Without a mask the same updates take it from {before} to {control}."
    )
    return text.format(
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
            "masked": [each.share for each in facts.found],
            "score": [each.score for each in facts.found],
            "held_out_loss": [each.loss for each in facts.found],
        }
    )


@section
def what_training_repairs(run: Run) -> None:
    """What was recorded, or is trained when the reader asks; then one to keep."""
    place = explained(("pruning",), CODE, key="retraining")
    weights = starts.original(run.weights)
    switch("measure_retraining", _("Retrain here"))
    is_recorded = not link.value("measure_retraining")
    found = recorded_retraining(weights) if is_recorded else _trained(weights)
    if len(found) > 2:
        at = weights, found
        with place:
            say(says_retraining, *at, facts=facts_of)
        show(retraining_picture.lines, *at, facts=facts_of, key="retraining")
        note(_says_how(is_recorded=is_recorded))
        rows = retraining_table(facts_of(*at))
        download("retraining.csv", lambda: rows.to_csv(index=False), "text/csv")
    elif is_recorded:
        text = _("This model was not retrained beforehand: retrain it here.")
        place.info(sentences(text, _expected_time(weights)), icon=":material/lightbulb:")
        shared.recorded_models("retraining_of", recorded_retraining)
    _to_keep(weights)


def _expected_time(weights: str) -> str:
    series = Retraining(origin=teacher_of(weights))
    spec = going_on(starts.calibrated(weights), series.origin, N_UPDATES)
    return shared.expected_time(spec, series.n_updates_of_all)


def _says_how(*, is_recorded: bool) -> str:
    text = _(
        "Its own task and batches, at {rate:.0%} of its learning rate; the smallest weights of "
        "each matrix are removed first (magnitude). Seed: the model's own."
    )
    said = text.format(rate=retraining.RATE)
    return sentences(words.trained(is_recorded=is_recorded), said)


def _trained(weights: str) -> tuple[Repaired, ...]:
    """As far as they have come."""
    series = Retraining(origin=teacher_of(weights), budget=memory_budget())
    return tuple(in_series(series, key="retraining_steps", asked_by="measure_retraining").found)


def _to_keep(weights: str) -> None:
    """One of them as a model of its own."""
    with keeping.row(_("**Keep a pruned and retrained model**")):
        choose("masked_share", _("Weights masked"), MASKED_SHARES, label_of=lambda n: f"{n} %")
        n_updates = keeping.n_updates("repair_updates")
        share = int(link.value("masked_share")) / 100
        origin = teacher_of(starts.variant_of(weights, name_of(Compression(sparsity=share))))
        spec = going_on(starts.calibrated(weights), origin, n_updates)
        keeping.start_button(_("Retrain"), spec, key="repair")
    keeping.watched_one(spec, key="repair")

"""Bytes in a file against what the model still can do: a ready set of variants, and the front."""

from functools import lru_cache, partial

import pandas as pd
import streamlit as st

from blocks.cost.units import bytes_text
from blocks.efficiency import compression, frontier
from blocks.efficiency.frontier import FrontColors, FrontierFacts, Variant
from blocks.efficiency.names import compression_of
from blocks.efficiency.recorded import recorded
from blocks.observe.run import Run
from pages.figures.units import duration
from pages.panels.efficiency import frontier_picture, shared
from pages.panels.efficiency.lost_answers import question_by_question
from pages.panels.efficiency.recipe_words import in_words
from pages.ui import link, starts
from pages.ui.chart import show
from pages.ui.controls import choose, switch
from pages.ui.explain import explained, note
from pages.ui.export import download
from pages.ui.frame import section
from pages.ui.language import _, sentences
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.tables import show_whole

CODE = (compression.compress, frontier.measure_variant)
MOST_LOST = 0.02


@lru_cache(maxsize=64)
def frontier_facts(weights: str, n_measured: int, shown: str, colors: FrontColors) -> FrontierFacts:
    """The first variants of the ready set, measured here; with none, what was measured before.

    Beside them the one that all pages show, whatever the reader made it by.
    """
    model = starts.calibrated(weights)
    names, before = frontier.ready(model.file.config)[:n_measured], recorded(weights)
    variants = tuple(shared.variant(weights, name) for name in names)
    if not variants and before:
        variants = before.ready
    if variants and shown not in [each.name for each in variants]:
        known = None if n_measured or not before else before.variants.get(shown)
        variants = (*variants, known or shared.variant(weights, shown))
    return FrontierFacts(variants, model.examiner.task.score_name, model.is_share, colors, shown)


def says_frontier(facts: FrontierFacts) -> str:
    """How far the file shrinks before the score does."""
    best = facts.smallest(MOST_LOST)
    text = _(
        "The smallest of {n} files that loses at most {most} is **{name}** ({words}): {size} "
        "instead of {original}, {ratio:.1f} times smaller. It reaches {after} {score}, the "
        "original {before}."
    )
    said = text.format(
        n=len(facts.variants),
        most=_said(MOST_LOST, facts),
        name=variant_name(best),
        words=in_words(compression_of(best.name)),
        size=bytes_text(best.n_bytes),
        original=bytes_text(facts.original.n_bytes),
        ratio=facts.times_smaller(best),
        score=_(facts.score_name) if facts.is_share else _("nats of held-out loss"),
        after=_said(facts.quality(best), facts),
        before=_said(facts.quality(facts.original), facts),
    )
    return sentences(said, _says_lossless(facts))


def _says_lossless(facts: FrontierFacts) -> str:
    """The smallest that answers as many questions as before."""
    best = facts.smallest(0.0)
    if not best.name:
        return _("Every one of them loses something.")
    if best == facts.smallest(MOST_LOST):
        return _("It is as good as before.")
    text = _("Still as good as before: **{name}** ({words}), {ratio:.1f} times smaller.")
    return text.format(
        name=best.name, words=in_words(compression_of(best.name)), ratio=facts.times_smaller(best)
    )


def _said(quality: float, facts: FrontierFacts) -> str:
    return shared.said_quality(quality, facts.is_share)


def variant_name(variant: Variant) -> str:
    """The recipe in standard terms, as a link has it."""
    return variant.name or _("original")


def says_how(facts: FrontierFacts, processor: str) -> str:
    """What was measured, on what; `processor` is empty where it was here and now."""
    first = facts.original
    text = _(
        "Held-out questions of its own task, the same for all; ± is the standard error over "
        "{n} draws. Quantized models are simulated in float32. Click a dot to show its model "
        "on all pages."
    )
    said = text.format(n=len(first.scores))
    return sentences(shared.measured_on(processor), said) if processor else said


def variant_table(facts: FrontierFacts) -> pd.DataFrame:
    """One row a variant."""
    return pd.DataFrame(
        {
            "variant": [each.name or "original" for each in facts.variants],
            "method": [str(each.method) for each in facts.variants],
            "bytes": [each.n_bytes for each in facts.variants],
            "parameters": [each.n_parameters for each in facts.variants],
            "score": [each.score for each in facts.variants],
            "standard_error": [each.spread for each in facts.variants],
            "held_out_loss": [each.held_out_loss for each in facts.variants],
            "seconds_a_batch": [each.seconds for each in facts.variants],
        }
    )


@section
def how_small(run: Run) -> None:
    """The ready set as it was measured before; measured here when the reader asks for it."""
    place = explained(("quantization", "pruning", "pareto_front"), CODE, key="frontier")
    weights = starts.original(run.weights)
    names = frontier.ready(shared.whole(run).file.config)
    label = _("Make and measure {n} smaller models here")
    switch("measure_variants", label.format(n=len(names) - 1))
    n_measured = _measured_here(weights, names) if link.value("measure_variants") else 0
    shown = starts.start(link.value("preset")).recipe if weights != run.weights else ""
    at = weights, n_measured, shown, FrontColors(link.value("front_colors"))
    with place, st.spinner(_("Measuring the model shown …")):
        found = frontier_facts(*at).variants
    if not found:
        place.info(_promise(run), icon=":material/lightbulb:")
        return
    with place:
        say(says_frontier, *at, facts=frontier_facts)
    names_of = {FrontColors.METHOD: _("method"), FrontColors.TIME: _("time per batch")}
    choose("front_colors", _("Colour"), FrontColors, label_of=lambda c: names_of[FrontColors(c)])
    show(
        frontier_picture.front,
        *at,
        facts=frontier_facts,
        key="frontier",
        on_click=shared.use_clicked,
    )
    _ways_to_best(frontier_facts(*at), run)
    question_by_question(run)
    before = None if n_measured else recorded(weights)
    said = says_how(frontier_facts(*at), before.processor if before else "")
    if before and shown and shown not in before.variants:
        said = sentences(said, _("{name} was measured here just now.").format(name=shown))
    note(said)
    _in_numbers(frontier_facts(*at))


def _ways_to_best(facts: FrontierFacts, run: Run) -> None:
    """Buttons for the two that the sentence names, but for the one that is shown already."""
    best = (facts.smallest(0.0), facts.smallest(MOST_LOST))
    label = _("Show {name} on all pages, the original as A")
    whole = starts.original(run.weights)
    names = dict.fromkeys(each.name for each in best if each.name)
    with st.container(horizontal=True):
        for name in (each for each in names if starts.variant_of(whole, each) != run.weights):
            how = compression_of(name)
            shared.way_to(how, label.format(name=name), key=f"use_{name}")


def _measured_here(weights: str, names: tuple[str, ...]) -> int:
    """Measure as far as the reader lets it; how many there are."""
    steps = [partial(shared.variant, weights, name) for name in names]
    done = in_steps(steps, what=("variants", weights), key="variants", asked_by="measure_variants")
    return len(done.found)


def _promise(run: Run) -> str:
    text = _("{model}: one file per way to make it smaller, and the score that each keeps.")
    return text.format(model=_(starts.start_of(starts.original(run.weights)).title))


def _in_numbers(facts: FrontierFacts) -> None:
    with st.expander(_("In numbers")):
        best = {each.name for each in facts.frontier}
        table = pd.DataFrame(
            {
                _("variant"): [variant_name(each) for each in facts.variants],
                _("description"): [in_words(compression_of(each.name)) for each in facts.variants],
                _("file"): [bytes_text(each.n_bytes) for each in facts.variants],
                _("score"): [f"{each.score:.3f} ± {each.spread:.3f}" for each in facts.variants],
                _("held-out loss"): [f"{each.held_out_loss:.3f}" for each in facts.variants],
                _("one batch"): [duration(each.seconds) for each in facts.variants],
                _("on the front"): [
                    _("yes") if each.name in best else "" for each in facts.variants
                ],
            }
        )
        show_whole(table)
        rows = variant_table(facts)
        download("variants.csv", lambda: rows.to_csv(index=False), "text/csv")

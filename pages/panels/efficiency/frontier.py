"""Bytes in a file against what the model still can do: a ready set of variants, and the front."""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.cost.units import bytes_text
from blocks.efficiency import compression, frontier
from blocks.efficiency.compression import compressed_config
from blocks.efficiency.frontier import INT8, TIMED, FrontColors, FrontierFacts, Variant
from blocks.efficiency.int8_times import MatrixBytes, shapes_of
from blocks.efficiency.names import compression_of, name_of
from blocks.efficiency.recorded import Recorded, recorded
from blocks.model.faults import ConfigError, Fault
from blocks.observe.run import Run
from pages.figures.numbers import readable
from pages.figures.units import duration, quality_text
from pages.page import panel
from pages.page.frame import section
from pages.panels.efficiency import frontier_picture, made, score_text, shared
from pages.panels.efficiency.frontier_picture import variant_name
from pages.panels.efficiency.lost_answers import question_by_question
from pages.panels.efficiency.recipe_words import in_words
from pages.server import starts
from pages.session.slot import shown_by
from pages.show.chart import show
from pages.show.controls import choose, switch
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.fold import details, fold
from pages.show.said import say
from pages.show.steps import in_steps
from pages.show.tables import show_table
from pages.stage import present
from pages.state.values import State
from pages.words.language import _, enumeration, fill, ngettext, say_fault, sentences
from pages.words.numbers import percent

CODE = (compression.compress, frontier.measure_variant)
MOST_LOST = 0.02
MOST_RECIPE = 200  # characters
PARTS = ("layers3+4", "heads1-wanda", "units25", "sparse50-2:4", "int4-group32-gptq", "act8-smooth")


@lru_cache(maxsize=64)
def frontier_facts(
    weights: str, n_measured: int, own: tuple[Variant, ...], shown: str, colors: FrontColors
) -> FrontierFacts:
    """The first variants of the ready set, measured here; with none, what was measured before.

    Beside them those of the reader's `own`, and where there is no ready set, the original.
    """
    model, before = starts.calibrated(weights), _before(weights, n_measured)
    names = frontier.ready(model.file.config)[:n_measured]
    variants = before.ready if before else tuple(made.measured(weights, name) for name in names)
    if own and not variants:
        variants = (made.measured(weights, ""),)
    return FrontierFacts(
        (*variants, *own),
        model.score_name,
        model.is_share,
        colors,
        shown,
        own=frozenset(each.name for each in own),
        apart=frozenset(each.name for each in own if before and each.name not in before.variants),
        read_ratio=1 / MatrixBytes(shapes_of(model)).times_fewer,
    )


def _before(weights: str, n_measured: int) -> Recorded | None:
    """What was measured before, where nothing is measured here."""
    return None if n_measured else recorded(weights)


def says_frontier(facts: FrontierFacts) -> str:
    """How far the file shrinks before the score does."""
    best = facts.smallest(MOST_LOST)
    text = _(
        "Of {n} files, the smallest whose score (or loss) is worse by at most {most} is "
        "**{words}** (`{name}`): {size} instead of {original}, smaller by a factor of "
        "{ratio:.1f}."
    )
    said = text.format(
        n=len(facts.variants),
        most=_said(MOST_LOST, facts),
        name=variant_name(best, _),
        words=in_words(compression_of(best.name)),
        size=bytes_text(best.n_bytes),
        original=bytes_text(facts.original.n_bytes),
        ratio=facts.times_smaller(best),
    )
    return sentences(said, _says_quality(facts, best), _says_lossless(facts), _says_packed(facts))


def _says_quality(facts: FrontierFacts, best: Variant) -> str:
    """Score and held-out loss before and after: the one may stay where the other rises."""
    if facts.is_of_text:
        return _says_text_quality(facts, best)
    text = _("Its held-out loss is {loss:.3f} nats; the original's is {loss_before:.3f}.")
    if facts.is_share:
        text = _(
            "Its score ({score}) is {after} at a held-out loss of {loss:.3f} nats; the "
            "original's is {before} at {loss_before:.3f}."
        )
    return text.format(
        score=_(facts.score_name),
        after=_said(best.score, facts),
        before=_said(facts.original.score, facts),
        loss=best.held_out_loss,
        loss_before=facts.original.held_out_loss,
    )


def _says_text_quality(facts: FrontierFacts, best: Variant) -> str:
    """Perplexity and accuracy, and the difference over the same tokens with its error."""
    text = _(
        "Its perplexity is {now}, the original's {before}: {more:+.3f} ± {error:.3f} bits per"
        " token over the same {n} tokens. It ranks the correct token first for {accuracy} of "
        "them, and the original does so for {accuracy_before}."
    )
    more, error = best.more_bits(facts.original)
    return text.format(
        now=readable(best.perplexity),
        before=readable(facts.original.perplexity),
        more=more,
        error=error,
        n=len(best.scores),
        accuracy=shared.said_accuracy(best),
        accuracy_before=shared.said_accuracy(facts.original),
    )


def _says_lossless(facts: FrontierFacts) -> str:
    """The smallest, if another, whose score (or loss, where there is none) is no worse."""
    best = facts.smallest(0.0)
    if not best.name:
        return _("Every smaller file loses some quality.")
    if best == facts.smallest(MOST_LOST):
        return ""
    text = _(
        "The smallest file without a higher loss is **{words}** (`{name}`), smaller by a "
        "factor of {ratio:.1f}."
    )
    if facts.is_share:
        text = _(
            "The smallest file that keeps the original score is **{words}** (`{name}`): "
            "smaller by a factor of {ratio:.1f}, with a held-out loss of {held_out_loss:.3f}."
        )
    return fill(
        text, best, words=in_words(compression_of(best.name)), ratio=facts.times_smaller(best)
    )


def _says_packed(facts: FrontierFacts) -> str:
    """What computing in int8 made of the time, beside what its bytes promise."""
    if not (ran := facts.packed):
        return ""
    text = _(
        "In int8 ({n} matrices), **{name}** needs {batch} of its float32 time per batch and "
        "{token} per token; the bytes alone would suggest {bytes}."
    )
    batch, token = (facts.time_ratio(ran, kind) or 0.0 for kind in TIMED)
    return text.format(
        name=ran.name,
        n=ran.n_packed,
        batch=percent(batch),
        token=percent(token),
        bytes=percent(facts.read_ratio or 0.0),
    )


def _said(quality: float, facts: FrontierFacts) -> str:
    return quality_text(quality, is_share=facts.is_share)


def says_how(facts: FrontierFacts, processor: str) -> str:
    """What was measured, on what; `processor` is empty where it was here and now."""
    text = _(
        "The questions come from held-out data of the model's own task and are the same for "
        "all models; ± is the standard error over {n} draws."
    )
    if facts.is_of_text:
        text = _("All models are scored on the same {n} predictions.")
    said = text.format(n=len(facts.original.scores))
    before = shared.measured_on(processor) if processor else ""
    click = _("Click a point to use its model.")
    return sentences(click, _says_own(facts), before, said, _says_simulated(facts))


def _says_simulated(facts: FrontierFacts) -> str:
    """Whose times are those of float32 though they are quantized."""
    if facts.packed:
        return _("All other quantized models are simulated in float32, and timed that way.")
    said = _("Quantized models are simulated in float32, and timed that way.")
    if any(each.name == INT8 and not each.n_packed for each in facts.variants):
        return sentences(said, _("This machine has no packed int8 kernel to run int8 models."))
    return said


def _says_own(facts: FrontierFacts) -> str:
    """Which of them the reader made, and that their times are no others' where they are not."""
    if not facts.own:
        return ""
    said = ngettext(
        "A ring marks the {n} variant that you made in this session.",
        "Rings mark the {n} variants that you made in this session.",
        len(facts.own),
    ).format(n=len(facts.own))
    if not (facts.apart and facts.is_of_time):
        return said
    return sentences(said, _("Models timed separately are drawn in gray."))


def variant_table(facts: FrontierFacts) -> pd.DataFrame:
    """One row per variant."""
    return pd.DataFrame(
        {
            "variant": [each.name or "original" for each in facts.variants],
            "method": [str(each.method) for each in facts.variants],
            "bytes": [each.n_bytes for each in facts.variants],
            "parameters": [each.n_parameters for each in facts.variants],
            "score": [each.score for each in facts.variants],
            "standard_error": [each.spread for each in facts.variants],
            "held_out_loss": [each.held_out_loss for each in facts.variants],
            "accuracy": [each.accuracy for each in facts.variants],
            "seconds_a_batch": [each.seconds for each in facts.variants],
            "seconds_a_token": [each.token_seconds for each in facts.variants],
        }
    )


@section
def how_small(run: Run, state: State) -> None:
    """The ready set as it was measured before; measured here when the reader asks for it."""
    place = explained(("quantization", "pruning", "pareto_front"), CODE, key="frontier")
    weights = score_text.measured(run, state)
    names = frontier.ready(shared.whole(run, state).file.config)
    label = _("Make and measure {n} smaller models here")
    with present.aside():
        switch("measure_variants", label.format(n=len(names) - 1))
        if not state.measure_variants:
            shared.expected(run, names, state)
    n_measured = _measured_here(weights, names) if state.measure_variants else 0
    shown = _shown_recipe(run, state)
    own = _made_here(weights, names, n_measured, shown)
    at = weights, n_measured, own, shown, FrontColors(state.front_colors)
    if not frontier_facts(*at).variants:
        place.info(_promise(run), icon=":material/lightbulb:")
        _own_recipe(weights)
        return
    with place:
        say(says_frontier, *at, facts=frontier_facts)
    with present.aside():
        _color_choice()
    facts = frontier_facts(*at)
    if facts.colors is not FrontColors.METHOD and not facts.is_of_time:
        text = _(
            "The time per token was not recorded: turn on the switch above to measure it here."
        )
        st.warning(text, icon=":material/timer:")
    show(
        frontier_picture.front,
        *at,
        facts=frontier_facts,
        key="frontier",
        on_click=shared.use_clicked,
        room=430,
    )
    before = _before(weights, n_measured)
    note(says_how(facts, before.processor if before else ""))
    with present.aside():
        _ways_to_best(facts, run)
        question_by_question(run, facts.smallest(MOST_LOST).name, state)
        _own_recipe(weights)
        _way_to_int8()
        _in_numbers(facts)


def _shown_recipe(run: Run, state: State) -> str:
    """Of the variant on all pages, where it was calibrated on the text of this page."""
    if run.weights == starts.original(run.weights):
        return ""
    how = compression_of(starts.start(state.preset).recipe)
    whole = starts.original(run.weights)
    is_of_it = starts.measured_on(whole, how.text) == score_text.measured(run, state)
    return name_of(replace(how, text="")) if is_of_it or not how.needs_calibration else ""


def _own_recipe(weights: str) -> None:
    """A recipe in standard terms, measured beside the others."""
    with (own := fold(_("Measure a recipe of your own"), key="own_recipe_fold")):
        if not own.open:
            return
        recipe = st.text_input(
            _("Recipe"),
            key="own_recipe",
            placeholder=PARTS[-2],
            max_chars=MOST_RECIPE,
            on_change=_note_own,
            args=(weights,),
        )
        text = _(
            "A recipe consists of parts separated by dots, which are carried out in this "
            "order: {parts}. A part that is left out keeps its default."
        )
        note(text.format(parts=enumeration(f"`{each}`" for each in PARTS)))
        if recipe and (fault := _recipe_fault(weights, recipe)):
            st.error(say_fault(fault), icon=":material/block:")


def _note_own(weights: str) -> None:
    recipe = shown_by("own_recipe")
    if recipe and _recipe_fault(weights, recipe) is None:
        made.note(weights, name_of(compression_of(recipe)))


def _recipe_fault(weights: str, recipe: str) -> Fault | None:
    """Why a recipe cannot be, or not of this model."""
    try:
        compressed_config(starts.calibrated(weights).file.config, compression_of(recipe))
    except ConfigError as error:
        return error.faults[0]
    return None


def _way_to_int8() -> None:
    label, go = _("Is int8 faster here?"), panel.open_panel
    look: dict[str, Any] = {"type": "tertiary", "icon": ":material/arrow_forward:"}
    st.button(label, key="from_frontier_to_int8", on_click=go, args=("int8",), **look)


def _color_choice() -> None:
    names = {
        FrontColors.METHOD: _("method"),
        FrontColors.TIME: _("time per batch"),
        FrontColors.TOKEN_TIME: _("time per token"),
    }
    choose("front_colors", _("Color by"), FrontColors, label_of=lambda c: names[FrontColors(c)])


def _made_here(
    weights: str, names: tuple[str, ...], n_measured: int, shown: str
) -> tuple[Variant, ...]:
    """What this reader made beside the ready set, the one that is shown among it."""
    if shown:
        made.note(weights, shown)
    before = _before(weights, n_measured)
    there = {*names[:n_measured], *(each.name for each in (before.ready if before else ()))}
    known = before.variants if before else {}
    wanted = [name for name in made.names(weights) if name not in there]
    steps = [partial(_own, weights, name, known.get(name)) for name in wanted]
    if wanted and not there:  # beside the original, which nobody has measured
        steps.insert(0, partial(made.measured, weights, ""))
    what = "own", weights, n_measured, *wanted
    found = in_steps(steps, what=what, key="own_variants").found
    return tuple(each for each in found if each.name)


def _own(weights: str, name: str, known: Variant | None) -> Variant:
    """As it was measured before, or here."""
    return known or made.variant(weights, name)


def _ways_to_best(facts: FrontierFacts, run: Run) -> None:
    """Buttons for the two that the sentence names, but for the one that is shown already."""
    best = (facts.smallest(0.0), facts.smallest(MOST_LOST))
    label = _("Show {name} on all pages, with the original as A")
    whole = starts.original(run.weights)
    names = dict.fromkeys(each.name for each in best if each.name)
    with st.container(horizontal=True):
        for name in (each for each in names if starts.variant_of(whole, each) != run.weights):
            how = compression_of(name)
            shared.way_to(how, label.format(name=name), key=f"use_{name}")


def _measured_here(weights: str, names: tuple[str, ...]) -> int:
    """Measure as far as the reader lets it; how many there are."""
    steps = [partial(made.variant, weights, name) for name in names]
    done = in_steps(steps, what=("variants", weights), key="variants", asked_by="measure_variants")
    return len(done.found)


def _promise(run: Run) -> str:
    text = _("{model}: the file size and score of each compression recipe can be measured here.")
    return text.format(model=_(starts.start_of(starts.original(run.weights)).title))


def _in_numbers(facts: FrontierFacts) -> None:
    with details(_("In numbers")):
        show_table(shown_table(facts), wide=(_("description"),))
        rows = variant_table(facts)
        download("variants.csv", lambda: rows.to_csv(index=False), "text/csv")


def shown_table(facts: FrontierFacts) -> pd.DataFrame:
    """The same as it is read; a time that was recorded of none has no column."""
    each_one, best = facts.variants, {each.name for each in facts.frontier}
    columns = {
        _("variant"): [variant_name(each, _) for each in each_one],
        _("file size"): [bytes_text(each.n_bytes) for each in each_one],
        **shared.qualities(each_one, is_share=facts.is_share),
        _("time per batch"): [duration(each.seconds) for each in each_one],
        _("time per token"): [_token_time(each) for each in each_one],
        _("on the Pareto front"): [_("yes") if each.name in best else "" for each in each_one],
        _("description"): [in_words(compression_of(each.name)) for each in each_one],
    }
    if not any(each.token_seconds for each in each_one):
        del columns[_("time per token")]
    return pd.DataFrame(columns)


def _token_time(variant: Variant) -> str:
    return duration(variant.token_seconds) if variant.token_seconds else _("not recorded")

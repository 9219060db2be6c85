"""What a rounded model still can do, beside the original and the same with nothing left out."""

from dataclasses import replace
from functools import partial

from blocks.cost.units import bytes_text
from blocks.efficiency.compression import Compression
from blocks.efficiency.frontier import FrontierFacts
from blocks.efficiency.names import name_of
from blocks.observe.run import Run
from pages.figures.units import quality_text
from pages.panels.efficiency import made, score_text, shared
from pages.panels.efficiency.frontier_picture import variant_name
from pages.panels.efficiency.recipe_words import exempt_in_words
from pages.show.controls import switch
from pages.show.explain import note
from pages.show.steps import in_steps
from pages.show.tables import show_whole
from pages.state.values import State
from pages.words.language import _, sentences


def says_rounded_score(facts: FrontierFacts, exempt: frozenset[str]) -> str:
    """Bytes and quality of the original and the rounded; then what the exempt cost and save.

    `facts`: the original, the rounded, and where something is exempt the same with all rounded.
    """
    before, now, *plain = facts.variants
    text = _(
        "The file size goes from {before} to {now}, and {score} from {original} to **{quality}**."
    )
    said = text.format(
        before=bytes_text(before.n_bytes),
        now=bytes_text(now.n_bytes),
        score=_(facts.score_name) if facts.is_share else _("held-out loss"),
        quality=_said(facts, 1),
        original=_said(facts, 0),
    )
    if not plain:
        return said
    text = _("If {modules} were rounded too, the size would be {size} and the result {quality}.")
    more = text.format(
        modules=exempt_in_words(exempt), size=bytes_text(plain[0].n_bytes), quality=_said(facts, 2)
    )
    return sentences(said, more)


def _said(facts: FrontierFacts, i: int) -> str:
    return quality_text(facts.quality(facts.variants[i]), is_share=facts.is_share)


def what_it_still_can_do(run: Run, how: Compression, state: State) -> None:
    """Measured when the reader asks."""
    switch("measure_rounded", _("Measure score and loss here"))
    wanted = dict.fromkeys(map(name_of, (Compression(), how, replace(how, exempt=frozenset()))))
    if not state.measure_rounded:
        shared.expected(run, wanted, state)
        return
    weights, model = score_text.measured(run, state), shared.whole(run, state)
    steps = [partial(made.variant, weights, name) for name in wanted]
    what = "rounded", weights, *wanted
    done = in_steps(
        steps, what=what, key="rounded_steps", asked_by="measure_rounded", shows_parts=False
    )
    if len(done.found) < len(steps):
        return
    score_name = model.score_name
    facts = FrontierFacts(tuple(done.found), score_name, model.is_share)
    note(says_rounded_score(facts, how.exempt))
    named = {variant_name(each, _): each for each in facts.variants}
    show_whole(shared.in_numbers(named, is_share=facts.is_share))

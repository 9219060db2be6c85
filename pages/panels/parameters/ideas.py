"""From GPT-2 to a model of today: what each idea costs, saves, and does to the loss."""

from functools import lru_cache
from typing import cast

import pandas as pd

from blocks.inspection import ideas
from blocks.inspection.ideas import BITS, N_KEYS, Idea, IdeasFacts
from blocks.observe.run import Run
from blocks.training.ideas import ideas as steps
from pages.panels.parameters import ideas_picture, shared
from pages.panels.parameters.ideas_picture import NAMES
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, sentences
from pages.ui.said import say
from pages.ui.tables import show_table


@lru_cache(maxsize=1)
def ideas_facts() -> IdeasFacts:
    """Every step, as counted and as trained; only where all runs ship."""
    return cast(IdeasFacts, ideas.ideas_facts())


def says_ideas(facts: IdeasFacts) -> str:
    """What changed most, and which gains are more than seeds differ."""
    text = _(
        "From GPT-2 small to the last step: parameters × {parameters:.1f}, but active "
        "parameters per token × {active:.2f}; KV cache × {kv_bytes:.2f}, FLOPs per token × "
        "{flops:.2f}."
    )
    said = text.format(**facts.growth)
    text = _("In training runs this small, losses differ by up to {spread:.3f} nats between seeds.")
    parts = (said, text.format(spread=facts.spread), _gains(facts), _losses(facts))
    return sentences(*parts)


def _gains(facts: IdeasFacts) -> str:
    if not facts.clear:
        return _("No single idea lowers the loss by more than that.")
    listed = enumeration(f"{_(NAMES[name])} (−{facts.gains[name]:.3f})" for name in facts.clear)
    return _("Single ideas that lower the loss by more than that: {ideas}.").format(ideas=listed)


def _losses(facts: IdeasFacts) -> str:
    if not facts.worse:
        return ""
    listed = enumeration(
        f"{_(NAMES[name])} (+{abs(facts.gains[name]):.3f})" for name in facts.worse
    )
    return _(
        "Ideas that raise the loss by more than that, at this model size and training "
        "length: {ideas}."
    ).format(ideas=listed)


def says_how(facts: IdeasFacts) -> str:
    """What was counted, and what was trained."""
    text = _(
        "Counts are exact, for GPT-2 small with every idea up to and including each step; "
        "cache in {bits}-bit numbers, FLOPs of one token after {n_keys:,} others. "
        "Losses: {n_layers} layers, d_model {d_model}, English stories in sequences of "
        "{seq_len} characters, {n_steps} updates on {batch} sequences each, seeds "
        "{seeds}; runs this small and short say little about large models."
    )
    return text.format(
        bits=BITS,
        n_keys=N_KEYS,
        n_layers=facts.small.n_layers,
        d_model=facts.small.d_model,
        seq_len=facts.seq_len,
        n_steps=facts.recipe.n_steps,
        batch=facts.recipe.batch_size,
        seeds=enumeration(map(str, facts.seeds)),
    )


def table(facts: IdeasFacts) -> pd.DataFrame:
    """What each step has, with the change from the step before."""
    pairs = list(zip((None, *facts.ideas), facts.ideas, strict=False))
    return pd.DataFrame(
        {
            _("idea"): [_(NAMES[idea.name]) for _before, idea in pairs],
            _("parameters"): [_changed(before, idea, "parameters") for before, idea in pairs],
            _("active per token"): [_changed(before, idea, "active") for before, idea in pairs],
            _("cache per token (bytes)"): [_changed(b, idea, "kv_bytes") for b, idea in pairs],
            _("FLOPs per token"): [_changed(before, idea, "flops") for before, idea in pairs],
            _("held-out loss"): [f"{idea.loss:.3f}" for _before, idea in pairs],
        }
    )


def _changed(before: Idea | None, idea: Idea, name: str) -> str:
    count = getattr(idea, name)
    delta = 0 if before is None else count - getattr(before, name)
    return f"{count:,} ({shared.signed(delta)})" if delta else f"{count:,}"


@section
def what_each_idea_brought(run: Run) -> None:
    """One idea at a time, whatever model the page counts."""
    place = explained(("ideas",), (steps, ideas.ideas_facts), key="ideas")
    if ideas.ideas_facts() is None:
        place.caption(
            _("This copy comes without the finished runs: produce them with `make runs`.")
        )
        return
    with place:
        say(says_ideas, facts=ideas_facts)
    show(ideas_picture.costs, facts=ideas_facts, key="idea_costs")
    show(ideas_picture.losses, facts=ideas_facts, key="idea_losses")
    note(says_how(ideas_facts()))
    show_table(table(ideas_facts()), key="ideas_table")

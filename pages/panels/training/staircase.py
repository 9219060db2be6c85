"""From a bigram to a GPT in seven steps: the loss of each, and a link that trains it."""

from typing import cast

import streamlit as st

from blocks.inspection import staircase
from blocks.inspection.staircase import Stair, StaircaseFacts
from blocks.training import staircase as steps
from pages.panels.training import staircase_picture
from pages.panels.training.staircase_picture import NAMES
from pages.ui import link, starts, words
from pages.ui.chart import show
from pages.ui.explain import explained, note
from pages.ui.fields import CONFIG
from pages.ui.language import _, enumeration
from pages.ui.readers import as_text
from pages.ui.said import say

PRESET, RECIPE = "gpt2-small", "baseline"


def staircase_facts() -> StaircaseFacts:
    """Every step, as trained; only where all runs ship."""
    return cast(StaircaseFacts, staircase.staircase_facts())


def says_staircase(facts: StaircaseFacts) -> str:
    """From where to where the loss falls, and which step brings most of it."""
    first, last = facts.stairs[0], facts.stairs[-1]
    text = _(
        "Seven steps lower the loss from {first:.2f} nats per character ({a}) to {last:.2f} ({b}). "
        "The largest single step is “{largest}”, which lowers it by {gain:.2f}."
    )
    return text.format(
        first=first.loss,
        a=_(NAMES[first.name]),
        last=last.loss,
        b=_(NAMES[last.name]),
        largest=_(NAMES[facts.largest]),
        gain=facts.gains[facts.largest],
    )


def says_how(facts: StaircaseFacts) -> str:
    """What was trained, and how."""
    text = _(
        "All are trained on Python documentation in characters, with {n_steps:,} updates on "
        "{batch} texts of {length} characters each, seeds {seeds}; every step keeps the "
        "changes of the steps before it."
    )
    return text.format(
        n_steps=facts.recipe.n_steps,
        batch=facts.recipe.batch_size,
        length=facts.seq_len,
        seeds=enumeration(map(str, facts.seeds)),
    )


def query_of(stair: Stair) -> dict[str, str]:
    """The link that sets this model and its training."""
    usual = starts.start(PRESET).config.flat()
    config, recipe = stair.config.flat(), steps.RECIPE.flat()
    changed = {name: recipe[name] for name in ("n_steps", "batch_size", "learning_rate")}
    changed |= {name: config[name] for name in CONFIG if config[name] != usual[name]}
    changed |= {"warmup_steps": recipe["warmup_steps"]}
    set_by_task = ("vocab_size",)
    query = {name: as_text(found) for name, found in changed.items() if name not in set_by_task}
    task = {"task": str(steps.TASK.kind), "task_seq_len": str(steps.SEQ_LEN), "recipe": RECIPE}
    return {"panel": "task", "preset": PRESET, **task, **query}


def what_each_step_brings() -> None:
    """The recorded losses, and seven links that train each model here."""
    code = (steps.stairs, staircase.staircase_facts)
    place = explained(("training", "loss_curve"), code, key="staircase")
    if staircase.staircase_facts() is None:
        place.caption(words.without_runs())
        return
    with place:
        say(says_staircase, facts=staircase_facts)
    show(staircase_picture.losses, facts=staircase_facts, key="staircase_losses")
    lang = link.as_query().get("lang")
    with st.container(horizontal=True, gap="small", key="stairs"):
        for i, stair in enumerate(staircase_facts().stairs, 1):
            query = query_of(stair) | ({"lang": lang} if lang else {})
            label = f"{i} · {_(NAMES[stair.name])}"
            st.page_link("pages/training.py", label=label, query_params=query)
    note(says_how(staircase_facts()))

"""From a bigram to a GPT in seven steps: the loss of each, and a link that trains it."""

from math import exp
from typing import cast

import pandas as pd
import streamlit as st

from blocks.inspection import staircase
from blocks.inspection.staircase import Stair, StaircaseFacts
from blocks.training import staircase as steps
from pages.panels.training import staircase_picture
from pages.panels.training.staircase_picture import NAMES
from pages.server import starts
from pages.server.readers import as_text
from pages.show import words
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.show.said import say
from pages.stage import link, present
from pages.state.fields import CONFIG
from pages.words import chips
from pages.words.language import _, enumeration, literal, sentences

PRESET, RECIPE = "gpt2-small", "baseline"
ROOM = 480  # pixels of the picture before a class, below four lines


def staircase_facts() -> StaircaseFacts:
    """Every step, as trained; only where all runs ship."""
    return cast(StaircaseFacts, staircase.staircase_facts())


def says_staircase(facts: StaircaseFacts) -> str:
    """From where to where the loss falls, and which step brings most and which nothing."""
    first, last = facts.stairs[0], facts.stairs[-1]
    text = _(
        "The {a} sees only the current character: it is as uncertain about the next one as if"
        " it chose among {n_first:.0f} equally likely ones (a loss of {first:.2f} nats, the "
        "natural logarithm of that number). After {n} more steps ({b}), it chooses among "
        "{n_last:.0f} ({last:.2f} nats). “{largest}” helps most: it lowers the loss by "
        "{gain:.2f}."
    )
    said = text.format(
        n=len(facts.gains),
        n_first=exp(first.loss),
        first=first.loss,
        a=_(NAMES[first.name]),
        n_last=exp(last.loss),
        last=last.loss,
        b=_(NAMES[last.name]),
        largest=_(NAMES[facts.largest]),
        gain=facts.gains[facts.largest],
    )
    return sentences(said, _says_useless(facts))


def _says_useless(facts: StaircaseFacts) -> str:
    """The steps that bring nothing by themselves."""
    if not facts.useless:
        return ""
    return _(
        "The step “{names}” alone brings no gain larger than the difference between two seeds."
    ).format(names=enumeration(_(NAMES[name]) for name in facts.useless))


def says_text(facts: StaircaseFacts) -> str:
    """What the models have read, and what they go on with."""
    return _(
        "The models were trained on Python's documentation, which contains brackets and "
        "unfinished lines. Each continues {begins}, the start of a passage that it has never "
        "read; the last row shows the passage itself. Watch letters become words."
    ).format(begins=literal(facts.begins))


def says_how(facts: StaircaseFacts) -> str:
    """What was trained, and how."""
    text = _(
        "All models are trained on characters, with {n_steps:,} updates on {batch} texts of "
        "{length} characters each (seeds {seeds}); every step keeps the changes of the steps "
        "before it."
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
    draw = staircase_picture.losses
    show(draw, facts=staircase_facts, key="staircase_losses", room=ROOM)
    if not present.is_on():
        st.markdown(says_text(staircase_facts()))
        st.table(what_each_writes(staircase_facts()), hide_index=True)
    with present.aside():
        _links(staircase_facts())
    note(says_how(staircase_facts()))


def _links(facts: StaircaseFacts) -> None:
    """To each step, ready to be trained; a finished run goes with the reader."""
    note(_("Each link sets up one step, and the browser's Back button undoes it."))
    kept = {name: found for name, found in link.as_query().items() if name in ("lang", "run")}
    with st.container(horizontal=True, gap="small", key="stairs"):
        for i, stair in enumerate(facts.stairs):
            label = f"{i} · {_(NAMES[stair.name])}"
            values, _faults = link.read(query_of(stair) | kept)
            with link.as_if(values):
                query = link.as_query()  # as it stands in the address: Back leads here at once
            st.page_link("pages/training.py", label=label, query_params=query)


def what_each_writes(facts: StaircaseFacts) -> pd.DataFrame:
    """A row a step: its loss and what its first model wrote when it was trained; and the text."""
    rows = [
        (
            f"{i} · {_(NAMES[stair.name])}",
            f"{stair.loss:.2f}",
            chips.literally(" ".join(stair.text.split())),
        )
        for i, stair in enumerate(facts.stairs)
    ]
    rows.append((_("the passage itself"), "", chips.literally(" ".join(facts.goes_on.split()))))
    return pd.DataFrame(rows, columns=[_("step"), _("loss"), _("what it writes")])

"""How fast is it for one user? The first token, the answer, and what others who are served cost."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.cost import served_facts, serving, speed
from blocks.cost.device_fit import LARGEST_BATCH
from blocks.cost.served_facts import OnDevice, Serving, UserFacts
from blocks.cost.units import rounded
from blocks.export.recipe import speed_recipe
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Look, dots, line
from pages.figures.units import long_duration
from pages.page.declared import Panel
from pages.panels.cost import bound, serving_choices, shared
from pages.show.controls import slide, slider
from pages.show.explain import Code
from pages.show.parts import Controls, Note, Say, Shown, Table
from pages.state.values import State
from pages.words.language import _, ngettext, sentences

user_facts = lru_cache(maxsize=64)(served_facts.user_facts)
OUTPUTS, DRAFTED = tuple(2**i for i in range(13)), tuple(range(9))


def at(run: Run, state: State) -> tuple[Serving]:
    return (serving_choices.answering(run, state),)


def says_user(facts: UserFacts) -> str:
    """First token, speed and answer of one user, alone and beside others."""
    asked = facts.serving
    text = _(
        "On {devices}, a single user waits at least {first} for the first token and then gets"
        " up to {speed} tokens/s: an answer of {n:,} tokens takes {answer}."
    )
    said = text.format(
        devices=serving_choices.device_title(asked.device, asked.setup.serves_as.n_devices),
        first=long_duration(facts.prompt.seconds, _=_),
        speed=rounded(facts.alone.per_user),
        n=asked.n_output,
        answer=long_duration(facts.answer_seconds, _=_),
    )
    return sentences(said, _others(facts), _room(facts))


def _others(facts: UserFacts) -> str:
    if facts.serving.batch == 1:
        return ""
    text = _(
        "With {batch:,} users at once, each gets up to {each} tokens/s and all together up to"
        " {all}, if a new user arrives as soon as another leaves."
    )
    now = facts.now
    each, everyone = rounded(now["per_user"]), rounded(now["all"])
    return text.format(batch=facts.serving.batch, each=each, all=everyone)


def _room(facts: UserFacts) -> str:
    if not facts.most:
        return _("But not even one text fits into memory: see “{panel}”.").format(
            panel=_(shared.FITS)
        )
    most = f"{facts.most:,}" if facts.most < LARGEST_BATCH else f"≥ {facts.most:,}"
    text = ngettext(
        "Memory holds {most} text of {n:,} tokens.",
        "Memory holds {most} texts of {n:,} tokens.",
        facts.most,
    )
    if facts.most < facts.serving.batch:
        text = ngettext(
            "But memory holds only {most} text of {n:,} tokens.",
            "But memory holds only {most} texts of {n:,} tokens.",
            facts.most,
        )
    return text.format(most=most, n=facts.serving.longest)


def says_draft(facts: UserFacts) -> str | None:
    """What a draft brings at this batch."""
    draft = facts.serving.draft
    if not draft.n_drafted:
        return None
    text = _(
        "A draft of {n} tokens, each accepted with probability {acceptance:.0%}, yields "
        "{tokens:.2f} tokens per pass (Leviathan et al. 2023, equation 1). At batch size "
        "{batch:,}, generation is {gain:.2f} times as fast as without a draft."
    )
    return text.format(
        n=draft.n_drafted,
        acceptance=draft.acceptance,
        tokens=draft.tokens_a_pass,
        batch=facts.serving.batch,
        gain=facts.gain,
    )


def says_how(facts: UserFacts) -> str:
    """What the curve assumes."""
    return _(
        "Bounds are computed from data sheets, as in “{panel}”. In the curve, prompts of new "
        "users are read between the steps of the others, each step has the context of a half-"
        "written answer, and waiting for a free place is not counted. The time to the first "
        "token is that of a prompt read alone."
    ).format(panel=_(bound.PANEL.title))


def shares(facts: UserFacts) -> Chart:
    """What each user gets against what all get, batch by batch."""
    table = facts.curve
    fit, not_fit = table[table["fits"]], table[~table["fits"]]
    own = table[table["batch"] == facts.serving.batch]
    return Chart(
        _("Speed per user against total throughput"),
        table,
        Axis(
            _("tokens/s of each user (logarithmic)"),
            (float(table["per_user"].min()), float(table["per_user"].max())),
            of="per_user",
            is_log=True,
        ),
        Axis(_("tokens/s of all users"), from_0=True),
        [
            line("all", Look("", palette.BEFORE, width=1.5), in_legend=False),
            *(
                [dots("all", Look(_("fits into memory"), palette.ATTENTION, size=9), rows=fit)]
                if len(fit)
                else []
            ),
            *(
                [
                    dots(
                        "all",
                        Look(_("does not fit"), palette.BEFORE, "circle-open", size=8),
                        rows=not_fit,
                    )
                ]
                if len(not_fit)
                else []
            ),
            dots("all", Look(_("your batch"), palette.PINNED, "circle-open", size=15), rows=own),
        ],
        hover=_("batch {batch:,}: {per_user:,.3g} tokens/s each, {all:,.3g} together"),
        tall=300,
    )


def user_rows(facts: UserFacts) -> pd.DataFrame:
    """Each device: whether the texts fit, and what one and all get there."""
    batch = facts.serving.batch
    found = facts.devices
    return pd.DataFrame(
        {
            _("device"): [serving_choices.device_title(each.device, 1) for each in found],
            _("fits"): [_("yes") if each.most >= batch else _("no") for each in found],
            _("first token"): [
                long_duration(each.prompt.seconds, _=_) if each.prompt and each.most else "–"
                for each in found
            ],
            _("tokens/s per user"): [_speed(each, batch, 1) for each in found],
            _("tokens/s of all"): [_speed(each, batch, batch) for each in found],
            _("largest batch"): [_most(each) for each in found],
        }
    )


def _speed(found: OnDevice, batch: int, times: int) -> str:
    if found.per_user is None or found.most < batch:
        return "–"
    return rounded(times * found.per_user)


def _most(found: OnDevice) -> str:
    if not found.most:
        return _("none")
    return f"≥ {found.most:,}" if found.most == LARGEST_BATCH else f"{found.most:,}"


def controls(state: State) -> None:
    """How long answers are, and whether a draft is checked."""
    length, drafted, accepted, cost = st.columns(4)
    with length:
        slide("n_output", _("Answer · tokens"), OUTPUTS, label_of="{:,}".format)
    with drafted:
        slide("n_drafted", _("Draft · tokens per pass"), DRAFTED)
    if state.n_drafted:
        with accepted:
            slider("acceptance", _("Acceptance of a drafted token"), step=0.05)
        with cost:
            slider("draft_cost", _("Cost of a draft pass · share"), step=0.01)


def code(run: Run, state: State) -> Code:
    """The lines that give these seconds again, and what counts them."""
    return (speed_recipe(at(run, state)[0]), speed.reading, speed.writing, serving.load)


PANEL = Panel(
    "one-user",
    N_("How fast is it for one user?"),
    choices=serving_choices.how_it_is_served,
    fields=("n_layers", "d_model", "n_heads", "n_kv_heads", "d_ff"),
    concepts=("serving",),
    code=code,
    at=at,
    absent=bound.says_absent,
    facts=user_facts,
    shows=(
        Say(says_user),
        Controls(controls),
        Shown(shares, "user_speeds"),
        Note(says_draft),
        Table(user_rows, "speeds"),
        Note(says_how),
    ),
)

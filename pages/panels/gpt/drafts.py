"""Could it write two tokens at once? What its modules draft, and what it would have written."""

from functools import lru_cache, partial
from typing import cast

import pandas as pd
import streamlit as st

from blocks.inspection.drafts import N_TOKENS, DraftFacts
from blocks.model.faults import N_
from blocks.model.models import GPT
from blocks.model.mtp import MTPModule
from blocks.observe.interventions import lasting, replacements
from blocks.observe.run import Run
from blocks.text.speculation import speculate
from pages.figures import palette
from pages.figures.chart import ROW, Axis, Chart, Look, bars, line
from pages.figures.counting import from_one
from pages.page.declared import Panel
from pages.panels.gpt.growing import window_size
from pages.server import cached
from pages.show import beside
from pages.show.parts import Beside, Note, Say, Shown, Table, Text
from pages.show.ways import way
from pages.stage import tokens
from pages.words import chips
from pages.words.chips import Chip
from pages.words.language import _, enumeration, fill, sentences

TRAINED, ROOM = "stories-mtp", 1.08


def room(run: Run) -> int:
    """How many tokens are written: fewer where the context ends."""
    n_drafted = run.config.n_mtp_modules
    return min(N_TOKENS, run.config.max_seq_len - len(run.input.token_ids) - n_drafted)


@lru_cache(maxsize=16)
def draft_facts(run: Run) -> DraftFacts:
    """The text that the model writes greedily, drafts and all."""
    with cached.turn(run.device):
        passes = speculate(
            cast(GPT, cached.model(run)),
            run.input.token_ids,
            room(run),
            window_size=window_size(run),
            replace=replacements(lasting(run.interventions)),
        )
    return DraftFacts(run, passes, partial(tokens.label, run))


def says_drafts(facts: DraftFacts) -> str:
    """How many tokens a pass gave, and how many drafts of each module stood."""
    text = _(
        "In {n_passes} forward passes the model generated {n_written} tokens, {per_pass:.2f} "
        "per pass. The text is the same as when generated token by token; the MTP modules "
        "drafted {n_accepted} of its tokens."
    )
    each = _("{share:percent} for module {number:from_one} ({n_accepted} of {n_drafted})")
    found = enumeration(fill(each, one, number=k) for k, one in enumerate(facts.modules))
    rate = _("Acceptance rate: {modules}.").format(modules=found) if found else ""
    chance = _(
        "The weights are random, so drafts are accepted only by chance or where the text "
        "repeats itself."
    )
    is_random = facts.run.config.n_mtp_modules and not facts.run.weights
    said = fill(text, facts, n_passes=len(facts.passes))
    return sentences(said, rate, chance if is_random else "")


def says_how(facts: DraftFacts) -> str:
    """What was done to measure it, and what it says nothing of."""
    return _(
        "About {n} tokens are decoded greedily after your text. Each pass reads the text and "
        "the draft together and keeps the tokens that the model itself would have chosen. "
        "Passes are counted rather than seconds, since no KV cache is used."
    ).format(n=room(facts.run))


def text_chips(facts: DraftFacts) -> list[Chip]:
    """What was read, and each new token; beside the model's own the draft that it rejected."""
    read = [Chip(label, "") for label in facts.run.input.tokens or ()]
    new = [
        Chip(
            facts.label(each.token_id),
            "" if each.rejected is None else f"≠ {facts.label(each.rejected)}",
            "drafted" if each.is_drafted else "written",
        )
        for each in facts.tokens
    ]
    return [*read, *new]


def table(facts: DraftFacts) -> pd.DataFrame:
    """Pass by pass."""
    names = {
        "pass": _("pass"),
        "drafted": _("drafted"),
        "written": _("written"),
        "accepted": _("accepted"),
        "n_tokens": _("tokens so far"),
    }
    return facts.table().rename(columns=names)


def growth(facts: DraftFacts) -> Chart:
    """Tokens written over passes, against one token a pass."""
    rows = facts.table()
    so_far = pd.DataFrame({"pass": [0, *rows["pass"]], "n": [0, *rows["n_tokens"]]})
    passes, n = so_far.iloc[-1]
    plain = Look(_("one token per pass"), palette.BEFORE, width=1.5, dash="dash")
    return Chart(
        _("Total tokens generated after each pass"),
        so_far.assign(plain=so_far["pass"]),
        Axis(_("forward passes"), (0, ROOM * passes), of="pass"),
        Axis(_("new tokens"), (0, ROOM * n)),
        [
            line("plain", plain, hover=""),
            line("n", Look(_("with drafts"), palette.MTP, "circle", size=6, shape="hv")),
        ],
        hover=_("pass {n}: {tokens} tokens so far").format(n="{x}", tokens="{y}"),
        tall=208,
    )


def acceptance(facts: DraftFacts) -> Chart:
    """The share of its drafts that the model would have written too, a bar a module."""
    rows = [
        {"k": from_one(k), "n": each.n_accepted, "all": each.n_drafted, "share": each.share}
        for k, each in enumerate(facts.modules)
    ]
    return Chart(
        _("Drafts that the model accepts"),
        pd.DataFrame(rows, columns=["k", "n", "all", "share"]),
        Axis(_("drafted by"), of=ROW, names=[_("module {n}").format(n=row["k"]) for row in rows]),
        Axis(_("acceptance rate"), (0, 1.12), is_share=True),
        [bars("share", Look(color=palette.MTP), text="{share:.0%}")],
        hover=_("module {k}: {n} of {all} drafts accepted"),
        tall=236,
        gap=0.5,
    )


def ways_to_modules(run: Run) -> None:
    """Lead from a model without modules to ones that draft."""
    if run.config.n_mtp_modules:
        return
    with st.container(horizontal=True):
        way(_("Open a model trained with two MTP modules"), "open_drafting", preset=TRAINED)
        way(_("Add two MTP modules to this model"), "add_modules", n_mtp_modules=2)


def says_nothing(run: Run, is_compared: bool) -> str | None:
    """Why nothing is drafted, or nothing written."""
    if not (run.config.n_mtp_modules or is_compared):
        return _(
            "This model has no MTP modules (n_mtp_modules) to draft further tokens, so each "
            "pass generates only one."
        )
    return _("The context is full. Type a shorter text.") if room(run) < 1 else None


PANEL = Panel(
    "drafts",
    N_("Could it write several tokens at once?"),
    of_predictions=True,
    fields=("n_mtp_modules", "n_layers", "d_model"),
    concepts=("mtp",),
    code=(speculate, GPT.logits_ahead, MTPModule),
    at=lambda run: (run, beside.found() is not None),
    absent=says_nothing,
    mend=ways_to_modules,
    facts=draft_facts,
    shows=(
        Say(says_drafts),
        Beside(Shown(growth, "drafts_growth"), Shown(acceptance, "drafts_acceptance")),
        Text(lambda facts: chips.as_markdown(text_chips(facts))),
        Note(lambda _facts: chips.legend(("read", "written", "drafted"))),
        Note(says_how),
        Table(table, "drafts_table", height=318),
    ),
)

"""What surprises the model: loss and surprise at each token of the text."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.inspection import predictions
from blocks.inspection.predictions import SurpriseFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Level, Look, Words, bars, chosen
from pages.figures.counting import told_apart
from pages.figures.theme import token_label
from pages.page.declared import Panel
from pages.panels.gpt import shared
from pages.server import cached
from pages.show.choices import chooses
from pages.show.parts import Beside, File, Note, Say, Shown, Table, the_values
from pages.show.views import pin_token
from pages.stage import link, tokens
from pages.state.fields import START, TEXT
from pages.words.language import _, fill, literal, sentences
from pages.words.numbers import percent

NAMES = 24  # tokens that the picture names


@lru_cache(maxsize=32)
def surprise_facts(run: Run, pinned: int) -> SurpriseFacts:
    return predictions.surprise_facts(run, cached.recording(run).output[0], pinned)


def says_too_short(run: Run, pinned: int) -> str | None:
    """Nothing precedes the only token."""
    if not surprise_facts(run, pinned).tokens.empty:
        return None
    return _(
        "Surprisal needs at least two tokens, since nothing precedes the first. Type a longer text."
    )


def says_loss(facts: SurpriseFacts) -> str:
    """Loss and perplexity; the most surprising token; where the first weighs most, the others."""
    text = _(
        "The mean loss is {nats:.2f} nats ({bits:.2f} bits) per token, a perplexity of "
        "{perplexity:,.1f}: the model is as uncertain as if it chose among {perplexity:,.1f} "
        "equally likely tokens. A uniform guess over all {run.config.vocab_size:,} would cost "
        "{guess_bits:.2f} bits."
    )
    if facts.is_worse_than_a_guess:
        text = _(
            "The mean loss is {nats:.2f} nats ({bits:.2f} bits) per token, a perplexity of "
            "{perplexity:,.1f}. This is worse than a uniform guess over all "
            "{run.config.vocab_size:,} tokens, which would cost {guess_bits:.2f} bits."
        )
    most = _(
        "The most surprising token is {token:token} at position {most[position]:from_one}: "
        "{most[bits]:.2f} bits, probability {most[probability]:percent}, rank {most[rank]:,.0f}."
    )
    others = _(
        "That is the first prediction, made from a single token; the others cost "
        "{bits_after_first:.2f} bits on average."
    )
    others = "" if facts.bits_after_first is None else others
    token = told_apart(facts.run.input.labels)[int(facts.most["position"])]
    said = fill(text, facts), fill(most, facts, token=token), fill(others, facts)
    return sentences(*said)


def is_long(facts: SurpriseFacts) -> bool:
    return len(facts.tokens) > NAMES


def says_order(facts: SurpriseFacts) -> str | None:
    return _("The table begins with the most surprising tokens.") if is_long(facts) else None


def table(facts: SurpriseFacts) -> pd.DataFrame:
    """Every token with its surprise; of a long text the most surprising first."""
    found = facts.table()
    if is_long(facts):
        found = found.sort_values("bits", ascending=False, kind="stable", ignore_index=True)
    return pd.DataFrame(
        {
            _("position"): found["position"],
            _("token"): found["label"],
            _("surprisal (bits)"): found["bits"].round(3),
            _("probability"): found["probability"].map(percent),
            _("rank"): found["rank"],
        }
    )


def surprisal(facts: SurpriseFacts) -> Chart:
    """Bits of surprise at each token, with the mean."""
    rows, named = facts.table(), told_apart(facts.run.input.labels)
    names = [named[position] for position in facts.tokens["position"]]
    most = 1.12 * max(facts.guess_bits, rows["bits"].max())
    levels = {
        _("solid: mean {bits:.2f} bits"): ("solid", facts.bits),
        _("dotted: uniform guess {bits:.2f} bits"): ("dot", facts.guess_bits),
    }
    text = " · ".join(name.format(bits=bits) for name, (_dash, bits) in levels.items())
    return Chart(
        _("Surprisal of each token"),
        rows.assign(at=facts.tokens["position"], named=[*map(token_label, names)]),
        Axis(tokens=names),
        Axis(_("surprisal (bits)"), (0, most)),
        [bars("bits", Look(color=palette.EMBEDDING), column=most)],
        hover=_(
            "{position} · {named}: {bits:.2f} bits, probability {probability:.3%}, rank {rank}"
        ),
        click=("at",),
        levels=[Level(bits, dash=dash) for dash, bits in levels.values()],
        grounds=[chosen(i) for i, at in enumerate(facts.tokens["position"]) if at == facts.pinned],
        words=[Words(text, -0.6)],
    )


@chooses("prompt")
def start_token(run: Run) -> None:
    """Whether the text begins with what the model knows as the beginning of one."""
    if START not in tokens.prompts():
        return
    is_there = tokens.prompt() == START
    label = _("Without a start token") if is_there else _("Begin the text with {token}")
    st.button(
        label.format(token=literal(tokens.start_token())),
        icon=":material/start:",
        key="start_token",
        help=_(
            "Then the first token of the text has a surprisal too, and the second is "
            "predicted from more than one token."
        ),
        on_click=link.change,
        args=("prompt", TEXT if is_there else START),
    )


PANEL = Panel(
    "surprise",
    N_("What surprises it?"),
    choices=start_token,
    of_predictions=True,
    fields=("n_layers", "d_model", "n_heads"),
    concepts=("surprise",),
    code=(predictions.surprise,),
    at=shared.pinned,
    facts=surprise_facts,
    absent=says_too_short,
    shows=(
        Note(shared.says_ahead, facts=the_values),
        Say(says_loss),
        Beside(
            Shown(surprisal, "surprise_bars", click=pin_token),
            (Note(says_order), Table(table, "surprise_table", n_names=2, height=330)),
            widths=(7, 4),
        ),
        File(lambda facts: facts.table(), "surprise"),
    ),
)

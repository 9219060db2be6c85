"""Where each tensor of a file went: by which operation, and what is missing or left over."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost.fitting import can_build
from blocks.cost.units import bytes_text
from blocks.inspection import file_ledger
from blocks.inspection.file_ledger import LedgerFacts, planned_ledger
from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.weights import ledger as ledgers
from blocks.weights.ledger import Entry, Ledger, State
from pages.page import bringing
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.parameters import file_ledger_picture
from pages.server import brought
from pages.show.chart import show
from pages.show.explain import explained, note
from pages.show.export import download
from pages.show.said import say
from pages.show.tables import show_table
from pages.words.language import _, bracketed, enumeration, literal, ngettext, sentences

STATES = {
    State.USED: N_("used"),
    State.REPEATED: N_("same as another tensor"),
    State.ASIDE: N_("not needed"),
    State.MISSING: N_("missing"),
    State.LEFT_OVER: N_("left over"),
    State.TWICE: N_("twice in the files"),
    State.WRONG_SHAPE: N_("wrong shape"),
    State.NO_NUMBERS: N_("unsupported number format"),
}


@lru_cache(maxsize=32)
def brought_facts(ledger: Ledger, name: str) -> LedgerFacts:
    """The ledger of a file that was brought; it may be one that was refused."""
    return file_ledger.ledger_facts(ledger, name)


@lru_cache(maxsize=32)
def planned_facts(config: ModelConfig) -> LedgerFacts:
    """What the file of such a model would hold; KeyError where no family has one."""
    found = planned_ledger(config)
    if found is None:
        raise KeyError(config)
    return file_ledger.ledger_facts(found)


def says_ledger(facts: LedgerFacts) -> str:
    """How many tensors there are, and what was done to them."""
    n, family = len(facts.ledger.rows), facts.ledger.family
    done = enumeration(bracketed(_(name), n) for name, n in facts.n_by_operation.items())
    if not facts.name:
        text = _(
            "Saved in the format of the {family} family, this model has {n} tensors. "
            "Operations: {done}."
        )
        return text.format(family=family, n=n, done=done)
    text = _("{name} ({family} family): {n} tensors, {used} of them used. Operations: {done}.")
    used = facts.n_in.get(State.USED, 0)
    said = [
        text.format(name=facts.name, family=family, n=n, used=used, done=done),
        *_others(facts),
        *_left_out(facts),
    ]
    return sentences(*said)


def _says_why_none(config: ModelConfig) -> str:
    """Why there is no file to show without one that was brought; empty where there is."""
    if not can_build(config):
        return _(
            "There are too many layers and experts to list here, so only the tensors of "
            "opened files are listed."
        )
    if planned_ledger(config) is None:
        return _("No known family of published models has a model like this.")
    return ""


def _others(facts: LedgerFacts) -> list[str]:
    rest = {state: n for state, n in facts.n_in.items() if state is not State.USED}
    if not rest:
        return [_("Nothing is missing or left over.")]
    named = enumeration(bracketed(_(STATES[state]), n) for state, n in rest.items())
    if facts.n_odd:
        text = _(
            "Not used or missing: {rest}. No model is built, because Blockscope does not guess."
        )
        return [text.format(rest=named)]
    return [_("Not used: {rest}. Nothing is missing.").format(rest=named)]


def _left_out(facts: LedgerFacts) -> list[str]:
    """The parts of a larger model that do not run here."""
    parts = []
    for part, (n, n_bytes) in facts.ledger.left_out.items():
        text = ngettext("{part} ({n} tensor, {size})", "{part} ({n} tensors, {size})", n)
        parts.append(text.format(part=_(part), n=n, size=bytes_text(n_bytes)))
    if not parts:
        return []
    return [_("Only the text model runs here. Left out: {parts}.").format(parts=enumeration(parts))]


def frame(ledger: Ledger) -> pd.DataFrame:
    """One row per tensor of the file, and those that are missing from it."""
    rows = ledger.rows
    table = pd.DataFrame(
        {
            _("tensor in the file"): [row.key for row in rows],
            _("status"): [_(STATES[row.state]) for row in rows],
            _("parameter here"): [", ".join(row.ours) or _note(row) for row in rows],
            _("operation"): [_(row.operation) for row in rows],
            _("shape"): [_shape(row.shape) for row in rows],
            _("expected shape"): [_shape(row.expected) for row in rows],
            _("number format"): [row.dtype for row in rows],
            _("file"): [row.file for row in rows],
        }
    )
    is_said = (table != "").any()
    is_said[_("expected shape")] = any(row.state is State.WRONG_SHAPE for row in rows)
    return table.loc[:, is_said]


def _note(row: Entry) -> str:
    return row.note if row.state is State.REPEATED or not row.note else _(row.note)


def _shape(shape: tuple[int, ...] | None) -> str:
    return "" if shape is None else " × ".join(map(str, shape)) or "1"


@section
def where_tensors_went(run: Run) -> None:
    """Of the model that was brought, or of the files that were refused; else what would be."""
    refused, weights = bringing.refused_ledger(), run.weights
    name = _("Rejected files") if refused else literal(brought.title(weights))
    ledger = refused or brought.ledger_of(weights)
    with explained(("file_ledger",), (ledgers.ledger,), key="ledger_story"):
        if ledger is None and (text := _says_why_none(run.config)):
            st.info(text, icon=":material/block:")
            return
        if ledger is not None:
            say(says_ledger, ledger, name, facts=brought_facts)
        else:
            say(says_ledger, run.config, facts=planned_facts)
    draw = file_ledger_picture.draw_ledger
    if ledger is not None:
        show(draw, ledger, name, facts=brought_facts, key="ledger")
        table = frame(ledger)
    else:
        show(draw, run.config, facts=planned_facts, key="ledger")
        table = frame(planned_facts(run.config).ledger)
        note(_("Bring your own weights in the sidebar to see where each of your tensors goes."))
    show_table(table, key="ledger_table", height=320)
    download("ledger.csv", lambda: table.to_csv(index=False), "text/csv")


PANEL = Panel("ledger", N_("Where does each tensor go?"), where_tensors_went)

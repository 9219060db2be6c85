"""The model as one Python file, to copy or keep; with A beside B, what the change changes in it."""

from functools import lru_cache, partial

import streamlit as st

from blocks import ConfigError, ModelConfig
from blocks.export import CodeChange, CodeFacts, code_change, code_facts, packed
from blocks.model.faults import N_
from blocks.model.models import assemble
from blocks.observe.run import Run
from pages.page.declared import Panel
from pages.page.frame import refuse, section
from pages.panels.parameters.weight_values import is_shown
from pages.server import brought, cached, starts
from pages.show import beside
from pages.show.explain import note
from pages.show.export import download
from pages.show.said import say
from pages.stage import present
from pages.state.values import State
from pages.words.language import _

TALLEST, ON_A_SCREEN = 640, 520  # pixels


@section
def the_code(run: Run, state: State) -> None:
    """The difference where A stands beside B, the file, and what runs with it."""
    try:
        facts = of_config(run.config, _came_as(run))
    except ConfigError as error:
        refuse(error.faults)
    say(says_code, run.config, _came_as(run), facts=of_config)
    if (pair := beside.found()) and (change := _changed(pair.a.config, facts)):
        st.markdown(says_change(change))
        if change.text:
            st.code(change.text, language="diff", height=TALLEST)
    with st.container(horizontal=True, key="code_files"):
        download("model.py", lambda: facts.text, "text/x-python")
        if is_shown(run, state.spread_of_weights):
            download(f"{facts.family or 'model'}.zip", partial(_zip_of, run), "application/zip")
            note(says_weights(facts))
    height = ON_A_SCREEN if present.is_on() else TALLEST
    st.code(facts.text, language="python", height=height)


@lru_cache(maxsize=16)
def of_config(config: ModelConfig, came_as: str = "") -> CodeFacts:
    """The file of a configuration, written once."""
    return code_facts(config, came_as)


def _zip_of(run: Run) -> bytes:
    """The model; what was brought in its files' number format, names and tokenizer."""
    if (came := brought.ledger_of(run.weights)) is None:
        return packed(run.config, cached.model(run))
    found = starts.model(run.weights).first_layers(run.config.n_layers)
    return packed(run.config, assemble(run.config, found.tensors), found.tokenizer, came)


def _came_as(run: Run) -> str:
    """The family of the files that were brought; empty where there were none."""
    ledger = brought.ledger_of(run.weights)
    return ledger.family if ledger else ""


def _changed(config: ModelConfig, facts: CodeFacts) -> CodeChange | None:
    """What leads from the file of this configuration to the other; None where it has no file."""
    try:
        return code_change(of_config(config).text, facts.text)
    except ConfigError:
        return None


def says_code(facts: CodeFacts) -> str:
    """How long it is, and what it needs."""
    return _(
        "This model takes {n_lines} lines of Python: {n_classes} classes, generated from the "
        "source that runs here, with only the branches that this configuration takes. The "
        "code needs only torch."
    ).format(n_lines=facts.n_lines, n_classes=facts.n_classes)


def says_change(change: CodeChange) -> str:
    """How much of A's file is not in B's."""
    if not change.text:
        return _("A and B produce the same file: the difference between them is not in the code.")
    text = _("Lines changed from A to B (−{n_gone}, +{n_new}):")
    return text.format(n_gone=change.n_gone, n_new=change.n_new)


def says_weights(facts: CodeFacts) -> str:
    """What the zip holds, and which of the files go together."""
    if facts.family:
        return _(
            "In the zip, config.json and model.safetensors use the {family} family's names; "
            "model.py uses Blockscope's names for its weights."
        ).format(family=facts.family)
    return _("The zip holds model.py and its weights, named as in model.py.")


PANEL = Panel(
    "code",
    N_("The model as code"),
    the_code,
    fields=("norm_placement", "activation", "position_kind", "n_kv_heads", "n_experts"),
)

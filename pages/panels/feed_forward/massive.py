"""The values that outweigh all others: where they stand, who writes them, what they are for."""

from functools import lru_cache, partial
from typing import NamedTuple

import pandas as pd
import streamlit as st

from blocks.inspection import massive as measures
from blocks.inspection import sinks
from blocks.inspection.massive import MassiveFacts, Rerun, Writers
from blocks.observe.run import Run
from pages.figures.counting import from_one, told_apart
from pages.figures.numbers import hundredths, readable
from pages.panels.feed_forward import massive_picture, shared
from pages.ui import cached, tokens
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, listing, literal, sentences
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.sinks import found_in
from pages.ui.steps import in_steps
from pages.ui.tables import show_table
from pages.ui.ways import click_sets, way

LONG_TABLE, MOST_ROWS = 318, 8  # pixels; rows that are shown whole


class Without(NamedTuple):
    """The runs in which the largest value was set: what was set, and what came of it."""

    run: Run
    found: tuple[Rerun, ...]

    @property
    def has_all(self) -> bool:
        """Whether all of them are there: as measured, as in other texts, and 0."""
        return len(self.found) == len(STATES)

    @property
    def labels(self) -> tuple[str, ...]:
        """What each of them expects after the text."""
        return tuple(tokens.label(self.run, each.token_id) for each in self.found)


@lru_cache(maxsize=32)
def massive_facts(run: Run) -> MassiveFacts:
    """The largest values of a run."""
    return measures.massive_facts(run, cached.recording(run), found_in(run))


@lru_cache(maxsize=32)
def writers(run: Run) -> Writers | None:
    """The units that write the largest of them; None where attention does, or experts."""
    facts = massive_facts(run)
    if run.config.attention_only or not facts.is_fed:
        return None
    seen = shared.see_once(run, facts.birth)
    return measures.writers(seen, facts.largest.token, facts.largest.channel)


def _as_measured(run: Run) -> Rerun:
    return measures.as_it_was(run, cached.recording(run), massive_facts(run).born)


def _as_usual(run: Run) -> Rerun:
    born, model = massive_facts(run).born, cached.model(run)
    with cached.turn(run.device):
        return measures.rerun(run, model, born, measures.usual_value(run, model, born))


def _as_zero(run: Run) -> Rerun:
    born, model = massive_facts(run).born, cached.model(run)
    with cached.turn(run.device):
        return measures.rerun(run, model, born, 0.0)


@lru_cache(maxsize=32)
def without_unit(run: Run) -> Rerun:
    """The text read without the unit that writes most of the largest value."""
    found, model = writers(run), cached.model(run)
    assert found is not None
    with cached.turn(run.device):
        unit = int(found.first["unit"])
        return measures.without_unit(run, model, massive_facts(run).born, unit)


STATES = (_as_measured, _as_usual, _as_zero)


@lru_cache(maxsize=96)
def in_state(run: Run, i: int) -> Rerun:
    """One of the states of the largest value."""
    return STATES[i](run)


def says_largest(facts: MassiveFacts) -> str:
    """Where the largest value is, how it comes and goes, and which tokens are massive."""
    at = facts.largest
    text = _(
        "The largest value of the stream is {value}, at {token} after layer {layer}, in channel "
        "{channel}: {times} times the median size there ({median})."
    )
    said = text.format(
        value=readable(at.value),
        token=_token(facts, at.token),
        layer=from_one(at.layer),
        channel=from_one(at.channel),
        times=readable(facts.times),
        median=hundredths(facts.median),
    )
    if not facts.sinks.tokens:
        text = _("No token outweighs the others here, as in most small models.")
        return sentences(said, text)
    return sentences(said, _way(facts), _generations(facts))


def _way(facts: MassiveFacts) -> str:
    """Where it is written, and where it is taken back."""
    attention, feed_forward = facts.writes
    text = _("Layer {birth} writes it: attention {attention}, the feed-forward layer {wide}.")
    if facts.death is None:
        gone = _("It stays to the last layer.")
    else:
        gone = _("Layer {death} leaves less than half of it.")
        gone = gone.format(death=from_one(facts.death))
    written = text.format(
        birth=from_one(facts.birth), attention=readable(attention), wide=readable(feed_forward)
    )
    return sentences(written, gone)


def _generations(facts: MassiveFacts) -> str:
    """Which tokens are massive, from where to where."""
    if not facts.generations:
        return ""
    span, stretches = _("{first} to {last}"), dict[tuple[int, ...], list[str]]()
    for found in facts.generations:
        layers = span.format(first=from_one(found.first), last=from_one(found.last))
        stretches.setdefault(found.tokens, []).append(layers)
    each = _("{tokens} after layers {layers}")
    listed = listing(
        each.format(
            tokens=enumeration(_token(facts, token) for token in tokens),
            layers=enumeration(layers),
        )
        for tokens, layers in stretches.items()
    )
    text = _("Massive tokens: {listed}.")
    if len(stretches) == len(facts.generations) == 2:
        text = _("Massive tokens, in two generations: {listed}.")
    return text.format(listed=listed)


def _token(facts: MassiveFacts, token: int) -> str:
    return literal(told_apart(facts.run.input.labels)[token])


def says_unit(found: Writers) -> str:
    """Which unit writes it."""
    text = _(
        "Unit {unit} of layer {layer} is {hidden} at this token and at most {elsewhere} in size at "
        "any other; it writes {share} of what the feed-forward layer adds there."
    )
    unit = found.first
    return text.format(
        unit=from_one(unit["unit"]),
        layer=from_one(found.layer),
        hidden=hundredths(unit["hidden"]),
        elsewhere=hundredths(unit["elsewhere"]),
        share=percent(found.share),
    )


def says_without(found: Without) -> str:
    """What the value is for, by the loss without it."""
    measured, usual, zero = found.found
    text = _(
        "Set to 0, this one value takes the loss from {bits:.2f} to {zero:.2f} bits per token. Set "
        "to its mean in texts that begin at other tokens ({value}), it leaves {usual:.2f} bits."
    )
    return text.format(
        bits=measured.bits, zero=zero.bits, usual=usual.bits, value=readable(usual.value)
    )


def says_without_unit(unit: int, measured: Rerun, without: Rerun) -> str:
    """The value and the loss without the unit, which others that write it may hold up."""
    text = _(
        "Without unit {unit} the value is {value} instead of {before}, and the loss {without:.2f} "
        "instead of {bits:.2f} bits per token."
    )
    return text.format(
        unit=from_one(unit),
        value=readable(without.value),
        before=readable(measured.value),
        without=without.bits,
        bits=measured.bits,
    )


def table_without(found: Without) -> pd.DataFrame:
    """A row for each state of the value."""
    names = (_("as measured"), _("its mean in other texts"), "0")
    return pd.DataFrame(
        {
            _("the value is"): names[: len(found.found)],
            _("value"): [readable(each.value) for each in found.found],
            _("loss (bits per token)"): [round(each.bits, 3) for each in found.found],
            _("likeliest next token"): found.labels,
            _("probability"): [percent(each.probability) for each in found.found],
        }
    )


def table_of_units(found: Writers) -> pd.DataFrame:
    """The units that write most of the value."""
    units = found.units
    return pd.DataFrame(
        {
            _("unit"): units["unit"].map(from_one),
            _("activation at this token"): units["hidden"].round(2),
            _("largest size elsewhere"): units["elsewhere"].round(2),
            _("weight"): units["weight"].round(3),
            _("written into the channel"): units["written"].round(2),
        }
    )


def table_of_layers(facts: MassiveFacts) -> pd.DataFrame:
    """The largest value after each layer."""
    found = facts.table()
    return pd.DataFrame(
        {
            _("layer"): found["layer"].map(from_one),
            _("token"): found["label"],
            _("position"): found["token"].map(from_one),
            _("channel"): found["channel"].map(from_one),
            _("largest value"): found["value"].round(3),
            _("median size"): found["median_size"].round(3),
        }
    )


@section
def what_outweighs(run: Run) -> None:
    """Layers and tokens, one channel on its way, the units that write it, the loss without it."""
    code = (measures.massive_facts, sinks.massive_tokens, measures.writers, measures.rerun)
    with explained(("massive_activations",), code, key="massive"):
        say(says_largest, run, facts=massive_facts)
    facts = massive_facts(run)
    left, right = columns([6, 5])
    with left:
        show(
            massive_picture.largest_values,
            run,
            facts=massive_facts,
            key="largest_values",
            on_click=click_sets("layer", "token"),
        )
        if facts.leaves_out(massive_picture.MOST_TOKENS):
            text = _("Shown: the {n} tokens with the largest values.")
            note(text.format(n=massive_picture.MOST_TOKENS))
    with right:
        show(massive_picture.way_of_a_channel, run, facts=massive_facts, key="channel_way")
    left, right = columns(2)
    with left:
        _loss_without(run)
    with right:
        _units(run, facts)
    show_table(
        table_of_layers(facts),
        key="massive_table",
        n_names=2,
        height=LONG_TABLE if run.config.n_layers > MOST_ROWS else "content",
    )


def _loss_without(run: Run) -> None:
    """What the model makes of its text without the largest value."""
    if not measures.can_rerun(run):
        return
    steps = [partial(in_state, run, i) for i in range(len(STATES))]
    done = in_steps(steps, what=("massive", run), key="without_massive")
    if not done.found:
        return
    found = Without(run, tuple(done.found))
    if found.has_all:
        st.markdown(says_without(found))
    show_table(table_without(found), key="without_massive_table")


def _units(run: Run, facts: MassiveFacts) -> None:
    """The units that write it, and the way to the first of them."""
    found = writers(run)
    if found is None:
        return
    unit = int(found.first["unit"])
    said = [says_unit(found)]
    if measures.can_rerun(run):
        said.append(says_without_unit(unit, in_state(run, 0), without_unit(run)))
    st.markdown(sentences(*said))
    show_table(table_of_units(found), key="writers_table")
    way(
        _("See this unit at every token"),
        "massive_unit",
        panel="unit",
        layer=found.layer,
        token=facts.largest.token,
        unit=unit,
    )

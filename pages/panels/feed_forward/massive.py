"""Which value outweighs all others? Where it stands, who writes it, what it is for."""

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from blocks.inspection import massive as measures
from blocks.inspection import sinks
from blocks.inspection.massive import MassiveFacts, Rerun, Writers
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import ROW, Axis, Chart, Look, line
from pages.figures.counting import from_one, told_apart
from pages.figures.numbers import readable
from pages.figures.theme import token_label
from pages.page.declared import Panel
from pages.panels.feed_forward import shared
from pages.panels.feed_forward.massive_picture import MOST_TOKENS, largest_values
from pages.server import cached
from pages.show.parts import Beside, Controls, Matrix, Note, Say, Shown, Steps, Table, Text
from pages.show.ways import click_sets, way
from pages.stage import tokens
from pages.state.sinks import found_in
from pages.words.language import _, enumeration, fill, listing, literal, sentences
from pages.words.numbers import percent

LONG_TABLE, CURVES = 318, 260  # pixels
ROOM = 340  # pixels of a picture before a class, where sentences stand below
LEAST = 1e-3  # on a logarithmic scale
STATES = ("measured", "usual", "zero")
LOOKS = (
    (palette.PINNED, "solid"),
    (palette.ATTENTION, "dash"),
    (palette.NORM, "dot"),
    (palette.EMBEDDING, "dashdot"),
)


class Without(NamedTuple):
    """The runs in which the largest value was set: as measured, as in other texts, and 0."""

    run: Run
    found: tuple[Rerun, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(tokens.label(self.run, each.token_id) for each in self.found)


class Unit(NamedTuple):
    """The unit that writes most of the largest value; the text with it and without."""

    writers: Writers
    measured: Rerun | None = None
    without: Rerun | None = None


@lru_cache(maxsize=32)
def massive_facts(run: Run) -> MassiveFacts:
    return measures.massive_facts(run, cached.recording(run), found_in(run))


@lru_cache(maxsize=32)
def writers(run: Run) -> Writers | None:
    """The units that write the largest of them; None where attention does, or experts."""
    facts = massive_facts(run)
    if run.config.attention_only or not facts.is_fed:
        return None
    seen = shared.see_once(run, facts.birth)
    return measures.writers(seen, facts.largest.token, facts.largest.channel)


@lru_cache(maxsize=96)
def in_state(run: Run, state: str) -> Rerun:
    """The text read with the largest value as it is, usual, or 0; or without its unit."""
    born, model, found = massive_facts(run).born, cached.model(run), writers(run)
    if state == "measured":
        return measures.as_it_was(run, cached.recording(run), born)
    with cached.turn(run.device):
        if state == "without" and found:
            return measures.without_unit(run, model, born, int(found.first["unit"]))
        value = measures.usual_value(run, model, born) if state == "usual" else 0.0
        return measures.rerun(run, model, born, value)


def states(run: Run) -> list[partial[Rerun]]:
    return [partial(in_state, run, each) for each in STATES if measures.can_rerun(run)]


def without(run: Run, n_states: int) -> Without:
    return Without(run, tuple(in_state(run, each) for each in STATES[:n_states]))


def unit(run: Run) -> Unit | None:
    """The first of the units that write the largest value, and the text without it."""
    found = writers(run)
    if found is None:
        return None
    if not measures.can_rerun(run):
        return Unit(found)
    return Unit(found, in_state(run, "measured"), in_state(run, "without"))


def says_largest(facts: MassiveFacts) -> str:
    """Where the largest value is, how it comes and goes, and which tokens are massive."""
    text = _(
        "The largest value of the stream is {largest.value:readable}, at {token} after layer "
        "{largest.layer:from_one}, in channel {largest.channel:from_one}: {times:readable} times "
        "the median size there ({median:hundredths})."
    )
    said = fill(text, facts, token=_token(facts, facts.largest.token))
    if not facts.sinks.tokens:
        return sentences(said, _("No token outweighs the others here, as in most small models."))
    written = _(
        "Layer {birth:from_one} writes it: attention contributes {writes[0]:readable} and the"
        " feed-forward layer {writes[1]:readable}."
    )
    gone = _("After layer {death:from_one}, less than half of it is left.")
    gone = _("It stays until the last layer.") if facts.death is None else gone
    return sentences(said, fill(written, facts), fill(gone, facts), _generations(facts))


def _generations(facts: MassiveFacts) -> str:
    """Which tokens are massive, from where to where."""
    if not facts.generations:
        return ""
    span, stretches = _("{first:from_one} to {last:from_one}"), dict[tuple[int, ...], list[str]]()
    for found in facts.generations:
        stretches.setdefault(found.tokens, []).append(fill(span, found))
    each = _("{tokens} after layers {layers}")
    listed = listing(
        each.format(
            tokens=enumeration(_token(facts, token) for token in tokens), layers=enumeration(layers)
        )
        for tokens, layers in stretches.items()
    )
    text = _("Tokens with massive activations: {listed}.")
    if len(stretches) == len(facts.generations) == 2:
        text = _("Tokens with massive activations, in two waves: {listed}.")
    return text.format(listed=listed)


def _token(facts: MassiveFacts, token: int) -> str:
    return literal(told_apart(facts.run.input.labels)[token])


def says_unit(facts: Unit | None) -> str | None:
    """Which unit writes it, and what comes of the text without that unit."""
    if facts is None:
        return None
    text = _(
        "Unit {first[unit]:from_one} of layer {layer:from_one} is {first[hidden]:hundredths} "
        "at this token and at most {first[elsewhere]:hundredths} in magnitude at any other; "
        "it writes {share:percent} of what the feed-forward layer adds there."
    )
    more = _(
        "Without unit {number:from_one}, the value is {without.value:readable} instead of "
        "{measured.value:readable}, and the loss is {without.bits:.2f} instead of "
        "{measured.bits:.2f} bits per token."
    )
    rest = fill(more, facts, number=facts.writers.first["unit"]) if facts.without else ""
    return sentences(fill(text, facts.writers), rest)


def says_without(found: Without) -> str | None:
    """What the value is for, by the loss without it."""
    if len(found.found) < len(STATES):
        return None
    text = _(
        "Setting this one value to 0 takes the loss from {measured.bits:.2f} to "
        "{zero.bits:.2f} bits per token. Setting it to its mean in texts that begin with "
        "other tokens ({usual.value:readable}) gives {usual.bits:.2f} bits."
    )
    return fill(text, **dict(zip(STATES, found.found, strict=True)))


def says_left_out(facts: MassiveFacts) -> str | None:
    text = _("The {n} tokens with the largest values are shown.")
    return text.format(n=MOST_TOKENS) if facts.leaves_out(MOST_TOKENS) else None


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


def table_of_units(found: Writers | None) -> pd.DataFrame | None:
    """The units that write most of the value."""
    if found is None:
        return None
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


def way_of_a_channel(facts: MassiveFacts) -> Chart:
    """The size of one channel at the tokens that are followed, beside that of a median value."""
    names = told_apart(facts.run.input.labels)
    sizes = np.maximum(np.abs([*facts.traces, [np.nan, *facts.medians]]), LEAST)
    looks = [
        Look(f"{token_label(names[token])} ({from_one(token)})", color, "circle", size=5, dash=dash)
        for token, (color, dash) in zip(facts.followed, LOOKS, strict=False)
    ]
    median = Look(_("median size of all values"), palette.BEFORE, dash="dash", width=1.5)
    title = _("Channel {channel} on its way through the layers")
    return Chart(
        title.format(channel=from_one(facts.largest.channel)),
        pd.DataFrame(sizes.T, columns=[f"size {i}" for i in range(len(sizes))]),
        Axis(_("layer (0: input)"), of=ROW),
        Axis(_("size"), _ends(sizes), is_log=True, said="{:,g}".format),
        [line(f"size {i}", look) for i, look in enumerate((*looks, median))],
        hover=_("layer {n}").format(n="{x}") + ": {y:.4g}",
        tall=CURVES,
    )


def _ends(sizes: NDArray[np.float64]) -> tuple[float, float]:
    return float(np.nanmin(sizes)), float(np.nanmax(sizes))


def way_to_unit(run: Run) -> None:
    """The way to the first of the units that write it."""
    if found := writers(run):
        way(
            _("See this unit at every token"),
            "massive_unit",
            panel="unit",
            layer=found.layer,
            token=massive_facts(run).largest.token,
            unit=int(found.first["unit"]),
        )


PANEL = Panel(
    "massive-activations",
    N_("Which value outweighs all others?"),
    fields=("n_layers", "d_ff", "activation"),
    of_predictions=True,
    concepts=("massive_activations",),
    code=(measures.massive_facts, sinks.massive_tokens, measures.writers, measures.rerun),
    facts=massive_facts,
    shows=(
        Say(says_largest),
        Beside(
            (
                Matrix(
                    largest_values, "largest_values", click=click_sets("layer", "token"), room=ROOM
                ),
                Note(says_left_out),
            ),
            Shown(way_of_a_channel, "channel_way", room=ROOM),
            widths=(6, 5),
        ),
        Beside(
            Steps(
                states,
                Text(says_without, without),
                Table(table_without, "without_massive_table", facts=without),
                key="without_massive",
            ),
            (
                Text(says_unit, unit),
                Table(table_of_units, "writers_table", facts=writers),
                Controls(way_to_unit),
            ),
        ),
        Table(table_of_layers, "massive_table", n_names=2, height=LONG_TABLE),
    ),
)

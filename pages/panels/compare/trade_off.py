"""Models on two axes of what they cost and can: what is kept, B, and what was published."""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import pareto
from blocks.cost.pareto import FrontFacts
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import Picture, token_label
from pages.page.frame import section
from pages.panels.compare import measures, shared, trade_off_picture
from pages.panels.compare.measures import MEASURES
from pages.server import starts
from pages.show import beside
from pages.show.chart import show
from pages.show.controls import choose, pick, switch
from pages.show.explain import explained, note
from pages.show.said import say
from pages.stage import kept, link
from pages.state.values import State
from pages.words.language import _, literal, sentences

DIRECTIONS = {"less": N_("lower is better"), "more": N_("higher is better")}


class Candidate(NamedTuple):
    """A configuration that takes part; `key` says what a click on it sets."""

    key: str
    name: str
    kind: str
    config: ModelConfig
    weights: str


class Axes(NamedTuple):
    """What stands on which axis, where on it is better; texts of n tokens, in a number format."""

    x: str
    y: str
    x_more: bool
    y_more: bool
    n: int
    weight_format: str


def axes(state: State) -> Axes:
    """As the reader has set them."""
    n, weight_format = shared.counted_with(state)
    return Axes(
        state.tradeoff_x,
        state.tradeoff_y,
        state.tradeoff_x_better == "more",
        state.tradeoff_y_better == "more",
        n,
        weight_format,
    )


def candidates(run: Run, state: State) -> tuple[Candidate, ...]:
    """B, all that are kept, and the published ones that are neither."""
    found = [Candidate("b", _("B · now"), "b", run.config, run.weights)]
    for i, entry in enumerate(kept.all_kept()):
        is_a = entry == kept.a()
        name = f"A · {entry.name}" if is_a else entry.name
        its = beside.run_as_it_is(entry)
        kind = "a" if is_a else "kept"
        found.append(Candidate(f"kept:{i}", name, kind, its.config, its.weights))
    if state.with_presets:
        there = {each.config for each in found}
        known = ((name, starts.start(name)) for name in starts.names_to_count())
        found += [
            Candidate(f"preset:{name}", _(start.title), "preset", start.config, start.weights)
            for name, start in known
            if start.config not in there
        ]
    return tuple(found)


@lru_cache(maxsize=16)
def front_facts(found: tuple[Candidate, ...], axes: Axes) -> FrontFacts:
    """Both numbers of each, and which none of the others beats."""
    with_ = axes.n, axes.weight_format
    counted = (measures.summary(each.config, each.weights, *with_) for each in found)
    rows = [
        (*each[:3], float(getattr(its, axes.x)), float(getattr(its, axes.y)))
        for each, its in zip(found, counted, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["key", "name", "kind", "x", "y"])
    return pareto.front_facts(table, (axes.x_more, axes.y_more))


def says_front(facts: FrontFacts) -> str:
    """Which lie on the front, what beats B, and how many have no such number."""
    if facts.points.empty:
        return _("No configuration has values for both axes.")
    text = _("Pareto front ({n} of {all} configurations): {names}.")
    names = shared.some_of([literal(name) for name in facts.front])
    said = [text.format(n=len(facts.front), all=len(facts.points), names=names)]
    if name := facts.better_than("b"):
        text = _("B is dominated: {name} is no worse on either axis and better on at least one.")
        said.append(text.format(name=literal(name)))
    if n := facts.n_left_out:
        text = _(
            "Configurations not drawn because they have no value on one of the axes: {n} (an "
            "encoder, for example, has no cache)."
        )
        said.append(text.format(n=n))
    return sentences(*said)


@section
def what_one_pays(run: Run, state: State) -> None:
    """Every configuration on two axes, and the front."""
    place = explained(("pareto_front",), (pareto.pareto_front,), key="trade_off")
    picture = st.container()
    left, right = st.columns(2)
    with left:
        axis_choice("x", _("x-axis"))
    with right:
        axis_choice("y", _("y-axis"))
    switch("with_presets", _("Also show published and trained models"))
    shown = candidates(run, state), axes(state)
    with place:
        say(says_front, *shown, facts=front_facts)
    if front_facts(*shown).points.empty:
        return
    with picture:
        show(draw_front, *shown, key="trade_off_dots", on_click=take)
        note(
            _(
                "Filled dots are on the Pareto front, where no other configuration is at "
                "least as good on both axes and better on one. Hollow dots are dominated. "
                "Both axes are logarithmic. Names are shown where there is room, and "
                "always on hover. Click a dot to set it as B."
            )
        )


def axis_choice(axis: str, label: str) -> None:
    """What stands on an axis, and where on it is better."""
    pick(f"tradeoff_{axis}", label, MEASURES, label_of=lambda name: _(MEASURES[name]))
    better = f"tradeoff_{axis}_better"
    choose(better, _("Preferred direction"), DIRECTIONS, label_of=lambda name: _(DIRECTIONS[name]))


def take(customdata: list[Any]) -> None:
    """A dot was clicked: set it as B, on the whole page."""
    kind, _colon, place = str(customdata[0]).partition(":")
    if kind == "kept":
        kept.take(int(place))
    elif kind == "preset":
        link.change("preset", place)
    link.redraw_everything()


def draw_front(found: tuple[Candidate, ...], axes: Axes) -> Picture:
    """The dots and the stairs."""
    facts = front_facts(found, axes)
    said = [_hover(row, axes) for row in each_row(facts.points)]
    title = partial(measures.title, n=axes.n, weight_format=axes.weight_format)
    return trade_off_picture.scatter(
        facts.points.assign(said=said),
        titles=(_better(title(axes.x), more=axes.x_more), _better(title(axes.y), more=axes.y_more)),
        more_is_better=facts.more_is_better,
        _=_,
    )


def _better(what: str, *, more: bool) -> str:
    better = DIRECTIONS["more" if more else "less"]
    return _("{what} · {better}").format(what=what, better=_(better))


def _hover(row: Row, axes: Axes) -> str:
    numbers = (
        f"{_(MEASURES[measure])}: {measures.written(measure, value)}"
        for measure, value in ((axes.x, row.x), (axes.y, row.y))
    )
    return "<br>".join((f"<b>{token_label(row.name, most=40)}</b>", *numbers))

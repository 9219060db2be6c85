"""What else compute could buy: text seen again, larger batches, more layers."""

from typing import Any, NamedTuple

import streamlit as st

from blocks.model.faults import N_
from blocks.observe.run import Run
from blocks.scaling import critical_batch, depth, repeated
from blocks.scaling.critical_batch import BatchSizes
from blocks.scaling.depth import DepthOrWidth
from blocks.scaling.repeated import RepeatedData
from blocks.scaling.series import recorded
from pages.page.declared import Panel
from pages.page.frame import section
from pages.panels.scaling import shared
from pages.panels.scaling.again import AGAIN
from pages.panels.scaling.batch import BATCH
from pages.panels.scaling.shape import SHAPE
from pages.show import words
from pages.show.controls import pick
from pages.show.explain import explained, note
from pages.show.parts import Given, Item
from pages.show.steps import in_series
from pages.stage import present
from pages.state.values import State
from pages.words.language import _, sentences


class View(NamedTuple):
    """One thing that compute buys: what is trained for it, what ran, and what is shown of it."""

    label: str
    series: Any
    code: tuple[Any, ...]
    shows: tuple[Item, ...]


VIEWS = {
    "repeated": View(N_("Repeated data"), RepeatedData, (repeated.learned, repeated.worth), AGAIN),
    "batch": View(
        N_("Batch size"), BatchSizes, (critical_batch.noise_of, critical_batch.fit_of), BATCH
    ),
    "depth": View(N_("Depth or width"), DepthOrWidth, (depth.shaped, depth.width_of), SHAPE),
}


@section
def what_else(run: Run, state: State) -> None:
    """One of the three, as it was recorded or trained here and now."""
    view = VIEWS[state.trade]
    place = explained(("trades",), view.code, key="trades")
    with present.aside(), st.container(horizontal=True, vertical_alignment="bottom"):
        pick("trade", _("Compute for"), VIEWS, label_of=lambda name: _(VIEWS[name].label))
        shared.live_choice("train_trade", _("Train them here"))
    if state.train_trade:
        series = view.series(run.seed)
        found = tuple(
            in_series(
                series,
                key=f"trade_steps_{state.trade}",
                asked_by="train_trade",
                costs=series.costs,
                fewest=series.n_steps,
            ).found
        )
        if len(found) < series.n_steps:
            return
    else:
        found = recorded(view.series())
    for item in view.shows if found else ():
        item.draw(Given((found,), None, place))
    text = _("All runs train GPTs like those of the valleys, on the same text, with seed {seed}.")
    said = text.format(seed=run.seed if state.train_trade else 0)
    note(sentences(words.trained(is_recorded=not state.train_trade), said))


def at(_run: Run, state: State) -> tuple[Any, ...] | None:
    found = recorded(VIEWS[state.trade].series())
    return (found, state.trade) if found else None


def shows(_found: Any, trade: str) -> tuple[Item, ...]:
    return VIEWS[trade].shows


PANEL = Panel(
    "trades",
    N_("What else could the compute buy?"),
    what_else,
    of_this_run=False,
    reads_input=False,
    concepts=("trades",),
    at=at,
    shows=shows,
)

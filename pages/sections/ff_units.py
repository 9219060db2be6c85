"""Dead and saturated units, how often each is active, and what excites one of them."""

import functools

from blocks.inspection import activations as measures
from blocks.inspection import units as unit_measures
from blocks.observe.run import Run
from pages.figures import units
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.feed_forward import controls, measured, tabulated, words
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.views import pin_token


@section
def dead_and_alive(run: Run, layer: int, expert: int, token: int) -> None:
    """Every layer's shares, and the units of this one in the order of their activity."""
    code = (unit_measures.frame, measures.is_off, measures.is_saturated)
    with explained(("activations",), code, key="units"):
        say(words.units_sentence, run, layer, expert)
    note(words.definition(run, layer, expert))
    left, right = columns(2)
    with left:
        _all_layers(run, layer)
    with right:
        unit = measured.selected_unit(run, layer, expert, token)
        show(
            draw_activity,
            *(run, layer, expert, token, unit),
            key="activity",
            alt=words.activity_alt,
            on_click=controls.show_unit_everywhere,
        )


def _all_layers(run: Run, layer: int) -> None:
    steps = [
        functools.partial(measured.layer_shares, run, each) for each in range(run.config.n_layers)
    ]
    done = in_steps(steps, what=("units", run), key="layer_units")
    shares = tabulated.layer_shares(done.found)
    if shares:
        show(
            draw_layers,
            *(run, shares, layer),
            key="layer_units",
            alt=words.layers_alt,
            on_click=controls.show_layer,
        )


@section
def one_unit(run: Run, layer: int, expert: int, token: int) -> None:
    """The strongest units at every token, and the tokens that excite one of them."""
    code = (unit_measures.strongest, unit_measures.at_tokens)
    unit = measured.selected_unit(run, layer, expert, token)
    place = explained(("feed_forward",), code, key="unit_map_part")
    controls.unit_choice(run, unit)
    with place:
        say(words.unit_sentence, run, layer, expert, unit)
    left, right = columns([7, 4])
    with left:
        show(
            draw_map,
            *(run, layer, expert, token, unit),
            key="unit_map",
            alt=words.map_alt,
            on_click=controls.show_unit_and_token,
        )
    with right:
        show(
            draw_exciting,
            *(run, layer, expert, unit, token),
            key="exciting",
            alt=words.exciting_alt,
            on_click=pin_token,
        )


def draw_layers(run: Run, shares: tuple[tuple[float, ...], ...], layer: int):
    """Dead, saturated and active shares of every layer."""
    return units.per_layer(tabulated.layer_frame(shares), selected=layer, _=_)


def draw_activity(run: Run, layer: int, expert: int, token: int, unit: int):
    """All units, the busiest first."""
    table = measured.unit_table(run, layer, expert)
    marked = measured.shown_units(run, layer, expert, token)
    return units.by_activity(table, marked, selected=unit, _=_)


def draw_map(run: Run, layer: int, expert: int, token: int, unit: int):
    """The strongest units, and the selected one, at every token."""
    numbers = measured.given(run, layer, expert)
    shown = measured.units_with(run, layer, expert, token, unit)
    return units.unit_map(
        measured.hidden(run, layer, expert, shown),
        shown,
        [run.input.labels[number] for number in numbers],
        numbers,
        selected=unit,
        pinned=token,
        _=_,
    )


def draw_exciting(run: Run, layer: int, expert: int, unit: int, token: int):
    """The tokens that excite the unit most."""
    table = measured.exciting(run, layer, expert, unit)
    return units.exciting(table, unit=unit, pinned=token, _=_)

"""Mixture of experts: where the router sends each token, how full the experts are, the cost."""

import streamlit as st

from blocks.cost.parameters import active_parameters
from blocks.model import experts as parts
from blocks.observe.run import Run
from pages.figures import experts
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.feed_forward import controls, measured, tables, words
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say


@section
def mixture_of_experts(run: Run, layer: int, expert: int, token: int) -> None:
    """The run's own experts, or some random ones on the real input of its dense layer."""
    code = (parts.MixtureOfExperts, parts.within_capacity, active_parameters)
    place = explained(("experts",), code, key="experts")
    if not measured.can_show_mixture(run):
        place.caption(words.too_many_experts(run))
        return
    is_own = run.config.n_experts > 1
    with place:
        say(words.route_sentence, run, layer, token)
    note(words.mixture_note(run) if is_own else words.demo_note(run))
    controls.ways_among_experts(run)
    _routes(run, layer, expert if is_own else -1, token)
    _text_and_load(run, layer, token)
    say(words.totals_sentence, run)
    left, right = columns([5, 6])
    with left:
        show(draw_totals, run, key="expert_totals", alt=words.totals_alt)
    with right:
        tables.totals(run)


def _routes(run: Run, layer: int, expert: int, token: int) -> None:
    is_own = run.config.n_experts > 1
    left, right = columns([7, 4])
    with left:
        show(
            draw_routes,
            *(run, layer, token, expert),
            key="routes",
            alt=words.routes_alt,
            on_click=controls.show_route if is_own else None,
        )
    with right:
        show(
            draw_load,
            *(run, layer),
            key="load",
            alt=words.load_alt,
            on_click=controls.show_expert if is_own else None,
        )


def _text_and_load(run: Run, layer: int, token: int) -> None:
    left, right = st.columns([6, 5])
    with left:
        tables.routed_text(run, layer, token, experts.color_of)
        note(
            _(
                "Each token has the color of its first expert, followed by the numbers "
                "of all its experts, struck through where capacity was exceeded. The "
                "pinned token is bold."
            )
        )
    with right:
        tables.load(run, layer)


def draw_routes(run: Run, layer: int, token: int, expert: int):
    """The router's probabilities, and who was chosen."""
    return experts.routes(
        measured.first_probs(run, layer),
        words.hovering(run, layer),
        run.input.labels,
        selected=expert,
        pinned=token,
        _=_,
    )


def draw_load(run: Run, layer: int):
    """How full each expert is."""
    table, room = measured.loads(run, layer), measured.routes(run, layer).room
    return experts.load(table, even=float(table["asked"].mean()), room=room, _=_)


def draw_totals(run: Run):
    """Total and active parameters."""
    table = measured.totals(run)
    labels = [words.layout(name, run) for name in table["layout"]]
    return experts.totals(table.assign(label=labels), _=_)

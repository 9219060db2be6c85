"""Which expert? Where the router sends each token, and how full the experts are."""

import html
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks.inspection import ratios, routing
from blocks.inspection.routing import RoutingFacts
from blocks.model import devices
from blocks.model import experts as parts
from blocks.model.faults import N_
from blocks.model.kinds import RouterKind
from blocks.observe.run import Run
from pages.figures import palette
from pages.figures.chart import ROW, Axis, Chart, Look, Series, bars, line
from pages.figures.counting import from_one
from pages.figures.table_rows import each_group, each_row
from pages.figures.theme import faint
from pages.page.declared import Panel
from pages.panels.feed_forward import shared
from pages.panels.feed_forward.experts_picture import color_of, height_of, routes
from pages.server.settings import memory_budget
from pages.show.parts import Beside, Controls, Html, Matrix, Note, Say, Shown, Table
from pages.show.ways import click_sets, way
from pages.words.language import _, bracketed, enumeration, fill, ngettext, sentences

EVEN_SHARE, PALE = 1.0, faint(palette.PINNED, 0.25)
FAINT = "38"  # hexadecimal, of 255: text stays readable on it


@lru_cache(maxsize=16)
def routing_facts(run: Run, layer: int, expert: int, token: int) -> RoutingFacts:
    """Where the tokens are sent; of a dense run, by a random router of some experts."""
    found = shared.routes(run, layer)
    return routing.routing_facts(shared.see(run, layer), found, expert, token)


def bytes_of_mixture(run: Run) -> int:
    """What the experts of the demonstration take; a mixture of its own is there already."""
    if run.config.n_experts > 1:
        return 0
    return ratios.bytes_to_build(routing.mixture(run.config), devices.DTYPES[run.dtype])


def says_too_large(run: Run) -> str | None:
    """Where the demonstration does not fit into the memory of this server."""
    if bytes_of_mixture(run) <= memory_budget(run.device):
        return None
    return _("Experts of this width need more memory than this server allows. Use a smaller d_ff.")


def says_routes(facts: RoutingFacts) -> str:
    """Where the pinned token goes, how even the load is, and what was dropped."""
    no_room = _("over capacity")
    listed = enumeration(
        bracketed(from_one(row.expert), f"{row.weight:.0%}" if row.is_kept else no_room)
        for row in each_row(facts.of_token)
    )
    text = ngettext(
        "Experts chosen for {token:token}, out of {n}: {listed}. The busiest expert is chosen "
        "{most_chosen} time (an equal share would be {even_share:.1f}); the Switch "
        "load-balancing loss is {imbalance:.2f} (1: perfectly balanced).",
        "Experts chosen for {token:token}, out of {n}: {listed}. The busiest expert is chosen "
        "{most_chosen} times (an equal share would be {even_share:.1f}); the Switch "
        "load-balancing loss is {imbalance:.2f} (1: perfectly balanced).",
        facts.most_chosen,
    )
    n, token = len(facts.load), facts.labels[facts.token]
    said = fill(text, facts, token=token, listed=listed, n=n)
    return sentences(said, _dropped(facts), _shared(facts))


def _shared(facts: RoutingFacts) -> str:
    if facts.shared_share is None:
        return ""
    text = ngettext(
        "In addition, every token passes through {choice.n_shared_experts} shared expert: its "
        "output's RMS is {shared_share:.2f} times that of the whole layer's output.",
        "In addition, every token passes through {choice.n_shared_experts} shared experts: their "
        "output's RMS is {shared_share:.2f} times that of the whole layer's output.",
        facts.choice.n_shared_experts,
    )
    return fill(text, facts)


def _dropped(facts: RoutingFacts) -> str:
    if not facts.room:
        return _("There is no capacity limit, so nothing is dropped.")
    text = _(
        "Capacity per expert: {room}. Token–expert assignments dropped: {n_dropped}; tokens "
        "that no routed expert processes (left to the residual connection and any shared "
        "experts): {n_passed}."
    )
    return fill(text, facts)


def says_router(facts: RoutingFacts) -> str:
    """How the router decides; and where the layer has none, which one is shown."""
    n, choice = len(facts.load), facts.choice
    if not facts.is_own:
        text = _(
            "This layer is dense. Shown here are {n} experts, {n_active} of them active, with"
            " random, untrained weights (seed {seed}), on the layer's real input."
        )
        return fill(text, facts, n=n)
    text = _(
        "The router is a linear layer without bias, followed by a softmax over {n} experts "
        "and the choice of the top {n_active}."
    )
    if choice.router_kind is RouterKind.SIGMOID:
        text = _(
            "The router is a linear layer without bias, followed by a sigmoid for each of {n}"
            " scores; a bias that training adjusts to even out the load is added only when "
            "choosing the top {n_active}."
        )
    weight = _("The chosen experts' weights are their router scores times {routed_scale:g}.")
    if choice.normalize_top_k:
        weight = _("The weights of the chosen experts sum to {routed_scale:g}.")
    said = shared.weights(facts.seed)
    return sentences(
        fill(text, facts, n=n), fill(weight, choice), f"{said[:1].upper() + said[1:]}."
    )


def load_table(facts: RoutingFacts) -> pd.DataFrame:
    """Every expert: how often it was asked, what it took, and the router's mean probability."""
    names = {
        "expert": _("expert"),
        "asked": _("times chosen"),
        "kept": _("processed"),
        "dropped": _("dropped"),
        "mean_prob": _("mean router score"),
        "bias": _("bias"),
    }
    table = facts.load.assign(expert=facts.load["expert"].map(from_one))
    return table.round({"mean_prob": 4, "bias": 4}).rename(columns=names)


def load(facts: RoutingFacts) -> Chart:
    """How many choices fell on each expert: taken, and dropped for want of room."""
    table, even, room = facts.load, facts.even_share, facts.room
    most = max(table[["kept", "dropped"]].sum(axis=1).max(), even, room, 1)
    numbers = table["expert"].map(from_one)
    kept = Look(_("processed"), [color_of(expert) for expert in table["expert"]])
    over = Look(_("dropped: over capacity"), PALE, edge=palette.PINNED, width=1.5)
    levels = [_level(even, palette.BEFORE, _("equal share: {n:.1f}").format(n=even), "dot")]
    if room:
        levels.append(_level(room, palette.PINNED, _("capacity: {n}").format(n=room), "solid"))
    return Chart(
        _("Load of each expert"),
        table.assign(number=numbers, dropped=table["dropped"].where(table["dropped"] > 0)),
        Axis(_("token–expert assignments"), (0, 1.08 * most)),
        Axis(_("expert"), names=[*map(str, numbers)]),
        [
            bars("kept", kept, hover=_("expert {number}: {kept:,} processed"), in_legend=False),
            bars(
                *("dropped", over),
                hover=_("expert {number}: {dropped:,.0f} dropped"),
                in_legend=bool(table["dropped"].any()),
            ),
            *levels,
        ],
        click=("expert", "number") if facts.is_own else (),
        tall=height_of(len(table)),
        stack="stack",
    )


def _level(x: float, color: str, name: str, dash: str) -> Series:
    look, ends = Look(name, color, width=2, dash=dash), {"x": [x, x], ROW: [-0.5, 1000]}
    return line("x", look, rows=ends, hover="{name}", click=())


def routed_text(facts: RoutingFacts) -> str:
    """The text, each token in the colour of its first expert, with the numbers of all of them."""
    return " ".join(
        _chip(facts.labels[token], choices, is_pinned=token == facts.token)
        for token, choices in each_group(facts.choices, "token")
    )


def _chip(label: str, choices: pd.DataFrame, *, is_pinned: bool) -> str:
    """A token and its experts; those without room for it are struck through."""
    ranked = choices.sort_values("rank")
    numbers = [
        str(number) if is_kept else f"<s>{number}</s>"
        for number, is_kept in zip(ranked["expert"].map(from_one), ranked["is_kept"], strict=True)
    ]
    color = color_of(int(ranked["expert"].iloc[0]))
    ground = f"{color}{FAINT}" if ranked["is_kept"].any() else "transparent"
    style = (
        "display:inline-block; margin:2px 0; padding:1px 6px; border-radius:4px; "
        f"background:{ground}; border-bottom:3px solid {color}; "
        f"font-weight:{700 if is_pinned else 400}"
    )
    text = html.escape(label)
    return f'<span style="{style}">{text} <small>{"·".join(numbers)}</small></span>'


def ways_among_experts(run: Run) -> None:
    """Into a mixture, out of it, and a limit to what an expert takes."""
    config = run.config
    with st.container(horizontal=True, key="expert_ways"):
        if config.n_experts == 1:
            way(_("Try 8 experts, 2 active"), "try_experts", **routing.DEMO)
            return
        if config.n_active_experts == 1:
            way(_("2 active experts"), "two_active", n_active_experts=2)
        else:
            way(_("1 active expert"), "one_active", n_active_experts=1)
        if config.experts.expert_capacity:
            way(_("No capacity limit"), "no_capacity", expert_capacity=0.0)
        else:
            label = _("Limit each expert to an equal share")
            way(label, "with_capacity", expert_capacity=EVEN_SHARE)
        if not config.n_shared_experts:
            fine: dict[str, Any] = {
                "n_experts": 32,
                "n_active_experts": 6,
                "d_expert": max(1, config.d_ff // 4),
                "n_shared_experts": 2,
                "router_kind": RouterKind.SIGMOID,
            }
            way(
                _("Finer experts plus two shared ones, sigmoid router (DeepSeek style)"),
                "fine_experts",
                **fine,
            )
        way(_("Back to one dense feed-forward layer"), "dense_again", n_experts=1)


PANEL = Panel(
    "experts",
    N_("Which expert?"),
    choices=shared.layer_and_expert,
    fields=(
        *("n_experts", "n_active_experts", "d_expert", "n_shared_experts", "router_kind"),
        *("normalize_top_k", "expert_capacity", "d_ff"),
    ),
    concepts=("experts",),
    code=(parts.MixtureOfExperts, parts.within_capacity),
    at=shared.of_a_layer,
    absent=says_too_large,
    needs=bytes_of_mixture,
    facts=routing_facts,
    shows=(
        Say(says_routes),
        Note(says_router),
        Controls(ways_among_experts),
        Beside(
            Matrix(routes, "routes", click=click_sets("expert", "token")),
            Shown(load, "load", click=click_sets("expert")),
            widths=(7, 4),
        ),
        Beside(
            (
                Html(routed_text, "routed_text"),
                Note(
                    N_(
                        "Each token is shown in the color of its first expert, followed by the "
                        "numbers of its experts; a number is struck through where capacity was "
                        "exceeded. The pinned token is bold."
                    )
                ),
            ),
            Table(load_table, "load_table"),
            widths=(6, 5),
        ),
    ),
)

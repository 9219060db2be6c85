"""Mixture of experts: where the router sends each token, how full they are; what they cost."""

import html
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost.parameters import active_parameters
from blocks.inspection import ratios, routing
from blocks.inspection.routing import LayoutFacts, RoutingFacts
from blocks.model import devices
from blocks.model import experts as parts
from blocks.model.kinds import RouterKind
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.figures.table_rows import each_group, each_row
from pages.panels.cost.shared import capacity_note
from pages.panels.feed_forward import experts_picture, shared
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import must_have, section
from pages.ui.language import _, bracketed, enumeration, literal, ngettext, sentences
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.settings import memory_budget
from pages.ui.tables import show_table
from pages.ui.ways import click_sets, way

EVEN_SHARE = 1.0
FAINT = "38"  # hexadecimal, of 255: text stays readable on it


@lru_cache(maxsize=16)
def routing_facts(run: Run, layer: int, expert: int, token: int) -> RoutingFacts:
    """Where the tokens are sent; of a dense run, by a random router of some experts."""
    found = shared.routes(run, layer)
    return routing.routing_facts(shared.see(run, layer), found, expert, token)


@lru_cache(maxsize=16)
def layout_facts(config: ModelConfig) -> LayoutFacts:
    """What the experts add."""
    return routing.layout_facts(config)


def can_show_mixture(run: Run) -> bool:
    """Whether the demonstration fits into the memory of this server."""
    dtype, config = devices.DTYPES[run.dtype], routing.mixture(run.config)
    budget = memory_budget(run.device)
    return run.config.n_experts > 1 or ratios.is_affordable(config, dtype, budget)


def says_routes(facts: RoutingFacts) -> str:
    """Where the pinned token goes, how even the load is, and what was dropped."""
    no_room = _("over capacity")
    listed = enumeration(
        bracketed(from_one(row.expert), f"{row.weight:.0%}" if row.is_kept else no_room)
        for row in each_row(facts.of_token)
    )
    text = _(
        "Experts chosen for {token}, out of {n}: {listed}. The busiest expert is chosen "
        "{most} times (an equal share would be {even:.1f}); the Switch load-balancing loss "
        "is {balance:.2f} (1: perfectly balanced)."
    )
    said = text.format(
        token=literal(facts.labels[facts.token]),
        listed=listed,
        n=len(facts.load),
        most=facts.most_chosen,
        even=facts.even_share,
        balance=facts.imbalance,
    )
    return sentences(said, _dropped(facts), _shared(facts))


def _shared(facts: RoutingFacts) -> str:
    if facts.shared_share is None:
        return ""
    text = ngettext(
        "In addition, every token passes through {n} shared expert: its output's RMS is "
        "{share:.2f} times that of the whole layer's output.",
        "In addition, every token passes through {n} shared experts: their output's RMS is "
        "{share:.2f} times that of the whole layer's output.",
        facts.choice.n_shared_experts,
    )
    return text.format(n=facts.choice.n_shared_experts, share=facts.shared_share)


def _dropped(facts: RoutingFacts) -> str:
    if not facts.room:
        return _("There is no capacity limit: nothing is dropped.")
    text = _(
        "Capacity per expert: {room}. Token–expert assignments dropped: {dropped}; tokens "
        "that no routed expert processes (left to the residual connection and any shared "
        "experts): {passed}."
    )
    return text.format(room=facts.room, dropped=facts.n_dropped, passed=facts.n_passed)


def says_router(facts: RoutingFacts) -> str:
    """How the router decides; and where the layer has none, which one is shown."""
    if not facts.is_own:
        text = _(
            "This layer is dense. Shown: {n} experts, {k} active, with random, untrained "
            "weights (seed {seed}), on the layer's real input."
        )
        return text.format(n=len(facts.load), k=facts.n_active, seed=facts.seed)
    choice = facts.choice
    if choice.router_kind is RouterKind.SIGMOID:
        text = _(
            "Router: linear layer without bias, then a sigmoid for each of {n} scores; a "
            "bias that training adjusts to even out the load is added only when choosing the "
            "top {k}."
        )
    else:
        text = _("Router: linear layer without bias, softmax over {n} experts, then the top {k}.")
    weight = (
        _("The weights of the chosen experts sum to {sum:g}.")
        if choice.normalize_top_k
        else _("The chosen experts' weights are their router scores times {sum:g}.")
    )
    said = shared.weights(facts.seed)
    parts = [
        text.format(n=len(facts.load), k=facts.n_active),
        weight.format(sum=choice.routed_scale),
        f"{said[:1].upper() + said[1:]}.",
    ]
    return sentences(*parts)


def says_layouts(facts: LayoutFacts) -> str:
    """What experts buy."""
    text = _(
        "The MoE model has {total:,} parameters, {ratio:.1f} times as many as the dense "
        "model. Each token uses {active:,} of them ({share}), with {flops:.1f} times the "
        "dense model's feed-forward FLOPs per token."
    )
    said = text.format(
        total=facts.mixture.total,
        active=facts.mixture.active,
        share=percent(facts.active_share),
        ratio=facts.growth,
        flops=facts.flops_growth,
    )
    return sentences(said, capacity_note(facts.config))


def load_table(load: pd.DataFrame) -> None:
    """Every expert: how often it was asked, what it took, and the router's mean probability."""
    names = {
        "expert": _("expert"),
        "asked": _("times chosen"),
        "kept": _("processed"),
        "dropped": _("dropped"),
        "mean_prob": _("mean router score"),
        "bias": _("bias"),
    }
    table = load.assign(expert=load["expert"].map(from_one))
    shown = table.round({"mean_prob": 4, "bias": 4}).rename(columns=names)
    show_table(shown, key="load_table")


def layout_table(facts: LayoutFacts) -> None:
    """The compared layouts, exactly."""
    names = [_("feed-forward"), _("total parameters"), _("active parameters"), _("FLOPs per token")]
    rows = [
        (experts_picture.layout_name(each, _), each.total, each.active, each.flops)
        for each in facts.layouts
    ]
    show_table(pd.DataFrame(rows, columns=names), key="totals_table", counts=names[1:])


def routed_text(facts: RoutingFacts) -> None:
    """The text, each token in the colour of its first expert, with the numbers of all of them."""
    chips = [
        _chip(facts.labels[token], choices, is_pinned=token == facts.token)
        for token, choices in each_group(facts.choices, "token")
    ]
    with st.container(key="routed_text"):
        st.html(" ".join(chips))


def _chip(label: str, choices: pd.DataFrame, *, is_pinned: bool) -> str:
    """A token and its experts; those without room for it are struck through."""
    ranked = choices.sort_values("rank")
    numbers = [
        str(number) if is_kept else f"<s>{number}</s>"
        for number, is_kept in zip(ranked["expert"].map(from_one), ranked["is_kept"], strict=True)
    ]
    color = experts_picture.color_of(int(ranked["expert"].iloc[0]))
    ground = f"{color}{FAINT}" if ranked["is_kept"].any() else "transparent"
    style = (
        "display:inline-block; margin:2px 0; padding:1px 6px; border-radius:4px; "
        f"background:{ground}; border-bottom:3px solid {color}; "
        f"font-weight:{700 if is_pinned else 400}"
    )
    text = html.escape(label)
    return f'<span style="{style}">{text} <small>{"·".join(numbers)}</small></span>'


@section
def mixture_of_experts(run: Run) -> None:
    """The run's own experts, or some random ones on the real input of its dense layer."""
    at = shared.selection(run)
    code = (parts.MixtureOfExperts, parts.within_capacity)
    place = explained(("experts",), code, key="experts")
    if not can_show_mixture(run):
        text = _(
            "Experts of this width need more memory than this server allows: use a smaller d_ff."
        )
        place.caption(text)
        return
    if run.config.n_experts == 1:
        config, dtype = routing.mixture(run.config), devices.DTYPES[run.dtype]
        must_have(ratios.bytes_to_build(config, dtype), run.device)
    shown = run, at.layer, at.expert, at.token
    facts = routing_facts(*shown)
    with place:
        say(says_routes, *shown, facts=routing_facts)
    note(says_router(facts))
    ways_among_experts(run.config)
    _routes_and_load(shown, is_own=facts.is_own)
    _text_and_table(facts)


@section
def what_experts_cost(run: Run) -> None:
    """Parameters and FLOPs of the mixture, beside those of dense layers."""
    place = explained(("experts",), (active_parameters,), key="expert_cost")
    if run.config.attention_only:
        place.info(shared.no_wide_layer(), icon=":material/lightbulb:")
        return
    with place:
        say(says_layouts, run.config, facts=layout_facts)
    left, right = columns([5, 6])
    with left:
        show(experts_picture.totals, run.config, facts=layout_facts, key="expert_totals")
    with right:
        layout_table(layout_facts(run.config))


def _routes_and_load(shown: tuple[Run, int, int, int], *, is_own: bool) -> None:
    pictures = (
        (experts_picture.routes, "routes", click_sets("expert", "token")),
        (experts_picture.load, "load", click_sets("expert")),
    )
    for column, (draw, key, on_click) in zip(columns([7, 4]), pictures, strict=True):
        with column:
            clicked = on_click if is_own else None
            show(draw, *shown, facts=routing_facts, key=key, on_click=clicked)


def _text_and_table(facts: RoutingFacts) -> None:
    left, right = st.columns([6, 5])
    with left:
        routed_text(facts)
        note(
            _(
                "Each token is shown in the color of its first expert, followed by the "
                "numbers of its experts; a number is struck through where capacity was "
                "exceeded. The pinned token is bold."
            )
        )
    with right:
        load_table(facts.load)


def ways_among_experts(config: ModelConfig) -> None:
    """Into a mixture, out of it, and a limit to what an expert takes."""
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

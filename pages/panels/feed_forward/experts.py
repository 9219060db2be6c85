"""Mixture of experts: where the router sends each token, how full the experts are, the cost."""

import html
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from blocks.cost.parameters import active_parameters
from blocks.inspection import ratios, routing
from blocks.inspection.ratios import flops_per_token
from blocks.model import devices
from blocks.model import experts as parts
from blocks.observe.run import Run
from pages.figures.table_rows import each_group, each_row
from pages.figures.theme import Picture
from pages.panels.cost import shared as cost_shared
from pages.panels.feed_forward import experts_picture, shared
from pages.ui import cached, link
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, enumeration, literal
from pages.ui.numbers import percent
from pages.ui.said import say
from pages.ui.settings import memory_budget


def imbalance(run: Run, layer: int) -> float:
    """Switch's measure of the load: 1 where all experts are used alike."""
    return routing.imbalance(shared.routes(run, layer))


def passed_by(run: Run, layer: int) -> np.ndarray:
    """Which tokens found no room with any expert."""
    return routing.passed_by(shared.routes(run, layer))


@lru_cache(maxsize=16)
def chosen(run: Run, layer: int) -> pd.DataFrame:
    """One row a choice of the first sequence: token, expert, rank, weight, share, is_kept.

    `weight` is what the expert's answer is multiplied by, `share` the router's probability.
    """
    found, n = shared.routes(run, layer), run.input.shape[1]
    k = found.index.shape[1]
    index = found.index[:n].ravel()
    token = np.repeat(np.arange(n), k)
    return pd.DataFrame(
        {
            "token": token,
            "expert": index,
            "rank": np.tile(np.arange(k), n),
            "weight": found.weight[:n].ravel(),
            "share": found.probs[token, index],
            "is_kept": found.kept[:n].ravel(),
        }
    )


def first_probs(run: Run, layer: int) -> np.ndarray:
    """The router's probabilities for the first sequence: (token, expert)."""
    return shared.routes(run, layer).probs[: run.input.shape[1]]


def can_show_mixture(run: Run) -> bool:
    """Whether the demonstration fits into the memory of this server."""
    dtype = devices.DTYPES[run.dtype]
    is_own = run.config.n_experts > 1
    return is_own or ratios.is_affordable(shared.mixture(run), dtype, memory_budget())


def totals(run: Run) -> pd.DataFrame:
    """Whole models: layout, total, active (parameters), flops (of a feed-forward layer, a token).

    `mixture`; `dense`, one layer of the same d_ff; `wide`, one dense layer of all units.
    """
    config = shared.mixture(run)
    dense = config.replace(n_experts=1, expert_capacity=0.0)
    layouts = {"mixture": config, "dense": dense}
    if config.n_experts * config.d_ff <= 10**6:
        layouts["wide"] = dense.replace(d_ff=config.n_experts * config.d_ff)
    return pd.DataFrame(
        [
            {
                "layout": name,
                "total": int(cached.parameters(each)["count"].sum()),
                "active": active_parameters(each),
                "flops": flops_per_token(each),
            }
            for name, each in layouts.items()
        ]
    )


FAINT = "38"  # hexadecimal, of 255: text stays readable on it


def load(run: Run, layer: int) -> None:
    """Every expert: how often it was asked, what it took, and the router's mean probability."""
    table = shared.loads(run, layer)
    shown = pd.DataFrame(
        {
            _("expert"): table["expert"],
            _("times chosen"): table["asked"],
            _("processed"): table["kept"],
            _("dropped"): table["dropped"],
            _("mean probability"): table["mean_prob"].round(4),
        }
    )
    st.dataframe(shown, hide_index=True, key="load_table", height="content")


def totals_table(run: Run) -> None:
    """The compared layouts, exactly."""
    table = totals(run)
    names = [_("feed-forward"), _("total parameters"), _("active parameters"), _("FLOPs per token")]
    labels = [layout(name, run) for name in table["layout"]]
    shown = pd.DataFrame(
        dict(zip(names, (labels, table["total"], table["active"], table["flops"]), strict=True))
    )
    count = st.column_config.NumberColumn(format="localized")
    st.dataframe(
        shown,
        hide_index=True,
        key="totals_table",
        column_config=dict.fromkeys(names[1:], count),
        height="content",
    )


def routed_text(run: Run, layer: int, pinned: int, color_of: Callable[[int], str]) -> None:
    """The text, each token in the colour of its first expert, with the numbers of all of them."""
    table = chosen(run, layer)
    chips = [
        _chip(run.input.labels[token], choices, color_of, is_pinned=token == pinned)
        for token, choices in each_group(table, "token")
    ]
    with st.container(key="routed_text"):
        st.html(" ".join(chips))


def _chip(
    label: str, choices: pd.DataFrame, color_of: Callable[[int], str], *, is_pinned: bool
) -> str:
    """A token and its experts; those without room for it are struck through."""
    ranked = choices.sort_values("rank")
    numbers = [
        str(row.expert) if row.is_kept else f"<s>{row.expert}</s>" for row in each_row(ranked)
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


def route_sentence(run: Run, layer: int, token: int) -> str:
    """Where the pinned token goes, how even the load is, and who was dropped."""
    found, config = shared.routes(run, layer), shared.mixture(run)
    experts = [int(expert) for expert in found.index[token]]
    no_room = _("over capacity")
    listed = enumeration(
        f"{expert} ({weight:.0%})" if is_kept else f"{expert} ({no_room})"
        for expert, weight, is_kept in zip(
            experts, found.weight[token], found.kept[token], strict=True
        )
    )
    text = _(
        "{token} is routed to {listed} of {n} experts. The busiest expert is chosen "
        "{most} times, an even share is {even:.1f}; the load-balancing loss of Switch "
        "is {balance:.2f} (1: perfectly balanced)."
    )
    table = shared.loads(run, layer)
    said = text.format(
        token=literal(run.input.labels[token]),
        listed=listed,
        n=config.n_experts,
        most=int(table["asked"].max()),
        even=table["asked"].sum() / len(table),
        balance=imbalance(run, layer),
    )
    return f"{said} {_dropped(run, layer)}"


def _dropped(run: Run, layer: int) -> str:
    found = shared.routes(run, layer)
    if not found.room:
        return _("There is no capacity limit: nothing is dropped.")
    n_dropped, n_passed = int((~found.kept).sum()), int(passed_by(run, layer).sum())
    text = _(
        "Each expert takes at most {room}. Routed choices dropped: {dropped}; tokens "
        "that reach no expert at all and pass through the residual connection only: "
        "{passed}."
    )
    return text.format(room=found.room, dropped=n_dropped, passed=n_passed)


def hovering(run: Run, layer: int) -> pd.DataFrame:
    """The choices of the first sequence, with what is said under the cursor."""
    table = chosen(run, layer)
    text = _("{number} · {token} → expert {expert}: choice {rank}, probability {share:.3f}, {fate}")
    taken, dropped = _("weight {weight:.2f}"), _("dropped: over capacity")
    hovers = [
        text.format(
            number=row.token + 1,
            token=html.escape(run.input.labels[row.token], quote=False),
            expert=row.expert,
            rank=row.rank + 1,
            share=row.share,
            fate=taken.format(weight=row.weight) if row.is_kept else dropped,
        )
        for row in each_row(table)
    ]
    return table.assign(hover=hovers)


def too_many_experts(run: Run) -> str:
    """Why no experts are shown."""
    return _("Experts of this width need more memory than this server allows: use a smaller d_ff.")


def demo_note(run: Run) -> str:
    """What is shown where the model has no experts."""
    text = _(
        "This model is dense. Shown: 8 experts, 2 active, each as wide as its "
        "feed-forward layer, with random weights (seed {seed}), on the layer's real "
        "input: they are untrained."
    )
    return text.format(seed=run.seed)


def mixture_note(run: Run) -> str:
    """How the router decides."""
    text = _(
        "Router: linear without bias, softmax over {n} experts, the {k} largest "
        "rescaled to sum 1 (as in Mixtral). {weights}."
    )
    n, k = run.config.n_experts, run.config.n_active_experts
    said = shared.weights(run)
    return text.format(n=n, k=k, weights=said[:1].upper() + said[1:])


def totals_sentence(run: Run) -> str:
    """What experts buy."""
    table = totals(run).set_index("layout")
    total, active = table["total"]["mixture"], table["active"]["mixture"]
    text = _(
        "The mixture has {total:,} parameters, of which each token uses {active:,} "
        "({share}): {ratio:.1f} times the parameters of the dense model for {flops:.1f} "
        "times the FLOPs of its feed-forward layer."
    )
    said = text.format(
        total=total,
        active=active,
        share=percent(active / total),
        ratio=total / table["total"]["dense"],
        flops=table["flops"]["mixture"] / table["flops"]["dense"],
    )
    return f"{said} {cost_shared.capacity_note(run.config)}".strip()


def routes_alt(run: Run, layer: int, token: int, _expert: int) -> str:
    """The routes in words."""
    return route_sentence(run, layer, token)


def load_alt(run: Run, layer: int) -> str:
    """The load in words."""
    text = _("expert {expert}: {kept} taken, {dropped} dropped")
    rows = each_row(shared.loads(run, layer))
    return "; ".join(
        text.format(expert=row.expert, kept=row.kept, dropped=row.dropped) for row in rows
    )


def totals_alt(run: Run) -> str:
    """The totals in words."""
    return totals_sentence(run)


def layout(name: str, run: Run) -> str:
    """What one of the compared layouts is called."""
    config = shared.mixture(run)
    match name:
        case "mixture":
            text = _("{n} experts, {k} active")
            return text.format(n=config.n_experts, k=config.n_active_experts)
        case "dense":
            return _("dense, d_ff {d_ff:,}").format(d_ff=config.d_ff)
        case _:
            return _("dense, d_ff {d_ff:,}").format(d_ff=config.n_experts * config.d_ff)


EVEN_SHARE = 1.0


def show_expert(customdata: list[Any]) -> None:
    """An expert was clicked: the page looks at it."""
    link.change("expert", int(customdata[0]))
    link.redraw_everything()


def show_route(customdata: list[Any]) -> None:
    """A choice of a token was clicked: that expert is looked at, that token pinned."""
    link.change("token", int(customdata[1]))
    show_expert(customdata)


def ways_among_experts(run: Run) -> None:
    """Into a mixture, out of it, and a limit to what an expert takes."""
    with st.container(horizontal=True, key="expert_ways"):
        if run.config.n_experts == 1:
            shared.way(_("Try 8 experts, 2 active"), "try_experts", **shared.DEMO)
            return
        if run.config.n_active_experts == 1:
            shared.way(_("2 active experts"), "two_active", n_active_experts=2)
        else:
            shared.way(_("1 active expert"), "one_active", n_active_experts=1)
        if run.config.feed_forward.expert_capacity:
            shared.way(_("No capacity limit"), "no_capacity", expert_capacity=0.0)
        else:
            label = _("Limit each to its even share")
            shared.way(label, "with_capacity", expert_capacity=EVEN_SHARE)
        shared.way(_("Back to one dense feed-forward layer"), "dense_again", n_experts=1)


@section
def mixture_of_experts(run: Run, layer: int, expert: int, token: int) -> None:
    """The run's own experts, or some random ones on the real input of its dense layer."""
    code = (parts.MixtureOfExperts, parts.within_capacity, active_parameters)
    place = explained(("experts",), code, key="experts")
    if not can_show_mixture(run):
        place.caption(too_many_experts(run))
        return
    is_own = run.config.n_experts > 1
    with place:
        say(route_sentence, run, layer, token)
    note(mixture_note(run) if is_own else demo_note(run))
    ways_among_experts(run)
    _routes(run, layer, expert if is_own else -1, token)
    _text_and_load(run, layer, token)
    say(totals_sentence, run)
    left, right = columns([5, 6])
    with left:
        show(draw_totals, run, key="expert_totals", alt=totals_alt)
    with right:
        totals_table(run)


def _routes(run: Run, layer: int, expert: int, token: int) -> None:
    is_own = run.config.n_experts > 1
    left, right = columns([7, 4])
    with left:
        show(
            draw_routes,
            *(run, layer, token, expert),
            key="routes",
            alt=routes_alt,
            on_click=show_route if is_own else None,
        )
    with right:
        show(
            draw_load,
            *(run, layer),
            key="load",
            alt=load_alt,
            on_click=show_expert if is_own else None,
        )


def _text_and_load(run: Run, layer: int, token: int) -> None:
    left, right = st.columns([6, 5])
    with left:
        routed_text(run, layer, token, experts_picture.color_of)
        note(
            _(
                "Each token has the color of its first expert, followed by the numbers "
                "of all its experts, struck through where capacity was exceeded. The "
                "pinned token is bold."
            )
        )
    with right:
        load(run, layer)


def draw_routes(run: Run, layer: int, token: int, expert: int) -> Picture:
    """The router's probabilities, and who was chosen."""
    return experts_picture.routes(
        first_probs(run, layer),
        hovering(run, layer),
        run.input.labels,
        selected=expert,
        pinned=token,
        _=_,
    )


def draw_load(run: Run, layer: int) -> Picture:
    """How full each expert is."""
    table, room = shared.loads(run, layer), shared.routes(run, layer).room
    return experts_picture.load(table, even=float(table["asked"].mean()), room=room, _=_)


def draw_totals(run: Run) -> Picture:
    """Total and active parameters."""
    table = totals(run)
    labels = [layout(name, run) for name in table["layout"]]
    return experts_picture.totals(table.assign(label=labels), _=_)

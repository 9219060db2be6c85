"""Sentences that read the wide layer of this run, and its pictures in words."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from blocks import ModelConfig, Recording
from blocks.inspection import routing, units, wide
from blocks.inspection.ratios import count_wide
from blocks.model import devices
from blocks.model.kinds import Activation
from blocks.observe.run import Run
from pages.ui import cached, link, terms
from pages.ui.controls import slider
from pages.ui.language import _
from pages.ui.link_fields.feed_forward import LIKELIEST
from pages.ui.numbers import percent

if TYPE_CHECKING:
    from torch import Tensor


N_STRONGEST, N_EXCITING, N_ORDERS = 14, 10, 4

DEMO = {"n_experts": 8, "n_active_experts": 2}


def activation(run: Run) -> Activation:
    """The kind that this run bends with."""
    return run.config.feed_forward.activation


def layer_input(run: Run, layer: int) -> "Tensor":
    """What the wide layer of this run read: (batch, seq, d_model)."""
    stage = wide.read_by(run.config, "feed_forward_out", layer)
    return cached.recording(run).tensor(stage, layer)


@lru_cache(maxsize=3)
def seen(run: Run, layer: int) -> Recording:
    """What passed inside the wide layer."""
    x = layer_input(run, layer)
    with cached.turn(run.device):
        return wide.pass_alone(cached.feed_forward(run, layer), x)


@lru_cache(maxsize=3)
def inside(run: Run, layer: int) -> list[wide.Wide]:
    """Every expert of the layer, or the one dense layer."""
    module = cached.feed_forward(run, layer)
    return wide.see_all(module, seen(run, layer), layer)


def selected_expert(run: Run, layer: int, token: int) -> int:
    """The expert that is looked at: the reader's, or the first with room for the pinned token."""
    if run.config.n_experts == 1:
        return 0
    chosen = link.value("expert")
    if chosen == LIKELIEST:
        found = routes(run, layer)
        return int(found.index[token, found.kept[token].argmax()])
    return min(chosen, run.config.n_experts - 1)


def selected_unit(run: Run, layer: int, expert: int, token: int) -> int:
    """The unit that is looked at: the reader's, or the strongest at the pinned token."""
    chosen = link.value("unit")
    if chosen == LIKELIEST:
        return shown_units(run, layer, expert, token)[0]
    return min(chosen, run.config.d_ff - 1)


@lru_cache(maxsize=64)
def unit_table(run: Run, layer: int, expert: int) -> pd.DataFrame:
    """One row a unit: how often it is active, and whether it is dead or saturated."""
    return units.frame(inside(run, layer)[expert], activation(run))


@lru_cache(maxsize=64)
def given(run: Run, layer: int, expert: int) -> tuple[int, ...]:
    """The tokens of the first sequence that the layer was given, counted from 0."""
    found = inside(run, layer)[expert].token.cpu().numpy()
    return tuple(found[found < run.input.shape[1]].tolist())


def n_given(run: Run, layer: int, expert: int) -> int:
    """How many tokens of the whole batch the layer was given."""
    return len(inside(run, layer)[expert].token)


@lru_cache(maxsize=64)
def strongest(run: Run, layer: int, expert: int, token: int) -> pd.DataFrame:
    """The strongest units at a token: unit, pre, gate, up, hidden; none where it went elsewhere."""
    here = given(run, layer, expert)
    if token not in here:
        return pd.DataFrame(columns=["unit", "pre", "gate", "up", "hidden"])
    return units.strongest(inside(run, layer)[expert], here.index(token), N_STRONGEST)


def shown_units(run: Run, layer: int, expert: int, token: int) -> tuple[int, ...]:
    """The strongest units at the pinned token; where it went elsewhere, the busiest."""
    table = strongest(run, layer, expert, token)
    if table.empty:
        table = unit_table(run, layer, expert).nlargest(N_STRONGEST, "mean_size")
    return tuple(int(unit) for unit in table["unit"])


def mixture(run: Run) -> ModelConfig:
    """The run's own experts, or the demonstration of some where its layers are dense."""
    return run.config if run.config.n_experts > 1 else run.config.replace(**DEMO)


@lru_cache(maxsize=8)
def routes(run: Run, layer: int) -> routing.Routing:
    """Where the router sends the tokens; of a dense run, a random router of its seed."""
    if run.config.n_experts > 1:
        capacity = run.config.feed_forward.expert_capacity
        return routing.routing(seen(run, layer), layer, capacity)
    config, x = mixture(run), layer_input(run, layer)
    with cached.turn(run.device):
        dtype = devices.DTYPES[run.dtype]
        module = wide.layer_alone(config, layer, seed=run.seed, device=run.device, dtype=dtype)
        return routing.routing(wide.pass_alone(module, x), layer, 0.0)


def loads(run: Run, layer: int) -> pd.DataFrame:
    """One row an expert: expert, asked, kept, dropped, mean_prob; over the whole batch."""
    return routing.load(routes(run, layer))


@lru_cache(maxsize=64)
def share_of_model(run: Run) -> float:
    """The share of all parameters that stand in feed-forward layers."""
    table = cached.parameters(run.config)
    return run.config.n_layers * count_wide(run.config) / table["count"].sum()


PILLS_UP_TO = 16


def expert_choice(run: Run, shown: int) -> None:
    """Which expert is looked at, where there are several."""
    n = run.config.n_experts
    if n == 1:
        return
    with st.container(key="expert"):
        if n > PILLS_UP_TO:
            slider("expert", _("Expert"), shown, least=0, most=n - 1)
            return
        st.pills(_("Expert"), list(range(n)), required=True, **link.view("expert", shown, n))


def show_unit(customdata: list[Any]) -> None:
    """A unit was clicked."""
    link.change("unit", int(customdata[0]))


def show_unit_everywhere(customdata: list[Any]) -> None:
    """A unit was clicked outside of the section that opens it."""
    show_unit(customdata)
    link.redraw_everything()


def use(**changes: object) -> None:
    """Set fields of the configuration, and draw the whole page anew."""
    for name, value in changes.items():
        link.change(name, value)
    link.redraw_everything()


def way(label: str, key: str, **changes: object) -> None:
    """A button that leads to another configuration."""
    st.button(label, icon=":material/arrow_forward:", key=key, on_click=use, kwargs=changes)


def way_to_a_wide_layer() -> None:
    """For a model without feed-forward layers."""
    way(_("Give it feed-forward layers"), "with_feed_forward", attention_only=False)


def way_to_a_busy_expert(run: Run, layer: int) -> None:
    """For an expert that no token was sent to."""
    busiest = loads(run, layer)["kept"].argmax()
    label = _("Show the busiest: expert {expert}").format(expert=busiest)
    way(label, "busiest_expert", expert=busiest)


Rows = tuple[tuple[float, ...], ...]


def where(run: Run, layer: int, expert: int) -> str:
    """Which wide layer the numbers are of, and whether its weights were learned."""
    text = _("Layer {layer}").format(layer=layer + 1)
    if run.config.n_experts > 1:
        n = n_given(run, layer, expert)
        text += ", " + _("expert {expert} with the {n} tokens routed to it").format(
            expert=expert, n=n
        )
    return f"{text}, {weights(run)}"


def weights(run: Run) -> str:
    """Trained, or random and from which seed."""
    return _("trained weights") if run.weights else _("random weights, seed {n}").format(n=run.seed)


def shape(run: Run) -> str:
    """What the layer is, in a line."""
    config = run.config
    text = _(
        "{d_model:,} → {d_ff:,} → {d_model:,} · {activation} · {n:,} parameters in each layer; all "
        "feed-forward layers together hold {share} of the model."
    )
    kind = terms.option(activation(run))
    experts = _("{n} experts, {k} active").format(n=config.n_experts, k=config.n_active_experts)
    return text.format(
        d_model=config.d_model,
        d_ff=config.d_ff,
        activation=kind if config.n_experts == 1 else f"{kind} · {experts}",
        n=count_wide(config),
        share=percent(share_of_model(run)),
    )


def no_wide_layer() -> str:
    """For a model of attention alone."""
    return _(
        "This model has attention only and no feed-forward network. With feed-forward "
        "layers its weights are random, since trained ones fit one configuration."
    )


def idle_expert(layer: int, expert: int) -> str:
    """For an expert without tokens."""
    text = _("No token of this input was routed to expert {expert} of layer {layer}.")
    return text.format(expert=expert, layer=layer + 1)

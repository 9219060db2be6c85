"""What the panels of the feed-forward layer share: the layer, what is looked at, ways on."""

from collections.abc import Callable, Hashable
from functools import lru_cache
from inspect import Signature, signature
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar, cast

import streamlit as st

from blocks import ModelConfig
from blocks.inspection import routing, units, wide
from blocks.inspection.routing import Routing
from blocks.inspection.wide import Place, SeenLayer
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.server import cached
from pages.show.choices import chooses
from pages.show.controls import slider
from pages.show.views import layer_choice
from pages.show.ways import way
from pages.stage import link
from pages.state import labelled
from pages.state.link_fields.feed_forward import LIKELIEST
from pages.state.values import State
from pages.words.language import _, ngettext

PILLS_UP_TO = 16
P = ParamSpec("P")
T = TypeVar("T")


class Selection(NamedTuple):
    """What is looked at: layer, expert (0 where it is dense), token, unit; all from 0."""

    layer: int
    expert: int
    token: int
    unit: int


def selection(run: Run, state: State) -> Selection:
    """The reader's choice; read at the top of each section, since a section reruns alone.

    Unless the reader says otherwise: the expert that the pinned token is sent to first, and the
    unit that is strongest there.
    """
    layer, token = labelled.selected_layer(run, state), labelled.pinned_token(run, state)
    expert, unit = state.expert, state.unit
    if expert == LIKELIEST:
        expert = _likeliest(run, layer, token)
    expert = min(expert, n_experts(run.config, layer) - 1)
    if unit == LIKELIEST:
        unit = strongest_unit(run, layer, expert, token)
    return Selection(layer, expert, token, min(unit, n_units(run.config, layer) - 1))


def n_units(config: ModelConfig, layer: int) -> int:
    return config.d_expert if config.has_experts(layer) else config.d_ff


def _likeliest(run: Run, layer: int, token: int) -> int:
    if not run.config.has_experts(layer):
        return 0
    found = routes(run, layer)
    return int(found.index[token, found.kept[token].argmax()])


@lru_cache(maxsize=64)
def strongest_unit(run: Run, layer: int, expert: int, token: int) -> int:
    """The strongest unit at a token; of an expert that it was not sent to, the busiest."""
    return units.shown_units(see(run, layer), expert, token)[0]


@lru_cache(maxsize=3)
def see(run: Run, layer: int) -> SeenLayer:
    return see_once(run, layer)


def see_once(run: Run, layer: int) -> SeenLayer:
    """The same without keeping it."""
    seen = cached.recording(run)  # takes a turn of its own
    with cached.turn(run.device):
        return wide.see_layer(run, cached.model(run), seen, layer)


@lru_cache(maxsize=8)
def routes(run: Run, layer: int) -> Routing:
    """Where the router sends the tokens; of a dense run, a random router of its seed."""
    seen = see(run, layer)
    with cached.turn(run.device):
        return routing.route(seen)


def kept(facts: Callable[Concatenate[SeenLayer, P], T]) -> Callable[Concatenate[Run, int, P], T]:
    """Facts of a seen layer as facts of a run and a layer, which are kept."""

    @lru_cache(maxsize=64)
    def facts_of(run: Run, layer: int, *more: P.args, **named: P.kwargs) -> T:
        seen = see(run, layer)
        with cached.turn(run.device):
            return facts(seen, *more, **named)

    ours, theirs = (list(signature(each).parameters.values()) for each in (see, facts))
    facts_of.__signature__ = Signature([*ours, *theirs[1:]])  # type: ignore[attr-defined]
    return cast(Callable[Concatenate[Run, int, P], T], facts_of)


def of_a_layer(run: Run, state: State) -> tuple[Hashable, ...] | None:
    """What a panel about a layer reads; None where the model is of attention alone."""
    return None if run.config.attention_only else (run, *selection(run, state))


def of_units(run: Run, state: State) -> tuple[Hashable, ...] | None:
    """The same for a panel about units; None where no token was sent to the expert."""
    if run.config.attention_only:
        return None
    at = selection(run, state)
    return (run, *at) if see(run, at.layer).place(at.expert).n_tokens else None


@chooses("layer", "expert")
def layer_and_expert(run: Run, state: State) -> None:
    """Which layer is looked at, and of a mixture which expert; a way on where there is none."""
    layer_choice(run)
    if run.config.attention_only:
        st.info(no_wide_layer(), icon=":material/lightbulb:")
        way(_("Add feed-forward layers"), "with_feed_forward", attention_only=False)
        return
    at = selection(run, state)
    expert_choice(run, at.layer, at.expert)
    if not see(run, at.layer).place(at.expert).n_tokens:
        text = _("No token of this input was routed to expert {expert} of layer {layer}.")
        said = text.format(expert=from_one(at.expert), layer=from_one(at.layer))
        st.info(said, icon=":material/lightbulb:")
        busiest = int(routing.load(routes(run, at.layer))["kept"].to_numpy().argmax())
        label = _("Show the busiest: expert {expert}").format(expert=from_one(busiest))
        way(label, "busiest_expert", expert=busiest)


def n_experts(config: ModelConfig, layer: int) -> int:
    """Experts of a layer; a dense one is one."""
    return config.n_experts if config.has_experts(layer) else 1


def expert_choice(run: Run, layer: int, shown: int) -> None:
    """Which expert is looked at, where there are several."""
    n = n_experts(run.config, layer)
    if n == 1:
        return
    with st.container(key="expert"):
        if n > PILLS_UP_TO:
            slider("expert", _("Expert"), shown, least=0, most=n - 1, first=1)
            return
        st.pills(
            _("Expert"),
            list(range(n)),
            format_func=lambda expert: str(from_one(expert)),
            required=True,
            **link.view("expert", shown, n),
        )


def where(place: Place) -> str:
    """Which layer the numbers are of, and whether its weights were learned."""
    shown = {"layer": from_one(place.layer), "weights": weights(place.seed)}
    if place.expert is None:
        return _("Layer {layer}, {weights}").format(**shown)
    return ngettext(
        "Layer {layer}, expert {expert} ({n} token routed to it), {weights}",
        "Layer {layer}, expert {expert} ({n} tokens routed to it), {weights}",
        place.n_tokens,
    ).format(expert=from_one(place.expert), n=place.n_tokens, **shown)


def weights(seed: int | None) -> str:
    return _("trained weights") if seed is None else _("random weights, seed {n}").format(n=seed)


def no_wide_layer() -> str:
    """For a model of attention alone."""
    return _(
        "This model has attention only and no feed-forward network. If you add feed-forward "
        "layers, all its weights will be random, since trained ones fit one configuration "
        "only."
    )

"""What the reader looks at on this page, and the ways to other models."""

import streamlit as st

from blocks.observe.run import Run
from pages.ui import link, terms
from pages.ui.controls import enter, slider
from pages.ui.feed_forward import measured
from pages.ui.feed_forward.fields import LIKELIEST
from pages.ui.language import _

PILLS_UP_TO = 16
EVEN_SHARE = 1.0


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


def unit_choice(run: Run, shown: int) -> None:
    """Any unit by its number; and back to the strongest."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="unit"):
        last = run.config.d_ff - 1
        label = _("Unit · 0 to {last:,}").format(last=last)
        enter("unit", label, shown, least=0, most=last, width=180)
        if link.value("unit") != LIKELIEST:
            st.button(
                _("The strongest at the pinned token"),
                icon=":material/restart_alt:",
                on_click=link.change,
                args=("unit", LIKELIEST),
                key="strongest_unit",
            )


def show_unit(customdata: list) -> None:
    """A unit was clicked."""
    link.change("unit", int(customdata[0]))


def show_unit_everywhere(customdata: list) -> None:
    """A unit was clicked outside of the section that opens it."""
    show_unit(customdata)
    link.redraw_everything()


def show_unit_and_token(customdata: list) -> None:
    """A cell of the map was clicked: its unit is opened, its token pinned on the whole page."""
    link.change("unit", int(customdata[0]))
    link.change("token", int(customdata[1]))
    link.redraw_everything()


def show_layer(customdata: list) -> None:
    """The bars of a layer were clicked."""
    link.change("layer", int(customdata[0]))
    link.redraw_everything()


def show_expert(customdata: list) -> None:
    """An expert was clicked: the page looks at it."""
    link.change("expert", int(customdata[0]))
    link.redraw_everything()


def show_route(customdata: list) -> None:
    """A choice of a token was clicked: that expert is looked at, that token pinned."""
    link.change("token", int(customdata[1]))
    show_expert(customdata)


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


def way_to_a_gate(run: Run) -> None:
    """For an activation without a gate, and back."""
    if run.config.feed_forward.activation.is_gated:
        label = _("Without a gate: {kind}").format(kind=terms.option("gelu"))
        way(label, "without_gate", activation="gelu")
    else:
        label = _("With a gate: {kind}").format(kind=terms.option("swiglu"))
        way(label, "with_gate", activation="swiglu")


def ways_among_experts(run: Run) -> None:
    """Into a mixture, out of it, and a limit to what an expert takes."""
    with st.container(horizontal=True, key="expert_ways"):
        if run.config.n_experts == 1:
            way(_("Try 8 experts, 2 active"), "try_experts", **measured.DEMO)
            return
        if run.config.n_active_experts == 1:
            way(_("2 active experts"), "two_active", n_active_experts=2)
        else:
            way(_("1 active expert"), "one_active", n_active_experts=1)
        if run.config.feed_forward.expert_capacity:
            way(_("No capacity limit"), "no_capacity", expert_capacity=0.0)
        else:
            label = _("Limit each to its even share")
            way(label, "with_capacity", expert_capacity=EVEN_SHARE)
        way(_("Back to one dense feed-forward layer"), "dense_again", n_experts=1)


def way_to_a_busy_expert(run: Run, layer: int) -> None:
    """For an expert that no token was sent to."""
    busiest = int(measured.loads(run, layer)["kept"].idxmax())
    label = _("Show the busiest: expert {expert}").format(expert=busiest)
    way(label, "busiest_expert", expert=busiest)

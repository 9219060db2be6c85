"""Widgets of the page of parameters."""

import streamlit as st

from blocks.cost.variations import Variation
from blocks.observe.run import Run
from pages.ui import link, starts
from pages.ui.controls import choose
from pages.ui.language import _, current_language
from pages.ui.parameters import counted, names, pieces
from pages.ui.parameters.fields import VIEWS


def view_choice() -> None:
    """By kind or by layer."""
    choose("breakdown", _("Breakdown"), VIEWS, label_of=names.view)


def way_back(run: Run, view: str, path: str) -> None:
    """The whole, and what was opened on the way, each a button that leads back to it."""
    nodes = pieces.path_of(run, view, path)
    with st.container(horizontal=True, gap="xsmall", key="way_back"):
        for i, node in enumerate(nodes):
            st.button(
                names.node(node),
                key=f"back_to_{i}",
                on_click=link.change,
                args=("opened_piece", pieces.text_of(nodes[: i + 1])),
                disabled=i == len(nodes) - 1,
                type="tertiary",
                icon=":material/chevron_right:" if i else ":material/home:",
            )


def open_choice(run: Run, view: str, path: str) -> None:
    """The pieces of what is opened, by name: also for those too thin to click."""
    nodes = pieces.path_of(run, view, path)
    here = pieces.text_of(nodes)
    inside = {f"{here}/{n.name}".lstrip("/"): names.node(n) for n in nodes[-1].children}
    if not inside:
        return
    options = (here, *inside)
    with st.container(key="open_piece"):
        st.selectbox(
            _("Open a piece"),
            options,
            format_func=lambda path: inside.get(path, _("choose one, or click it")),
            **link.view("opened_piece", here, (options, current_language())),
        )


def open_clicked(customdata: list) -> None:
    """A piece of the picture was clicked."""
    link.change("opened_piece", str(customdata[0]))


def change_choice(run: Run) -> None:
    """Choose a change, see what it does, take it over."""
    found = {change.name: change for change in counted.changes(run.config)}
    with st.container(horizontal=True, vertical_alignment="bottom", key="change_choice"):
        chosen = st.selectbox(
            _("Change your configuration"),
            [*found],
            format_func=lambda name: names.change(name),
            key=f"chosen_change_{current_language()}_{'_'.join(found)[:200]}",
        )
        st.button(
            _("Apply"),
            icon=":material/edit:",
            on_click=_apply,
            args=(found[chosen],),
            key="apply_change",
        )
    st.caption(names.why(chosen))


def apply_clicked(run: Run, customdata: list) -> None:
    """The bar of a change was clicked."""
    found = {change.name: change for change in counted.changes(run.config)}
    if customdata[0] in found:
        _apply(found[customdata[0]])


def _apply(change: Variation) -> None:
    """Set what changes; what follows from other sizes (None) goes on following."""
    for name, value in change.changes.items():
        if value is not None:
            link.change(name, str(value) if isinstance(value, str) else value)
    link.redraw_everything()


def published_choice() -> None:
    """Take a published model as the one that all pages show."""
    titles = {each.name: _(each.title) for each in counted.published()}
    with st.container(horizontal=True, vertical_alignment="bottom", key="published_choice"):
        chosen = st.selectbox(
            _("Use a published model"),
            [*titles],
            format_func=titles.__getitem__,
            key=f"chosen_published_{current_language()}",
        )
        st.button(
            _("Use this model"),
            icon=":material/download_done:",
            on_click=take,
            args=([chosen],),
            key="take_published",
        )


def take(customdata: list) -> None:
    """A published model was chosen, or its dot clicked."""
    if starts.is_known(str(customdata[0])):
        link.change("preset", str(customdata[0]))
        link.redraw_everything()

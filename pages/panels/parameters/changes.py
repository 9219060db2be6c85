"""What changes the number of parameters, one change at a time, and where it goes with size."""

import functools
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost import growth, variations
from blocks.cost.growth import Share
from blocks.cost.variations import Variation
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.table_rows import row_at
from pages.figures.theme import Picture
from pages.panels.parameters import changes_picture, shared
from pages.ui import link
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _, current_language, enumeration
from pages.ui.numbers import percent
from pages.ui.said import say


@lru_cache(maxsize=32)
def over(config: ModelConfig, size: str) -> pd.DataFrame:
    """Shares over width or depth."""
    return growth.over_width(config) if size == "d_model" else growth.over_depth(config)


def changes(config: ModelConfig) -> pd.DataFrame:
    """One row a change: name, label, delta, said."""
    whole = shared.total(config)
    found = shared.changes(config)
    return pd.DataFrame(
        {
            "name": [change.name for change in found],
            "label": [shared.change_name(change.name) for change in found],
            "delta": pd.Series([change.total - whole for change in found], dtype=object),
            "said": [_said(change.total - whole) for change in found],
        }
    )


def _said(delta: int) -> str:
    """Every digit where there is room, else three with a unit."""
    exact = shared.signed(delta)
    short = ("+" if delta > 0 else "−") + shared.short(abs(delta))
    return exact if len(exact) <= len("+999,999,999") else short


def growth_frame(config: ModelConfig, size: str) -> tuple[pd.DataFrame, int]:
    """Shares over a size, and the reader's own size."""
    return over(config, size), getattr(config, size)


def share_names() -> dict[str, str]:
    """What each share is called."""
    return {str(share): share_text(share) for share in Share}


SHARES = {
    Share.EMBEDDINGS: N_("embeddings"),
    Share.ATTENTION: N_("attention"),
    Share.FEED_FORWARD: N_("feed-forward"),
    Share.REST: N_("norms and the rest"),
}


def share_text(found: Share | str) -> str:
    """What a share is called."""
    return _(SHARES[Share(found)])


def changes_table(config: ModelConfig) -> None:
    """Show the changes as a table."""
    shared._shown(shared.change_frame(config), "change_table")


def changes_sentence(config: ModelConfig) -> str:
    """What heads change, and what changes most."""
    whole = shared.total(config)
    delta = {change.name: change.total - whole for change in shared.changes(config)}
    said = []
    if delta.get("twice_the_heads") == 0 or delta.get("half_the_heads") == 0:
        said.append(_("The number of heads changes nothing: heads share the same matrices."))
    small = [name for name in ("no_biases", "no_norms") if name in delta]
    if small and whole:
        share = -sum(delta[name] for name in small) / whole
        text = _("Biases and norms together are {share} of the model.")
        if len(small) == 1:
            text = _("All norms together are {share} of the model.")
        said.append(text.format(share=percent(share)))
    for name in ("tied", "untied"):
        if name in delta:
            text = _("Weight tying saves {n:,} parameters: vocab_size · d_model.")
            said.append(text.format(n=abs(delta[name])))
    return " ".join(said)


def changes_alt(run: Run) -> str:
    """Write the alt text of the bars of changes."""
    whole = shared.total(run.config)
    rows = "; ".join(
        f"{shared.change_name(change.name)} {shared.signed(change.total - whole)}"
        for change in shared.changes(run.config)
    )
    return _("Change in parameters: {rows}.").format(rows=rows)


def growth_sentence(config: ModelConfig) -> str:
    """How the share of embeddings falls, over width and over depth."""
    own = row_at(over(config, "d_model").set_index("d_model"), config.d_model)
    text = _(
        "Here embeddings hold {embeddings}, attention {attention}, feed-forward {feed_forward}."
    )
    shares = {str(name): percent(float(own[name])) for name in Share}
    said = [text.format(**{name: shares[name] for name in shares if name != "rest"})]
    if own[Share.EMBEDDINGS] > 0:
        wide = over(config, "d_model").iloc[-1]
        deep = over(config, "n_layers").iloc[-1]
        text = _(
            "Embeddings grow with d_model, layers with its square: at d_model "
            "{d_model:,} embeddings hold {wide}, and with {n_layers} layers at today's "
            "width {deep}."
        )
        ends = {"d_model": int(wide["d_model"]), "n_layers": int(deep["n_layers"])}
        shares = {"wide": percent(wide[Share.EMBEDDINGS]), "deep": percent(deep[Share.EMBEDDINGS])}
        said.append(text.format(**ends, **shares))
    return " ".join(said)


def growth_alt(run: Run, size: str) -> str:
    """Write the alt text of the areas."""
    table = over(run.config, size)
    first, last = table.iloc[0], table.iloc[-1]
    text = _("Shares against {size}: from {first} ({before}) to {last} ({after}).")
    before, after = (
        enumeration(f"{share_text(name)} {percent(float(row[name]))}" for name in Share)
        for row in (first, last)
    )
    ends = {"first": f"{int(first[size]):,}", "last": f"{int(last[size]):,}"}
    return text.format(size=size, before=before, after=after, **ends)


def change_choice(run: Run) -> None:
    """Choose a change, see what it does, take it over."""
    found = {change.name: change for change in shared.changes(run.config)}
    with st.container(horizontal=True, vertical_alignment="bottom", key="change_choice"):
        chosen = st.selectbox(
            _("Change your configuration"),
            [*found],
            format_func=lambda name: shared.change_name(name),
            key=f"chosen_change_{current_language()}_{'_'.join(found)[:200]}",
        )
        st.button(
            _("Apply"),
            icon=":material/edit:",
            on_click=_apply,
            args=(found[chosen],),
            key="apply_change",
        )
    st.caption(shared.why(chosen))


def apply_clicked(run: Run, customdata: list[Any]) -> None:
    """The bar of a change was clicked."""
    found = {change.name: change for change in shared.changes(run.config)}
    if customdata[0] in found:
        _apply(found[customdata[0]])


def _apply(change: Variation) -> None:
    """Set what changes; what follows from other sizes (None) goes on following."""
    for name, value in change.changes.items():
        if value is not None:
            link.change(name, str(value) if isinstance(value, str) else value)
    link.redraw_everything()


@section
def what_changes_it(run: Run) -> None:
    """Each change counted against the reader's own configuration; a click takes it over."""
    with explained(("parameter_changes",), (variations.variations,), key="changes_story"):
        say(changes_sentence, run.config)
    click = functools.partial(apply_clicked, run)
    show(draw_changes, run, key="differences", alt=changes_alt, on_click=click)
    change_choice(run)
    with st.expander(_("All changes, down to the last parameter"), icon=":material/table:"):
        changes_table(run.config)


@section
def where_it_goes(run: Run) -> None:
    """Shares of embeddings, attention and feed-forward over width and depth."""
    code = (growth.over_width, growth.over_depth)
    with explained(("parameter_growth",), code, key="growth_story"):
        say(growth_sentence, run.config)
    left, right = columns(2)
    with left:
        show(draw_growth, run, "d_model", key="over_width", alt=growth_alt)
    with right:
        show(draw_growth, run, "n_layers", key="over_depth", alt=growth_alt)
    note(_("d_ff and separately set head widths grow with d_model; the vocabulary stays."))


def draw_changes(run: Run) -> Picture:
    """A bar a change."""
    return changes_picture.differences(changes(run.config), _=_)


def draw_growth(run: Run, size: str) -> Picture:
    """Stacked shares against one size."""
    table, own = growth_frame(run.config, size)
    title = _("Over width") if size == "d_model" else _("Over depth")
    names = share_names()
    return changes_picture.shares(table, names, size=size, own=own, title=title, _=_)

"""Exact numbers, and the text with its experts."""

import html
from collections.abc import Callable

import pandas as pd
import streamlit as st

from blocks.observe.run import Run
from pages.ui.feed_forward import measured, words
from pages.ui.language import _

FAINT = "38"  # hexadecimal, of 255: text stays readable on it


def strongest(run: Run, layer: int, expert: int, token: int) -> None:
    """The strongest units of the pinned token: what multiplies, and what comes of it."""
    table = measured.strongest(run, layer, expert, token)
    parts = {_("gate"): table["gate"], _("value"): table["up"]}
    is_gated = run.config.feed_forward.activation.is_gated
    shown = {
        _("unit"): table["unit"],
        "z": table["pre"],
        **(parts if is_gated else {}),
        "hidden": table["hidden"],
    }
    st.dataframe(pd.DataFrame(shown).round(4), hide_index=True, key="strongest_table", height=190)


def ratios(rows: tuple[tuple[float, ...], ...]) -> None:
    """The sweep, exactly."""
    names = ["d_ff / d_model", _("parameters"), _("FLOPs per token"), _("RMS of each output")]
    names += [_("RMS of the stream"), _("change of the output")]
    table = pd.DataFrame(list(rows), columns=names)
    table[names[:3]] = table[names[:3]].astype(int)
    count = st.column_config.NumberColumn(format="localized")
    config = {names[1]: count, names[2]: count}
    st.dataframe(
        table.round(4),
        hide_index=True,
        key="ratio_table",
        column_config=config,
        height="content",
    )


def load(run: Run, layer: int) -> None:
    """Every expert: how often it was asked, what it took, and the router's mean probability."""
    table = measured.loads(run, layer)
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


def totals(run: Run) -> None:
    """The compared layouts, exactly."""
    table = measured.totals(run)
    names = [_("feed-forward"), _("total parameters"), _("active parameters"), _("FLOPs per token")]
    labels = [words.layout(name, run) for name in table["layout"]]
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


def shuffled(run: Run, layer: int) -> None:
    """What shuffling the tokens changes in each part."""
    rows = measured.shuffled(run, layer)
    verdicts = [_("same outputs") if words.is_rounding(run, row) else _("changes") for row in rows]
    shown = pd.DataFrame(
        {
            _("part"): [words.part_name(row.part) for row in rows],
            _("tokens shuffled"): verdicts,
            _("largest |difference|"): [f"{row.difference:.2g}" for row in rows],
            _("RMS of its output"): [f"{row.size:.3g}" for row in rows],
        }
    )
    st.dataframe(shown, hide_index=True, key="shuffle_table", height="content")


def routed_text(run: Run, layer: int, pinned: int, color_of: Callable[[int], str]) -> None:
    """The text, each token in the colour of its first expert, with the numbers of all of them."""
    table = measured.chosen(run, layer)
    chips = [
        _chip(run.input.labels[token], choices, color_of, is_pinned=token == pinned)
        for token, choices in table.groupby("token", sort=True)
    ]
    with st.container(key="routed_text"):
        st.html(" ".join(chips))


def _chip(label: str, choices: pd.DataFrame, color_of: Callable, *, is_pinned: bool) -> str:
    """A token and its experts; those without room for it are struck through."""
    ranked = choices.sort_values("rank")
    numbers = [
        str(row.expert) if row.is_kept else f"<s>{row.expert}</s>" for row in ranked.itertuples()
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

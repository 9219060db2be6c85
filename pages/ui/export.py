"""What a reader takes away: tables, pictures, configuration."""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
import tomli_w

from blocks import ModelConfig
from pages.ui.language import _

PICTURE_FORMATS = ("png", "svg")


def _as_csv(table: pd.DataFrame) -> str:
    return table.to_csv(index=False)


def take_away(
    config: ModelConfig,
    tables: Mapping[str, pd.DataFrame],
    figures: Sequence[Any],
    caption: str,
) -> None:
    """Buttons for all of it; a file is made when its button is pressed."""
    flat = {name: value for name, value in config.flat().items() if value is not None}
    with st.container(horizontal=True):
        for name, table in tables.items():
            download(f"{name}.csv", partial(_as_csv, table), "text/csv")
        download("config.toml", lambda: tomli_w.dumps(flat), "application/toml")
        download("config.json", lambda: json.dumps(flat, indent=2), "application/json")
        download("pictures.html", lambda: as_page(figures, caption), "text/html")
    st.segmented_control(
        _("The camera above each picture saves it as"),
        PICTURE_FORMATS,
        default="png",
        required=True,
        key="picture_format",
    )


def as_page(figures: Sequence[Any], caption: str) -> str:
    """All pictures, still alive, and what was set, in one page that needs no network."""
    parts = [
        figure.to_html(full_html=False, include_plotlyjs=i == 0) for i, figure in enumerate(figures)
    ]
    head = "<!doctype html><meta charset='utf-8'><title>Blockscope</title>"
    return "\n".join((head, f"<p>{html.escape(caption)}</p>", *parts))


def download(name: str, make: Callable[[], str | bytes], mime: str) -> None:
    """A button that saves a file, made when it is pressed."""
    st.download_button(
        name,
        make,
        file_name=f"blockscope-{name}",
        mime=mime,
        key=f"save_{name.replace('.', '_')}",
        icon=":material/download:",
        on_click="ignore",
    )

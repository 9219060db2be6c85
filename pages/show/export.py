"""What a reader takes away: tables, pictures, configuration."""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
import tomli_w
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from blocks import ModelConfig
from blocks.export import activations, notebook_of
from blocks.observe.run import Run
from blocks.weights.pocket import pocket_names
from pages.figures.described import described
from pages.server import cached
from pages.session.slot import shown_by
from pages.show import chart, page_file
from pages.stage import link, present
from pages.state import labelled
from pages.words.file_names import INSIDE, file_stem
from pages.words.language import _, bracketed, current_language, translation

PICTURE_FORMATS = ("png", "svg")
Data = str | bytes
Tables = Mapping[str, Callable[[], pd.DataFrame]]


def _as_csv(table: Callable[[], pd.DataFrame]) -> str:
    return table().to_csv(index=False)


def from_one(make: Callable[[], pd.DataFrame], *columns: str) -> Callable[[], pd.DataFrame]:
    """What makes a table whose `columns` count from 1, as the screen does."""

    def made() -> pd.DataFrame:
        table = make()
        return table.assign(**{name: table[name] + 1 for name in columns})

    return made


def take_away(
    config: ModelConfig, tables: Tables, figures: Callable[[], Sequence[Any]], caption: str
) -> None:
    """Buttons for all of it; a file, and what is in it, is made when its button is pressed."""
    flat = {name: value for name, value in config.flat().items() if value is not None}
    with st.container(horizontal=True):
        for name, table in tables.items():
            download(f"{name}.csv", partial(_as_csv, table), "text/csv")
        download("config.toml", lambda: tomli_w.dumps(flat), "application/toml")
        download("config.json", lambda: json.dumps(flat, indent=2), "application/json")
        download("pictures.html", pictures_file(figures, caption), "text/html")
    if tables:
        st.caption(_("Tables count layers, heads and tokens from 1, as on the screen."))
    st.segmented_control(
        _("File format for the camera button above each picture"),
        PICTURE_FORMATS,
        default=chart.picture_format(),
        format_func=str.upper,
        required=True,
        key="picture_format",
        on_change=_keep_format,
    )


def _keep_format() -> None:
    """It holds on every page, whether this choice is drawn there or not."""
    chart.PICTURE_FORMAT.keep(shown_by("picture_format"))


def pictures_file(figures: Callable[[], Sequence[Any]], caption: str) -> Callable[[], str]:
    """What writes all pictures, still alive, and what was set, into one file for no network."""
    title, language = _(link.TITLE.get()), current_language()
    head = f"<h1>{html.escape(title)}</h1><p class='caption'>{html.escape(caption)}</p>"

    def write() -> str:
        parts = (
            page_file.picture(figure.to_json(), described(figure, _=_), with_library=i == 0)
            for i, figure in enumerate(figures())
        )
        return page_file.whole(title, (head, *parts), language)

    return write


def take_run(run: Run, panel: str, title: str) -> None:
    """The run of the open panel as a notebook, and what it showed as tensors."""
    is_pocket, is_recorded = run.weights in pocket_names(), cached.is_recorded(run)
    layer = labelled.attending_layer(run, link.now()) if is_recorded else 0
    with st.container(horizontal=True, key="take_run"):
        if is_pocket or not run.weights:
            look: dict[str, Any] = {"title": title, "_": translation()}
            make = partial(notebook_of, run, panel, layer=layer, is_pocket=is_pocket, **look)
            download("run.ipynb", make, "application/x-ipynb+json")
        if is_recorded:
            tensors = partial(activations, cached.recording(run))
            download("activations.safetensors", tensors, "application/octet-stream")


def download(name: str, make: Callable[[], Data], mime: str) -> None:
    """A button that saves a file, made when it is pressed; both say what is inside.

    It waits in the sidebar before a class.
    """
    stem, kind = name.rsplit(".", 1)
    inside = _(INSIDE[name]) if name in INSIDE else ""
    with present.aside():
        st.download_button(
            bracketed(inside, kind.upper()) if inside else name,
            as_this_reader(make),
            file_name=file_on_disk(name),
            mime=mime,
            key=f"save_{stem}_{kind}",
            icon=":material/download:",
            on_click="ignore",
        )


def file_on_disk(name: str) -> str:
    stem, kind = name.rsplit(".", 1)
    return f"{file_stem(_(INSIDE[name]) if name in INSIDE else stem)}.{kind}"


def as_this_reader(make: Callable[[], Data]) -> Callable[[], Data]:
    """The same in the session of now: Streamlit presses the button in a thread that has none.

    That thread goes on to serve others, so the session is that of one which ends with the file.
    """
    session = get_script_run_ctx()

    def make_here() -> Data:
        with ThreadPoolExecutor(1, initializer=add_script_run_ctx, initargs=(None, session)) as own:
            return own.submit(make).result()

    return make_here

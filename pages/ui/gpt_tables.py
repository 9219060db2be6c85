"""The exact numbers of a GPT: its text, its next token, what it wrote."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.observe.run import Run
from blocks.text.sampling import SamplingConfig
from pages.ui import link, predicted, tokens
from pages.ui.language import _
from pages.ui.numbers import percent


def read_tokens(run: Run) -> pd.DataFrame:
    """The text, a row a token: label, id, its characters from 1, and what stands there."""
    text = link.value("text")
    pieces = tokens.reading().pieces
    return pd.DataFrame(
        {
            "position": range(1, len(pieces) + 1),
            "token": [piece.label for piece in pieces],
            "token_id": [piece.token_id for piece in pieces],
            "first_character": [piece.start + 1 for piece in pieces],
            "last_character": [piece.end for piece in pieces],
            "text": [text[piece.start : piece.end] for piece in pieces],
        }
    )


def tokens_read(run: Run) -> None:
    """The text token by token."""
    table = read_tokens(run)
    shown = pd.DataFrame(
        {
            _("position"): table["position"],
            _("token"): table["token"],
            _("id"): table["token_id"],
            _("characters"): _span(table),
        }
    )
    st.dataframe(shown, hide_index=True, key="token_table", height=212)


def _span(table: pd.DataFrame) -> pd.Series:
    """From which character to which, or the one."""
    first, last = table["first_character"].astype(str), table["last_character"].astype(str)
    return first.where(first == last, first + "–" + last)


@lru_cache(maxsize=8)
def vocabulary(run: Run, position: int, sampling: SamplingConfig) -> pd.DataFrame:
    """Every token that could come next."""
    table = predicted.next_tokens(run, position, sampling)
    labels = predicted.token_labels(run)
    table = table.assign(token=[labels[token_id] for token_id in table["token_id"]])
    columns = ["rank", "token", "token_id", "logit", "scaled", "kept"]
    return table[[*columns, "model_probability", "probability"]]


def next_tokens(run: Run, position: int, sampling: SamplingConfig) -> None:
    """The whole vocabulary, searchable, where the reader opens it."""
    name = _("The whole vocabulary: {n:,} tokens").format(n=run.config.vocab_size)
    box = st.expander(name, key="vocabulary", on_change="rerun", icon=":material/table_rows:")
    if not box.open:
        return
    table = vocabulary(run, position, sampling)
    names = {
        "rank": _("rank"),
        "token": _("token"),
        "token_id": _("id"),
        "logit": _("logit"),
        "scaled": _("÷ temperature"),
        "kept": _("kept"),
        "model_probability": _("the model's own"),
        "probability": _("sampling probability"),
    }
    percent = st.column_config.NumberColumn(format="%.4f %%")
    shown = table.assign(
        model_probability=100 * table["model_probability"], probability=100 * table["probability"]
    )
    columns = {names[name]: percent for name in ("model_probability", "probability")}
    with box:
        st.caption(_("Search with the magnifying glass above the table; click a column to sort."))
        st.dataframe(
            shown.rename(columns=names),
            hide_index=True,
            key="vocabulary_table",
            column_config=columns,
            height=400,
        )


def read_surprise(run: Run) -> pd.DataFrame:
    """The text with its surprise; positions count from 1, as in `read_tokens`."""
    table = predicted.surprise(run)
    return table.assign(position=table["position"] + 1)


def surprise(run: Run) -> None:
    """The same on the page."""
    table = read_surprise(run)
    shown = pd.DataFrame(
        {
            _("position"): table["position"],
            _("token"): table["label"],
            _("bits"): table["bits"].round(3),
            _("probability"): table["probability"].map(percent),
            _("rank"): table["rank"],
        }
    )
    st.dataframe(shown, hide_index=True, key="surprise_table", height=330)

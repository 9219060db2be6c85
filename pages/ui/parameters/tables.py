"""Exact numbers of the page of parameters, under the pictures that show them."""

import pandas as pd
import streamlit as st

from blocks import ModelConfig
from blocks.cost.memory import bytes_text
from pages.ui import terms
from pages.ui.language import _
from pages.ui.parameters import amounts, counted, names


def part_frame(config: ModelConfig, kind: str = "") -> pd.DataFrame:
    """Every part (of one kind) with its formula; one that reads and writes stands twice."""
    rows = [row for row in counted.rows(config) if kind in ("", row.kind)]
    whole = counted.total(config)
    table = pd.DataFrame(
        {
            _("part"): [terms.part(row.part) for row in rows],
            _("kind"): [names.kind(row.kind) for row in rows],
            _("count"): amounts.column([row.count for row in rows]),
            _("share"): [amounts.share(row.count, whole) for row in rows],
            _("formula"): [row.formula for row in rows],
            _("in numbers"): [row.numbers for row in rows],
        }
    )
    return table


def parts(config: ModelConfig, kind: str) -> None:
    """The same, shown."""
    _shown(part_frame(config, kind), "piece_table", _("count"))


def of_file(config: ModelConfig) -> None:
    """The parts of a config.json."""
    _shown(part_frame(config), "file_table", _("count"))


def sizes(config: ModelConfig) -> None:
    """Bytes of the weights in each number format, tied and not."""
    _shown(size_frame(config), "size_table")


def size_frame(config: ModelConfig) -> pd.DataFrame:
    """One row a number format."""
    columns = {_("weights"): counted.total(config)}
    if counted.active(config) < counted.total(config):
        columns[_("active per token")] = counted.active(config)
    if config.architecture.reads_tokens:
        is_tied = config.vocabulary.tie_embeddings
        label = _("if untied") if is_tied else _("if tied")
        columns[label] = counted.total(config.replace(tie_embeddings=not is_tied))
    table = pd.DataFrame(
        {
            _("number format"): [*counted.BITS],
            _("bits"): [*counted.BITS.values()],
        }
    )
    for label, count in columns.items():
        table[label] = [bytes_text(counted.bytes_in(count, name)) for name in counted.BITS]
    return table


def change_frame(config: ModelConfig) -> pd.DataFrame:
    """What each change does."""
    found, whole = counted.changes(config), counted.total(config)
    table = pd.DataFrame(
        {
            _("change"): [names.change(change.name) for change in found],
            "Δ": [amounts.signed(change.total - whole) for change in found],
            _("after"): [f"{change.total:,}" for change in found],
        }
    )
    if any(change.active < change.total for change in found):
        table[_("active per token")] = [f"{change.active:,}" for change in found]
    return table.assign(**{_("why"): [names.why(change.name) for change in found]})


def changes(config: ModelConfig) -> None:
    """The same, shown."""
    _shown(change_frame(config), "change_table")


def published_frame() -> pd.DataFrame:
    """Published models, the smallest first."""
    found = counted.published()
    return pd.DataFrame(
        {
            _("model"): [_(each.title) for each in found],
            _("parameters"): [each.total for each in found],
            _("active per token"): [each.active for each in found],
            "bfloat16": [bytes_text(counted.bytes_in(each.total, "bfloat16")) for each in found],
            _("architecture"): [terms.option(each.config.architecture) for each in found],
            "d_model": [each.config.d_model for each in found],
            _("number of layers"): [
                each.config.n_layers + each.config.n_decoder_layers for each in found
            ],
            _("stated in"): [_(each.source) for each in found],
        }
    )


def published() -> None:
    """The same, shown."""
    _shown(published_frame(), "published_table", _("parameters"), _("active per token"))


def moments(found: pd.DataFrame, *, key: str) -> None:
    """How the weights of each kind are spread."""
    shown = pd.DataFrame(
        {
            _("kind"): [names.kind(kind) for kind in found["kind"]],
            _("count"): found["count"],
            _("mean"): found["mean"].map(_digits),
            "σ": found["std"].map(_digits),
            _("min"): found["min"].map(_digits),
            _("max"): found["max"].map(_digits),
            _("beyond 5 σ"): found["outside"],
        }
    )
    _shown(shown, key, _("count"), _("beyond 5 σ"))


def _digits(value: float) -> str:
    """Four digits, or in words where a weight is no number."""
    return f"{value:.4g}" if value - value == 0 else _("not finite")


def _shown(table: pd.DataFrame, key: str, *counts: str) -> None:
    columns = {name: st.column_config.NumberColumn(format="localized") for name in counts}
    numeric = {name: kind for name, kind in columns.items() if table[name].dtype.kind in "iu"}
    st.dataframe(table, hide_index=True, key=key, column_config=numeric, height="content")

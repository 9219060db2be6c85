"""Exact numbers of ways to attend, and of heads that share."""

import pandas as pd
import streamlit as st

from blocks.cost.attention_time import Measured
from blocks.cost.memory import bytes_text
from blocks.model.attention_kinds import AttentionKind, Reach
from blocks.observe.run import Run
from pages.ui import terms
from pages.ui.attention_kinds import measured, words
from pages.ui.changes.measured import reads_tokens
from pages.ui.language import _


def errors(run: Run, layer: int, head: int, reach: Reach) -> None:
    """How far each way is from the full one."""
    table = measured.errors(run, layer, head, reach)
    shown = pd.DataFrame(
        {
            _("attention variant"): table["kind"].map(words.kind),
            _("error against full attention"): table["error"].map("{:.2%}".format),
            _("weight on other keys"): table["moved"].map("{:.2%}".format),
            _("pairs scored"): table["pairs"],
        }
    )
    st.dataframe(shown, hide_index=True, key="kinds_table", height="content")


def growth(found: tuple[Measured, ...]) -> None:
    """Theory beside what was measured."""
    time, memory = (measured.exponents(found, of) for of in ("milliseconds", "peak_bytes"))
    rows = [
        {
            _("attention variant"): words.kind(kind),
            _("time, theory"): words.IN_THEORY[kind][0],
            _("time, measured"): _power(time.get(kind)),
            _("memory, theory"): words.IN_THEORY[kind][1],
            _("memory, measured"): _power(memory.get(kind)),
        }
        for kind in AttentionKind
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="growth_table", height="content")


def _power(exponent: float | None) -> str:
    return "–" if exponent is None else f"n^{exponent:.2f}"


def sharing(run: Run, layer: int) -> None:
    """What each costs."""
    shared = measured.shared(run)
    rows = [measured.sharing_row(run, n, layer) for n in shared]
    moved = _("KL of the output (bits)") if reads_tokens(run) else _("change of the output")
    shown = pd.DataFrame(
        {
            _("kind"): [terms.attention_kind(measured.with_shared(run, n)) for n in shared],
            "n_kv_heads": [row["n_kv_heads"] for row in rows],
            _("k_proj + v_proj"): [f"{row['kv_parameters']:,}" for row in rows],
            _("parameters"): [f"{row['parameters']:,}" for row in rows],
            _("cache per token (bytes)"): [f"{row['cache_bytes']:,}" for row in rows],
            _("cache at max_seq_len"): [bytes_text(row["cache_bytes_full"]) for row in rows],
            _("cosine within a group"): [_cosine(row["within"]) for row in rows],
            _("cosine across groups"): [_cosine(row["across"]) for row in rows],
            moved: [f"{row['moved']:.3g}" for row in rows],
        }
    )
    st.dataframe(shown, hide_index=True, key="sharing_table", height="content")


def _cosine(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"

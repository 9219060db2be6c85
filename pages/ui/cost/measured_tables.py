"""Numbers of the operations of a layer: counted, estimated, measured."""

from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks.cost.device_peak import DevicePeak
from pages.ui.cost import amounts, measured, measured_words
from pages.ui.cost.measured import Case
from pages.ui.cost.units import duration, flop_rate
from pages.ui.language import _, current_language
from pages.ui.numbers import percent

MS = 1000


def counted(case: Case) -> pd.DataFrame:
    """What is known before anything is measured."""
    rows = measured.counted(case.config, case.tokens, case.itemsize)
    return pd.DataFrame(_counted(rows) | _formulas(rows))


def timed(case: Case, peak: DevicePeak, names: tuple[str, ...]) -> pd.DataFrame:
    """The same with estimate and measurement."""
    rows = measured.table(case, peak, names)
    times = {
        _("at best"): rows["estimated_s"].map(duration),
        _("measured"): rows["measured_s"].map(_or_dash(duration)),
        _("share reached"): rows["share"].map(_or_dash(percent)),
        _("limited by"): rows["bound"].map(lambda name: _(measured_words.BOUNDS[name])),
    }
    return pd.DataFrame(_counted(rows) | times | _formulas(rows))


def show(table: pd.DataFrame) -> None:
    """Put one of them on the page."""
    st.dataframe(table, hide_index=True, key="operations_table", height="content")


def _counted(rows: pd.DataFrame) -> dict[str, pd.Series]:
    return {
        _("operation"): rows["operation"].map(measured_words.operation),
        _("times per layer"): rows["times"].astype(str).where(rows["operation"] != "unembed", "–"),
        "FLOPs": rows["flops"].map(lambda n: f"{n:,}"),
        _("bytes"): rows["bytes"].map(lambda n: f"{n:,}"),
        _("FLOPs per byte"): rows["intensity"].map(amounts.rounded),
    }


def _formulas(rows: pd.DataFrame) -> dict[str, pd.Series]:
    return {
        _("FLOPs, formula"): rows["flops_formula"],
        _("bytes, formula"): rows["bytes_formula"],
    }


def _or_dash(said):
    return lambda value: "–" if pd.isna(value) else said(value)


def dots(case: Case, peak: DevicePeak, names: tuple[str, ...]) -> pd.DataFrame:
    """The same table as pictures take it: label, hover, milliseconds."""
    return _dots(case, peak, names, current_language())


@lru_cache(maxsize=32)
def _dots(case: Case, peak: DevicePeak, names: tuple[str, ...], language: str) -> pd.DataFrame:
    rows = measured.table(case, peak, names)
    times = {
        f"{name}_ms": rows[f"{name}_s"] * MS for name in ("estimated", "measured", "low", "high")
    }
    return rows.assign(
        label=rows["operation"].map(measured_words.operation),
        hover=[_hover(row) for row in rows.itertuples()],
        **times,
    )


def _hover(row) -> str:
    """All that is known of an operation, formulas too."""
    lines = [
        f"<b>{measured_words.operation(row.operation)}</b>",
        f"{amounts.flops(row.flops)} = {row.flops_formula}",
        f"{amounts.in_bytes(row.bytes)} = {row.bytes_formula}",
        _("{intensity} FLOPs per byte").format(intensity=amounts.rounded(row.intensity)),
        _("at best {time}: {rate}").format(
            time=duration(row.estimated_s), rate=flop_rate(row.roof_flops_per_s)
        ),
    ]
    if pd.isna(row.measured_s):
        lines.append(_("not measured"))
    else:
        text = _("measured {time}: {rate}, {share} of it")
        rate = flop_rate(row.measured_flops_per_s)
        share = percent(row.share)
        lines.append(text.format(time=duration(row.measured_s), rate=rate, share=share))
    return "<br>".join(lines)

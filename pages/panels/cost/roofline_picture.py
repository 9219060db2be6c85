"""The roofline: each operation below it, what each takes, and a layer three ways."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from blocks.cost.device_peak import DevicePeak
from blocks.cost.roofline_facts import LayerFacts, RooflineFacts
from blocks.cost.units import bytes_text, rounded
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.axes import plot_room, row_names
from pages.figures.marks import bar_ends, dashed, upright
from pages.figures.table_rows import Row, each_row
from pages.figures.theme import (
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
    plain,
)
from pages.figures.units import duration, flops

HEIGHT, ROW, BOTTOM = 540, 26, 48
BAR_ROW = 52
TOGETHER = 0.25  # decades of intensity: nearer ones share a label
NAMES_A_LABEL, SLANT = 2, -60
DOT = 11
GROUPS = {
    "norm": N_("norms"),
    "attention": N_("attention"),
    "mixer": N_("token mixer"),
    "cross_attention": N_("cross-attention"),
    "feed_forward": N_("feed-forward"),
    "residual": N_("residual"),
    "embedding": N_("logits"),
}
Place = tuple[str, str]
ON_ROOF: Place = ("intensity", "roof_flops_per_s")
AS_MEASURED: Place = ("intensity", "measured_flops_per_s")
ESTIMATED: Place = ("estimated_s", "label")
MEASURED: Place = ("measured_s", "label")


def roofline(facts: RooflineFacts, names: Mapping[str, str], *, _: Translate) -> Picture:
    """A hollow dot on the roof for each estimate, a filled one for its measurement, joined."""
    table, peak = _labelled(facts, names, _), facts.peak
    intensities = [*table["intensity"], peak.ridge]
    between = [min(intensities) / 3, max(intensities) * 4]
    speeds = pd.concat([table["roof_flops_per_s"], table["measured_flops_per_s"]]).dropna()
    speed = [speeds.min() / 2, max(speeds.max(), peak.flops_per_s) * 30]
    return figure(
        [
            _roof_line(between, peak, _),
            _joins(table, ON_ROOF, AS_MEASURED),
            *_dots(table, ON_ROOF, AS_MEASURED, _),
            *_key(_),
        ],
        title=_("Roofline: achieved and attainable speed"),
        height=HEIGHT,
        margin=(TITLE, BOTTOM),
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.17, "yanchor": "top"},
        xaxis=_log(_("arithmetic intensity (FLOPs per byte)"), between, "~g"),
        yaxis=_log("FLOP/s", speed, "~s"),
        shapes=[_ridge_line(peak)],
        annotations=[*_labels(table, _), _ridge(peak, _)],
    )


def durations(facts: RooflineFacts, names: Mapping[str, str], *, _: Translate) -> Picture:
    """A row per operation: its estimate (hollow), its measurement (filled, with quartiles)."""
    table = _labelled(facts, names, _)
    labels = table["label"].tolist()[::-1]  # the first stands at the top
    times = pd.concat([table[name] for name in ("estimated_s", "low_s", "high_s")]).dropna()
    quartiles = _joins(table, ("low_s", "label"), ("high_s", "label"))
    return figure(
        [
            _joins(table, ESTIMATED, MEASURED),
            {**quartiles, "line": {"color": faint(palette.RESIDUAL, 0.45), "width": 6}},
            *(dots | {"showlegend": False} for dots in _dots(table, ESTIMATED, MEASURED, _)),
            *_key(_),
        ],
        title=_("Time to run each operation once"),
        height=max(HEIGHT, TITLE_AND_LEGEND + BOTTOM + ROW * len(labels)),
        margin=(TITLE_AND_LEGEND, BOTTOM),
        **legend(),
        xaxis={
            **_log(_("time (logarithmic)"), [times.min() / 2, times.max() * 2], "~s"),
            "ticksuffix": "s",
        },
        yaxis={
            "categoryorder": "array",
            "categoryarray": labels,
            "range": [-0.7, len(labels) - 0.3],
        },
    )


def intensity(rows: pd.DataFrame, names: Mapping[str, str], *, _: Translate) -> Picture:
    """FLOPs per byte of each operation, before the device is measured: fewest at the foot."""
    table = rows.sort_values("intensity", ascending=False)
    values = table["intensity"].tolist()
    low, high = math.log10(min(values)) - 0.3, math.log10(max(values)) + 0.6
    bars = marks.lying(
        values,
        range(len(values)),
        marker={"color": [palette.PART_COLORS[group] for group in table["group"]]},
        **marks.written(map(rounded, values)),
        hoverinfo="skip",
    )
    return figure(
        [bars],
        title=_("FLOPs per byte moved"),
        **plot_room(ROW * len(values), BOTTOM),
        xaxis={**_log(_("FLOPs per byte (logarithmic)"), [10**low, 10**high], "~g")},
        yaxis=row_names([plain(names[name]) for name in table["operation"]], showgrid=False),
    )


def _labelled(facts: RooflineFacts, names: Mapping[str, str], _: Translate) -> pd.DataFrame:
    labels = facts.rows["operation"].map(lambda name: plain(names[name]))
    table = facts.rows.assign(label=labels)
    return table.assign(hover=[_hover(row, _) for row in each_row(table)])


def _hover(row: Row, _: Translate) -> str:
    """All that is known of an operation, formulas too."""
    lines = [
        f"<b>{row.label}</b>",
        f"{flops(row.flops)} = {row.flops_formula}",
        f"{bytes_text(row.bytes)} = {row.bytes_formula}",
        _("{intensity} FLOPs per byte").format(intensity=rounded(row.intensity)),
        _("best case {time}: {rate}").format(
            time=duration(row.estimated_s), rate=f"{flops(row.roof_flops_per_s)}/s"
        ),
    ]
    if pd.isna(row.measured_s):
        return "<br>".join([*lines, _("not measured")])
    text = _("measured {time}: {rate}, {share} of roofline")
    rate = f"{flops(row.measured_flops_per_s)}/s"
    said = text.format(time=duration(row.measured_s), rate=rate, share=f"{row.share:.1%}")
    return "<br>".join([*lines, said])


def _log(title: str, between: Sequence[float], tickformat: str) -> dict[str, Any]:
    return {
        "title": title,
        "type": "log",
        "range": [math.log10(each) for each in between],
        "dtick": 1,
        "tickformat": tickformat,
        "zeroline": False,
    }


def _roof_line(edges: Sequence[float], peak: DevicePeak, _: Translate) -> dict[str, Any]:
    """Bytes per second up to the ridge, arithmetic from there on."""
    x = [edges[0], peak.ridge, edges[1]]
    return marks.line(
        x,
        [min(peak.flops_per_s, each * peak.bytes_per_s) for each in x],
        name=_("roofline, measured here"),
        line={"color": palette.RESIDUAL, "width": 3},
        hoverinfo="skip",
    )


def _ridge_line(peak: DevicePeak) -> dict[str, Any]:
    line = dashed(faint(palette.RESIDUAL, 0.5), dash="dot", width=1)
    return upright(peak.ridge, y1=0.72, layer="below", line=line)


def _ridge(peak: DevicePeak, _: Translate) -> dict[str, Any]:
    return {
        "x": math.log10(peak.ridge),
        "yref": "paper",
        "y": 0,
        "text": _("ridge point: {ridge} FLOPs per byte").format(ridge=rounded(peak.ridge)),
        "xanchor": "left",
        "yanchor": "bottom",
        "textangle": -90,
        "font": {"size": 11},
    }


def _joins(table: pd.DataFrame, first: Place, second: Place) -> dict[str, Any]:
    """A thin line from each estimate to its measurement, all of them in one trace."""
    rows = table.dropna(subset=[*second])
    ends = (
        zip(rows[a].tolist(), rows[b].tolist(), strict=True)
        for a, b in zip(first, second, strict=True)
    )
    x, y = ([value for pair in pairs for value in (*pair, None)] for pairs in ends)
    return marks.line(
        x,
        y,
        line={"color": faint(palette.RESIDUAL, 0.6), "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
    )


def _dots(
    table: pd.DataFrame, estimated: Place, measured: Place, _: Translate
) -> list[dict[str, Any]]:
    """Of each group the hollow dots and the filled ones; the group is named once."""
    return [
        marks.dots(
            rows[x].tolist(),
            rows[y].tolist(),
            name=_(GROUPS[group]),
            legendgroup=group,
            showlegend=is_hollow,
            text=rows["label"].tolist(),
            customdata=rows[["hover"]].to_numpy().tolist(),
            hovertemplate="%{customdata[0]}<extra></extra>",
            marker=_marker(palette.PART_COLORS[group], is_hollow=is_hollow),
        )
        for group in table["group"].drop_duplicates()
        for (x, y), is_hollow in ((estimated, True), (measured, False))
        for rows in [table[table["group"] == group].dropna(subset=[x, y])]
    ]


def _marker(color: str, *, is_hollow: bool) -> dict[str, Any]:
    symbol = "circle-open" if is_hollow else "circle"
    return {"symbol": symbol, "size": DOT, "color": color, "line": {"width": 2, "color": color}}


def _key(_: Translate) -> list[dict[str, Any]]:
    """What hollow and filled mean, for the legend alone."""
    meanings = ((True, _("hollow: best case (estimate)")), (False, _("filled: measured here")))
    return [
        marks.dots(
            [None],
            [None],
            name=name,
            marker=_marker(palette.RESIDUAL, is_hollow=is_hollow),
            hoverinfo="skip",
        )
        for is_hollow, name in meanings
    ]


def _labels(table: pd.DataFrame, _: Translate) -> list[dict[str, Any]]:
    """Names over the hollow dots, slanting; those that stand together share a label."""
    return [
        {
            "x": math.log10(place["intensity"].iloc[0]),
            "y": math.log10(place["roof_flops_per_s"].max()),
            "text": _names(place.sort_index()["label"].tolist(), _),
            "textangle": SLANT,
            "xanchor": "left",
            "yanchor": "bottom",
            "xshift": -5,
            "yshift": 8,
            "font": {"size": 11},
        }
        for place in _together(table.sort_values("intensity"))
    ]


def _together(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Rows by ascending intensity, cut where the next is far from the first of its place."""
    places: list[list[int]] = []
    start = -math.inf
    for i, intensity in enumerate(table["intensity"]):
        if math.log10(intensity) - start > TOGETHER:
            places.append([])
            start = math.log10(intensity)
        places[-1].append(i)
    return [table.iloc[place] for place in places]


def _names(labels: list[str], _: Translate) -> str:
    shown = list(dict.fromkeys(labels))
    rest = len(shown) - NAMES_A_LABEL
    return _(", ").join([*shown[:NAMES_A_LABEL], *([f"+ {rest}"] if rest > 0 else [])])


def sums(facts: LayerFacts, *, _: Translate) -> Picture:
    """Stacked bars of time by group, estimated and one by one, and one for the whole."""
    rows = [_("best case"), _("operations, one by one"), _("whole layer")]
    whole = facts.whole.times.median
    totals = [facts.best, facts.one_by_one, whole]
    groups = [
        _bar(rows[:2], seconds, _(GROUPS[group]), {"color": palette.PART_COLORS[group]})
        for group, *seconds in facts.parts.itertuples()
    ]
    look = {"color": palette.BEFORE, "line": {"color": palette.RESIDUAL, "width": 2}}
    at_once = {**_bar(rows[2:], [whole], "", look), "showlegend": False}
    return figure(
        [*groups, at_once, bar_ends(totals, rows, [f" {duration(each)}" for each in totals])],
        title=_("One layer, estimated and measured"),
        height=TITLE_AND_LEGEND + BOTTOM + BAR_ROW * len(rows),
        margin=(TITLE_AND_LEGEND, BOTTOM),
        showlegend=True,
        legend={**legend()["legend"], "traceorder": "normal"},
        barmode="stack",
        bargap=0.35,
        xaxis={
            "title": _("time"),
            "range": [0, 1.25 * max(totals)],
            "tickformat": "~s",
            "ticksuffix": "s",
        },
        yaxis={"categoryorder": "array", "categoryarray": rows[::-1]},
    )


def _bar(
    rows: Sequence[str], seconds: Sequence[float], name: str, marker: dict[str, Any]
) -> dict[str, Any]:
    return marks.lying(
        seconds, rows, name=name, marker=marker, hovertemplate=f"%{{x:.3~s}}s<extra>{name}</extra>"
    )

"""Weight beside contribution: what a key gets, and what it adds."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from blocks.inspection.contribution import ContributionFacts
from pages.figures import marks, palette
from pages.figures.counting import head_called, told_apart
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture, Translate, faint, figure, token_label

MOST_KEYS = 32
ROW, TOP, BOTTOM = 22, 92, 8
GAP = 0.05
COLUMNS = ("weight", "norm", "share")


def bars(facts: ContributionFacts, *, _: Translate) -> Picture:
    """A row per key: its weight, the length of what it adds, its share of the output.

    The last rows are no keys of this head. A click returns the number of a key.
    """
    rows = _rows(facts, _)
    width = (1 - 2 * GAP) / 3
    counted = _("all heads of the layer")
    if facts.head is not None:
        counted = head_called(facts.layer, facts.head, _)
    token = token_label(told_apart(facts.run.input.labels)[facts.query])
    titles = (_("weight"), "‖α·v·W_O‖", _("share of the output"))
    colors = (palette.ATTENTION, palette.NORM, palette.FEED_FORWARD)
    domains = [(i * (width + GAP), i * (width + GAP) + width) for i in range(3)]
    traces = [
        _bars(rows, column, i, color)
        for i, (column, color) in enumerate(zip(COLUMNS, colors, strict=True))
    ]
    x_axes: dict[str, Any] = {
        f"xaxis{i + 1 if i else ''}": _x_axis(rows, column, domains[i], titles[i], i)
        for i, column in enumerate(COLUMNS)
    }
    return figure(
        [*traces, _targets(rows)],
        title=_("Contributions at {token}: {counted}").format(token=token, counted=counted),
        height=TOP + BOTTOM + ROW * len(rows),
        margin=(TOP, BOTTOM),
        bargap=0.3,
        **x_axes,
        yaxis={
            "tickvals": list(range(len(rows))),
            "ticktext": [_label(row) for row in each_row(rows)],
            "range": [len(rows) - 0.4, -0.6],
            "showgrid": False,
            "zeroline": False,
        },
        annotations=_values(rows),
    )


def _rows(facts: ContributionFacts, _: Translate) -> pd.DataFrame:
    """The keys in the order of the text, other heads, and the output bias."""
    keys = facts.largest(MOST_KEYS)
    labels = told_apart(facts.run.input.labels)
    keys = keys.assign(
        number=keys.index,
        kind=["apart" if key in facts.apart else "key" for key in keys.index],
        label=[labels[key] for key in keys.index],
    ).assign(is_pinned=keys.index == facts.query)
    none = dict.fromkeys((*COLUMNS, "value_norm")) | {"number": -1, "is_pinned": False}
    rest = {**none, "label": _("other heads"), "kind": "rest", "share": facts.parts.rest}
    bias = {"kind": "bias", "share": facts.parts.bias, "norm": facts.parts.bias_norm}
    more = [] if facts.head is None else [rest]
    more.append({**none, **bias, "label": _("output bias")})
    return pd.DataFrame([*keys.to_dict("records"), *more])


def _label(row: Any) -> str:
    name = token_label(row.label)
    return f"<b>{name}</b>" if row.is_pinned else name


def _bars(rows: pd.DataFrame, column: str, i: int, color: str) -> dict[str, Any]:
    kinds = {
        "key": color,
        "apart": faint(color, 0.3),
        "rest": palette.BEFORE,
        "bias": palette.RESIDUAL,
    }
    return marks.lying(
        [None if pd.isna(x) else float(x) for x in rows[column]],
        range(len(rows)),
        xaxis=f"x{i + 1 if i else ''}",
        marker={"color": [kinds[kind] for kind in rows["kind"]]},
        hoverinfo="skip",
    )


def _ends(rows: pd.DataFrame, column: str) -> tuple[float, float]:
    """The least (0, or below where a key works against the rest) and the most.

    Bars of what is set apart may reach beyond.
    """
    values = rows.loc[rows["kind"] != "apart", column].dropna()
    return min(0.0, float(values.min())), max(float(values.max()), 1e-9)


def _range(rows: pd.DataFrame, column: str) -> list[float]:
    """From the least to the most, with room for a number beyond."""
    least, most = _ends(rows, column)
    room = 0.28 * (most - least)
    return [least - (room if least < 0 else 0), most + room]


def _x_axis(
    rows: pd.DataFrame, column: str, domain: Sequence[float], title: str, i: int
) -> dict[str, Any]:
    return {
        "domain": list(domain),
        "range": _range(rows, column),
        "title": title,
        "side": "top",
        "zeroline": True,
        "nticks": 4,
        "tickformat": "" if column == "norm" else ".0%",
        "automargin": False,
    }


def _values(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """The number at the end of each bar, where there is room for as many."""
    if len(rows) > 36:
        return []
    most = {column: _ends(rows, column)[1] for column in COLUMNS}
    return [
        {
            "x": min(max(0.0, float(value)), most[column]),
            "y": row,
            "xref": f"x{i + 1 if i else ''}",
            "yref": "y",
            "text": _number(column, float(value)),
            "xanchor": "left",
            "font": {"size": 10},
        }
        for i, column in enumerate(COLUMNS)
        for row, value in enumerate(rows[column])
        if not pd.isna(value)
    ]


def _number(column: str, value: float) -> str:
    """Lengths as they are, shares in percent; no minus before a nought."""
    value = value if abs(value) >= 0.0005 else 0.0
    return f"{value:.3f}" if column == "norm" else f"{value:.1%}"


def _targets(rows: pd.DataFrame) -> dict[str, Any]:
    """What can be clicked and hovered: three places in every row that is a key."""
    places = [(i, row) for i, row in enumerate(each_row(rows)) if row.kind in ("key", "apart")]
    least, most = _range(rows, "weight")
    at = [least + share * (most - least) for share in (0.1, 0.5, 0.9)]
    hovers = [
        f"{token_label(row.label)}<br>α {row.weight:.3f} · ‖v·W_O‖ {row.value_norm:.3g} · "
        f"‖α·v·W_O‖ {row.norm:.3g}"
        for _i, row in places
        for _x in at
    ]
    return marks.targets(
        [x for _place in places for x in at],
        [i for i, _row in places for _x in at],
        [[row.number] for _i, row in places for _x in at],
        22,
        **marks.told(hovers),
    )

"""FLOPs of a step by operation: forward, back, and what is computed again."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from blocks.cost.crossover import CrossoverFacts
from blocks.cost.passes import Operation
from blocks.cost.step import StepFacts
from pages.figures import marks, palette, units
from pages.figures.axes import half_of_last, log_sizes, room_for_legend
from pages.figures.marks import bar_ends
from pages.figures.theme import TITLE_AND_LEGEND, Picture, Translate, faint, figure, legend, plain

HEIGHT, BOTTOM = 400, 48
SECOND_LINE = 20  # of the legend
MOST_TICKS = 7
ROW = 30
LOOKS = {"forward": (1.0, ""), "backward": (0.5, ""), "recomputed": (0.3, "/")}


def crossing(facts: CrossoverFacts, *, _: Translate) -> Picture:
    """FLOPs of one layer against n: with weights, between tokens; where they cross, the reader."""
    powers = [n for n in facts.growth["n"].tolist() if n & (n - 1) == 0]
    ticks = powers[:: max(1, len(powers) // MOST_TICKS)]
    return figure(
        [*_growing(facts, _), *_crossing_marks(facts, _)],
        title=_("Forward FLOPs of one layer against sequence length"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND + SECOND_LINE, BOTTOM),
        right=half_of_last(ticks),
        **legend(),
        xaxis=log_sizes(_("n · tokens (logarithmic)"), ticks),
        yaxis={"title": _("FLOPs (logarithmic)"), "type": "log", "tickformat": "~s", "dtick": 2},
    )


def _growing(facts: CrossoverFacts, _: Translate) -> Iterator[dict[str, Any]]:
    linear, square = _("products with weights, ~ n"), _("products between tokens, ~ n²")
    yield _line(facts.growth, "weights", linear, palette.FEED_FORWARD, "solid", _)
    yield _line(facts.growth, "pairs", square, palette.ATTENTION, "dash", _)


def _crossing_marks(facts: CrossoverFacts, _: Translate) -> Iterator[dict[str, Any]]:
    """Where both are equal, and the reader's own length."""
    table, unit = facts.growth, _("FLOPs")
    own = table[table["n"] == facts.n].iloc[0]
    slope = table["weights"].iloc[0] / table["n"].iloc[0]
    name = _("equal at n = {n:,.0f}").format(n=facts.at)
    yield {
        **_mark([facts.at], [slope * facts.at], palette.RESIDUAL, "diamond", unit),
        "mode": "markers+text",
        "name": name,
        "showlegend": False,
        "text": [f"  {name}  "],
        "textposition": f"top {_free_side(facts)}",
    }
    yield {
        **_mark([facts.n] * 2, [own["weights"], own["pairs"]], palette.PINNED, "circle-open", unit),
        "mode": "markers+lines",
        "name": _("your n = {n:,}").format(n=facts.n),
        "line": {"color": palette.PINNED, "width": 1.5, "dash": "dot"},
    }


def _free_side(facts: CrossoverFacts) -> str:
    least, most = facts.growth["n"].min(), facts.growth["n"].max()
    return "left" if 2 * math.log(facts.at) > math.log(least) + math.log(most) else "right"


def _line(
    table: pd.DataFrame, column: str, name: str, color: str, dash: str, _: Translate
) -> dict[str, Any]:
    unit = _("FLOPs")
    return marks.line(
        table["n"].tolist(),
        table[column].tolist(),
        name=name,
        line={"color": color, "width": 3, "dash": dash},
        hovertemplate=f"n = %{{x:,}}: %{{y:,.0f}} {unit}<extra>{name}</extra>",
    )


def _mark(x: list[float], y: list[float], color: str, symbol: str, unit: str) -> dict[str, Any]:
    edge = {"width": 2, "color": color}
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "marker": {"symbol": symbol, "size": 12, "color": color, "line": edge},
        "hovertemplate": f"n = %{{x:,.0f}}: %{{y:,.0f}} {unit}<extra></extra>",
    }


def operation_bars(
    facts: StepFacts, names: Mapping[str, str], shares: Sequence[str], *, title: str, _: Translate
) -> Picture:
    """One bar per operation, stacked by direction, with its FLOPs and share at the end."""
    ways = {"forward": _("forward"), "backward": _("backward"), "recomputed": _("recomputed")}
    found = facts.operations
    shown = {
        way: name
        for way, name in ways.items()
        if way == "forward" or any(getattr(each, way) for each in found)
    }
    labels = [names[each.name] for each in found]
    keys = [_key(way, name) for way, name in shown.items()] if len(shown) > 1 else []
    said = [
        f" {units.flops(each.flops)} · {share}" for each, share in zip(found, shares, strict=True)
    ]
    ends = bar_ends([float(each.flops) for each in found], labels, said)
    return figure(
        [*(_bar(found, labels, way, name, _) for way, name in shown.items()), ends, *keys],
        title=title,
        **room_for_legend(ROW * len(found), len(keys)),
        barmode="stack",
        bargap=0.3,
        xaxis={
            "title": _("FLOPs"),
            "range": [0, 1.5 * max(float(each.flops) for each in found)],
            "tickformat": "~s",
            "nticks": 6,
        },
        yaxis={"range": [len(found) - 0.4, -0.6]},
    )


def _bar(
    found: tuple[Operation, ...], labels: list[str], way: str, name: str, _: Translate
) -> dict[str, Any]:
    unit = _("FLOPs")
    text = f"<b>%{{y}}</b> · {name}<br>%{{x:,.0f}} {unit}<br>%{{customdata[0]}}"
    return {
        **_key(way, name),
        "showlegend": False,
        "y": [plain(label) for label in labels],
        "x": [float(getattr(each, way)) for each in found],
        "marker": _marker([palette.PART_COLORS[each.group] for each in found], way),
        "customdata": [[each.formula] for each in found],
        "hovertemplate": f"{text}<extra></extra>",
    }


def _key(way: str, name: str) -> dict[str, Any]:
    return marks.lying(
        [None], [None], name=name, showlegend=True, marker=_marker([palette.RESIDUAL], way)
    )


def _marker(colors: list[str], way: str) -> dict[str, Any]:
    alpha, shape = LOOKS[way]
    pattern = {"shape": shape, "solidity": 0.4}
    return {"color": [faint(color, alpha) for color in colors], "pattern": pattern}

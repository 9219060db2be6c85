"""Units of a feed-forward layer: how many are dead, how often each is active, what excites it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from blocks.inspection.units import LayersFacts, LayerUnits, UnitFacts, UnitTokens
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.axes import plot_room, room_under_legend, row_names
from pages.figures.counting import from_one
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture, Translate, faint, figure, small, token_label
from pages.figures.token_axis import label_room, slanted
from pages.figures.weights import behind, outline

ONE_UNIT = N_("What activates a unit?")  # the panel that shows them one by one
BARS, BOTTOM, ROW = 220, 44, 22
NAMES, ROOMY = 24, 64
# Below zero blue, above it orange; nothing at zero, on light and dark alike.
DIVERGING = (
    (0.0, "rgba(0, 114, 178, 1)"),
    (0.5, "rgba(128, 138, 150, 0.06)"),
    (1.0, "rgba(230, 159, 0, 1)"),
)


def per_layer(facts: LayersFacts, *, _: Translate) -> Picture:
    """Share of units that are dead, or saturated, and of all pairs with a token that are active.

    A click returns the layer.
    """
    layers = facts.layers
    kinds = (
        ("dead", _("dead"), palette.PINNED),
        ("saturated", _("always saturated"), palette.BEFORE),
        ("active", _("active on average"), palette.FEED_FORWARD),
    )
    return figure(
        [_share_bars(layers, *kind, _) for kind in kinds],
        title=_("Unit states in each layer, on this input"),
        **room_under_legend(BARS, BOTTOM),
        barmode="group",
        xaxis={"title": _("layer"), "tickvals": _numbers(layers)},
        yaxis={
            "title": _("share"),
            "tickformat": ".0%",
            "range": [0, 1.12],
            "tickvals": [0, 0.5, 1],
        },
        shapes=[behind(facts.selected + 1)] if len(layers) > 1 else [],
    )


def _numbers(layers: Sequence[LayerUnits]) -> list[int]:
    return [from_one(each.layer) for each in layers]


def _share_bars(
    layers: Sequence[LayerUnits], column: str, name: str, color: str, _: Translate
) -> dict[str, Any]:
    """One of the shares at each layer."""
    shares = [getattr(each, column) for each in layers]
    said = _("layer {layer}: {share}").format(layer="%{x}", share="%{y:.2%}")
    return marks.bars(
        _numbers(layers),
        shares,
        name=name,
        marker={"color": color},
        customdata=[[each.layer] for each in layers],
        text=[_short(share) for share in shares] if len(layers) <= 8 else None,
        textposition="outside",
        cliponaxis=False,
        **marks.steady(),
        hovertemplate=f"{said}<extra>{name}</extra>",
    )


def _short(share: float) -> str:
    return f"{share:.0%}" if share in (0, 1) or share >= 0.1 else f"{share:.1%}"


def by_activity(facts: UnitFacts, *, _: Translate) -> Picture:
    """Every unit, sorted by the share of tokens at which it is active; the silent end is named.

    A click on a mark returns its unit.
    """
    table = facts.units.sort_values("active_share", ascending=False, kind="stable")
    table = table.reset_index(drop=True)
    line = marks.line(
        range(1, len(table) + 1),
        small(table["active_share"].to_numpy()),
        customdata=small(np.array([[unit, from_one(unit)] for unit in table["unit"]])),
        line={"color": palette.FEED_FORWARD, "width": 2, "shape": "hvh"},
        fill="tozeroy",
        fillcolor=faint(palette.FEED_FORWARD, 0.25),
        name=_("all units"),
        hovertemplate=_("unit {unit}: active at {share} of the tokens").format(
            unit="%{customdata[1]}", share="%{y:.1%}"
        )
        + "<extra></extra>",
    )
    return figure(
        [line, _marks(table, facts, _)],
        title=_("Units, sorted by how often they are active"),
        **room_under_legend(BARS, BOTTOM),
        xaxis={"title": _("units, most active first"), "range": [0, len(table) + 1]},
        yaxis={"title": _("share of tokens"), "tickformat": ".0%", "range": [-0.03, 1.06]},
        annotations=_silent_end(facts.n_silent, facts.n_dead, _),
        shapes=_silent_ground(facts.n_silent, len(table)),
    )


def _marks(table: pd.DataFrame, facts: UnitFacts, _: Translate) -> dict[str, Any]:
    selected, place = facts.selected, {unit: i for i, unit in enumerate(table["unit"])}
    shown = list(dict.fromkeys((*facts.shown, selected)))
    rows = [place[unit] for unit in shown]
    return marks.dots(
        [row + 1 for row in rows],
        [float(table["active_share"][row]) for row in rows],
        customdata=[[int(unit), from_one(unit)] for unit in shown],
        name=_("units in the panel “{panel}”").format(panel=_(ONE_UNIT)),
        marker={
            "size": [13 if unit == selected else 9 for unit in shown],
            "color": palette.PINNED,
            "symbol": ["diamond" if unit == selected else "circle" for unit in shown],
            "line": {"width": 1, "color": "#ffffff"},
        },
        **marks.steady(),
        hovertemplate=_("unit {unit}: active at {share} of the tokens").format(
            unit="%{customdata[1]}", share="%{y:.1%}"
        )
        + "<extra></extra>",
    )


def _silent_ground(n_silent: int, n: int) -> list[dict[str, Any]]:
    if not n_silent:
        return []
    return [marks.ground(n - n_silent + 0.5, n + 1, faint(palette.PINNED, 0.14))]


def _silent_end(n_silent: int, n_dead: int, _: Translate) -> list[dict[str, Any]]:
    if not n_silent:
        return []
    text = _("never active: {n:,} ({dead:,} dead)").format(n=n_silent, dead=n_dead)
    place = {"x": 1, "xref": "paper", "xanchor": "right", "y": 0.98, "yref": "paper"}
    return [{**place, "yanchor": "top", "text": text}]


def unit_map(facts: UnitTokens, *, _: Translate) -> Picture:
    """`hidden` of some units at every token. A click returns unit and token."""
    units, numbers, tokens, hidden = facts.units, facts.numbers, facts.labels, facts.hidden
    room, most = label_room(tokens), float(abs(hidden).max()) if hidden.size else 1.0
    cells = marks.heat(
        small(hidden),
        zmid=0,
        zmin=-most,
        zmax=most,
        colorscale=[list(stop) for stop in DIVERGING],
        xgap=1 if len(tokens) <= ROOMY else 0,
        ygap=1,
        colorbar={"title": {"text": _("activations"), "side": "right"}, "thickness": 10},
    )
    height = [len(units) - 0.5, -0.5]
    outlines = [outline(-0.5, units.index(facts.unit) - 0.5, len(tokens), 1)]
    if facts.pinned in numbers:
        outlines.append(outline(numbers.index(facts.pinned) - 0.5, -0.5, 1, len(units)))
    return figure(
        [cells, _cells_to_click(facts, _)],
        title=_("Activation of these units at each token"),
        **plot_room(20 + ROW * len(units), room),
        xaxis=slanted(tokens, NAMES, range=[-0.5, len(tokens) - 0.5]),
        yaxis={
            "tickvals": list(range(len(units))),
            "ticktext": [str(from_one(unit)) for unit in units],
            "title": _("unit"),
            "range": height,
            "showgrid": False,
        },
        shapes=outlines,
    )


def _cells_to_click(facts: UnitTokens, _: Translate) -> dict[str, Any]:
    units, numbers, tokens = facts.units, facts.numbers, facts.labels
    text = _("unit {unit} at {number} · {token}: {value:.3f}")
    cells = [(row, column) for row in range(len(units)) for column in range(len(tokens))]
    return marks.targets(
        [column for _row, column in cells],
        [row for row, _column in cells],
        [[int(units[row]), int(numbers[column])] for row, column in cells],
        18,
        **marks.told(
            text.format(
                unit=from_one(units[row]),
                number=from_one(numbers[column]),
                token=token_label(tokens[column]),
                value=facts.hidden[row, column],
            )
            for row, column in cells
        ),
    )


def exciting(facts: UnitTokens, *, _: Translate) -> Picture:
    """The tokens at which one unit's |`hidden`| is largest; a click returns the token's number."""
    tokens = facts.strongest
    n = len(tokens)
    colors = [
        palette.PINNED if number == facts.pinned else palette.FEED_FORWARD
        for number in tokens["number"]
    ]
    bars = marks.lying(
        tokens["hidden"].tolist(),
        range(n),
        marker={"color": colors},
        customdata=[[int(number)] for number in tokens["number"]],
        **marks.written(f"{value:z.2f}" for value in tokens["hidden"]),
        **marks.steady(),
        hovertemplate="%{x:.3f}<extra></extra>",
    )
    names = [f"{from_one(row.number)} · {token_label(row.label)}" for row in each_row(tokens)]
    return figure(
        [bars],
        title=_("Tokens that activate unit {unit} most").format(unit=from_one(facts.unit)),
        **plot_room(12 + ROW * n, BOTTOM),
        xaxis={
            "title": _("activations"),
            "range": _with_room(tokens["hidden"]),
            "zeroline": True,
            "zerolinecolor": faint(palette.RESIDUAL, 0.6),
        },
        yaxis=row_names(names),
    )


def _with_room(values: pd.Series) -> list[float]:
    """An axis from below the least to above the largest, with room for numbers at the bars."""
    least, most = min(0.0, values.min()), max(0.0, values.max())
    room = 0.16 * (most - least or 1.0)
    return [least - (room if least < 0 else 0), most + room]

"""Matrices side by side in one figure: drawn in their colours, named, hovered and clicked."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pages.figures import marks, palette
from pages.figures.described import SAID
from pages.figures.signed import largest, signed_bar, signed_map
from pages.figures.theme import Translate, small, token_label
from pages.figures.weights import codes, weight_bar, weight_map

NUMBERS_UP_TO, CROSSES_UP_TO, WHOLE_UP_TO = 14, 32, 6


# What a click on a cell returns: numbers of the rows, of the columns, 1 if columns are keys.
Returns = tuple[Sequence[int], Sequence[int], int]


class Matrix(NamedTuple):
    """A matrix and what it is called; `values`: (row, column), NaN where masked.

    `symbol` is the short name, `is_weights` says that the values are 0 to 1 and rows sum to 1,
    `rows` and `columns` are what each row and column is called. `end`: the size at which its
    colors end; None: the largest.
    """

    name: str
    symbol: str
    title: str
    values: np.ndarray
    rows: Sequence[str]
    columns: Sequence[str]
    is_weights: bool = False
    end: float | None = None

    @property
    def transposed(self) -> "Matrix":
        symbol, values = f"{self.symbol}ᵀ", self.values.T
        return self._replace(symbol=symbol, values=values, rows=self.columns, columns=self.rows)


class Place(NamedTuple):
    """Where a matrix stands in the figure, in shares of it, and the number of its axes."""

    axes: int
    x: tuple[float, float]
    y: tuple[float, float]

    @property
    def suffix(self) -> str:
        """What Plotly puts behind `xaxis`."""
        return str(self.axes) if self.axes > 1 else ""


def heat(
    matrix: Matrix,
    place: Place,
    _: Translate,
    *,
    bar: Mapping[str, Any] | None = None,
    most: float | None = None,
) -> dict[str, Any]:
    """Its colours; `bar`: where their scale stands, if any; `most`: the strongest of them."""
    most = most or matrix.end
    on: dict[str, Any] = {
        "xaxis": f"x{place.suffix}",
        "yaxis": f"y{place.suffix}",
        "name": matrix.title,
    }
    on["showscale"] = bar is not None
    if matrix.is_weights:
        z = np.where(np.isnan(matrix.values), 1, codes(np.nan_to_num(matrix.values)))
        scale = weight_bar(_("weight"), at=(0, 0.5, 1))
        return weight_map(z.astype(np.uint8), _, **on, colorbar=_placed(scale, bar or {}))
    if bar is None:
        return signed_map(matrix.values, most, **on)
    scale = signed_bar(matrix.values, _("value"), most, at=(-1, 0, 1))
    return signed_map(matrix.values, most, **on, colorbar=_placed(scale, bar))


def _placed(scale: dict[str, Any], bar: Mapping[str, Any]) -> dict[str, Any]:
    return {**scale, **bar, "title": {**scale["title"], **bar.get("title", {})}}


def bar_below(place: Place) -> dict[str, Any]:
    """Where the scale of one matrix of several stands: below it, at the foot of the picture."""
    at = {"x": sum(place.x) / 2, "len": 0.9 * (place.x[1] - place.x[0])}
    return {**at, "y": 0, "yanchor": "top", "orientation": "h", "title": {"side": "bottom"}}


def bar_beside(place: Place) -> dict[str, Any]:
    """The same at the right edge of the picture, as high as a matrix that stands there."""
    return {"y": sum(place.y) / 2, "len": place.y[1] - place.y[0]}


def common_scale(matrices: Sequence[Matrix]) -> float | None:
    """The largest size of all, so that colours can be compared; None where all are weights.

    None too where each has colors that end at a size of its own.
    """
    if any(each.end is not None for each in matrices):
        return None
    return max((largest(each.values) for each in matrices if not each.is_weights), default=None)


def outliers(matrix: Matrix, place: Place) -> list[dict[str, Any]]:
    """A dot on each cell whose size is beyond the end of the colors."""
    if matrix.end is None:
        return []
    row, column = np.nonzero(np.abs(np.nan_to_num(matrix.values)) > matrix.end)
    return [
        marks.dots(
            column.astype(np.uint16),
            row.astype(np.uint16),
            xaxis=f"x{place.suffix}",
            yaxis=f"y{place.suffix}",
            marker={"size": 3, "color": palette.PINNED},
            hoverinfo="skip",
            meta={SAID: ()},
        )
    ]


def numbered(values: np.ndarray, up_to: int = NUMBERS_UP_TO) -> dict[str, Any]:
    """What writes the values in the cells of a heatmap, where there is room."""
    if max(values.shape) > up_to:
        return {}
    is_whole = values.shape[1] <= WHOLE_UP_TO
    text = [["" if np.isnan(x) else short(x, is_whole) for x in row] for row in values]
    return {"text": text, "texttemplate": "%{text}"}


def hovered(matrix: Matrix, _: Translate) -> dict[str, Any]:
    """What its heatmap says under the cursor, where cells are not clicked."""
    masked = _("masked")
    text = [
        [
            f"{row} → {column}<br>{matrix.symbol} {masked if np.isnan(x) else f'{x:.4g}'}"
            for x, column in zip(values, map(token_label, matrix.columns), strict=True)
        ]
        for values, row in zip(matrix.values, map(token_label, matrix.rows), strict=True)
    ]
    return {"hoverinfo": "text", "hovertext": text}


def short(x: float, is_whole: bool = False) -> str:
    """A number of about three figures; a 0 before the point only where it `is_whole`."""
    text = f"{x:.2f}" if abs(x) < 10 else f"{x:.1f}" if abs(x) < 100 else f"{x:.0f}"
    return text if is_whole or abs(x) >= 1 else text.replace("0.", ".", 1)


def cells(matrix: Matrix, place: Place, returns: Returns, _: Translate) -> list[dict[str, Any]]:
    """Invisible markers that are hovered and clicked; masked cells have a cross.

    A click returns [number of the row, number of the column, 1 if columns are keys]:
    `returns` are these numbers, of rows, of columns, and that flag.
    """
    seen, masked = ~np.isnan(matrix.values), np.isnan(matrix.values)
    value = "%{customdata[3]:.3f}" if matrix.is_weights else "%{customdata[3]:.4g}"
    is_crossed = max(matrix.values.shape) <= CROSSES_UP_TO
    kinds = ((seen, value, 0.0), (masked, _("masked"), 0.5 if is_crossed else 0.0))
    return [
        _markers(matrix, place, returns, where, said, opacity)
        for where, said, opacity in kinds
        if where.any()
    ]


def _markers(
    matrix: Matrix, place: Place, returns: Returns, where: np.ndarray, said: str, opacity: float
) -> dict[str, Any]:
    row, column = np.nonzero(where)
    rows, columns, is_key = returns
    numbers = (
        np.asarray(rows)[row],
        np.asarray(columns)[column],
        np.full(len(row), is_key),
        np.nan_to_num(matrix.values[row, column]),
    )
    look = {"symbol": "x-thin" if opacity else "square", "size": 5 if opacity else 12}
    return marks.dots(
        column.astype(np.uint16),
        row.astype(np.uint16),
        type=marks.points_of(matrix.values.size),
        xaxis=f"x{place.suffix}",
        yaxis=f"y{place.suffix}",
        customdata=small(np.stack(numbers, axis=1)),
        marker={**look, "opacity": opacity, "line": {"width": 1, "color": palette.RESIDUAL}},
        **marks.steady(opacity),
        hovertext=_named(matrix, row, column),
        hovertemplate=f"%{{hovertext}}<br>{matrix.symbol} {said}<extra></extra>",
    )


def _named(matrix: Matrix, row: np.ndarray, column: np.ndarray) -> list[str]:
    rows = [token_label(name) for name in matrix.rows]
    columns = [token_label(name) for name in matrix.columns]
    return [f"{rows[i]} → {columns[j]}" for i, j in zip(row, column, strict=True)]


def axes(matrix: Matrix, place: Place, **more: dict[str, Any]) -> dict[str, Any]:
    """Its two axes, row 0 on top, without labels; `x` and `y` say what is different."""
    n_rows, n_columns = matrix.values.shape
    bare = {"showticklabels": False, "ticks": "", "showgrid": False}
    bare |= {"zeroline": False, "automargin": False}
    x = {"domain": list(place.x), "anchor": f"y{place.suffix}", "range": [-0.5, n_columns - 0.5]}
    y = {"domain": list(place.y), "anchor": f"x{place.suffix}", "range": [n_rows - 0.5, -0.5]}
    return {
        f"xaxis{place.suffix}": {**bare, **x, **more.get("x", {})},
        f"yaxis{place.suffix}": {**bare, **y, **more.get("y", {})},
    }


def outlined(
    place: Place, x: float, y: float, width: float, height: float, *, thick: bool = False
) -> dict[str, Any]:
    """A row, column or cell that belongs to what is chosen."""
    return {
        "type": "rect",
        "xref": f"x{place.suffix}",
        "yref": f"y{place.suffix}",
        "x0": x - 0.5,
        "x1": x + width - 0.5,
        "y0": y - 0.5,
        "y1": y + height - 0.5,
        "line": {"color": palette.PINNED, "width": 3.5 if thick else 1.5},
    }


def titled(text: str, place: Place, *, size: int = 12, shift: int = 0) -> dict[str, Any]:
    """A title over a matrix."""
    return {
        "text": text,
        "x": sum(place.x) / 2,
        "y": place.y[1],
        "xref": "paper",
        "yref": "paper",
        "xanchor": "center",
        "yanchor": "bottom",
        "yshift": shift,
        "font": {"size": size},
    }

"""A chart in its own words: one table, what stands for its columns, axes and looks.

Plain values that know no Plotly: they stand in the file of their panel. `drawn_chart` draws them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any

import pandas as pd

from pages.figures import palette

Rows = pd.DataFrame | Mapping[str, Any] | Sequence[Any]
ROW = "row"  # the column of the number of each row, from 0


class Kind(StrEnum):
    """What stands for each row."""

    LINE = "line"
    DOTS = "dots"
    BARS = "bars"
    BAND = "band"  # the ground between two columns


class Legend(StrEnum):
    """Where the names of the series stand."""

    ABOVE = "above"
    FOOT = "foot"
    NONE = "none"


@dataclass(frozen=True)
class Look:
    """The role of a series: what it is called and how it is told apart, with and without colour."""

    name: str = ""
    color: str | Sequence[str] = palette.FEED_FORWARD
    symbol: str | Sequence[str] = ""
    _: KW_ONLY
    size: float | Sequence[float] = 7
    width: float = 2.5
    dash: str = ""
    edge: str = ""  # the color around its marks
    fill: str = ""  # the color under its line
    shape: str = ""  # of its line, as Plotly calls steps


@dataclass(frozen=True, eq=False)
class Series:
    """Marks of one kind, one for each row, where the column `value` says.

    `rows`, `hover` and `click` are those of the chart, unless it has its own. `text` is filled from
    the row and stands at the mark. `error`: the column of what the value may be off by. `plot`:
    which of several plots. `column`: so high reaches an unseen bar that is
    hovered and clicked in place of the mark.
    """

    kind: Kind
    value: str
    look: Look = Look()
    _: KW_ONLY
    rows: Rows | None = None
    hover: str | None = None
    click: Sequence[str] | None = None
    text: str = ""
    text_at: str | Sequence[str] = "top center"
    error: str = ""
    to: str = ""  # the column where a band ends
    plot: int = 0
    column: float = 0
    in_legend: bool = True


def line(value: str, look: Look = Look(), **more: Any) -> Series:
    """A curve through the rows, with a mark at each where its look has a symbol."""
    return Series(Kind.LINE, value, look, **more)


def dots(value: str, look: Look = Look(), **more: Any) -> Series:
    return Series(Kind.DOTS, value, look, **more)


def bars(value: str, look: Look = Look(), **more: Any) -> Series:
    """A bar for each row: from left to right where the rows stand along the y axis."""
    return Series(Kind.BARS, value, look, **more)


def band(least: str, most: str, color: str, **more: Any) -> Series:
    return Series(Kind.BAND, least, Look(color=color), to=most, in_legend=False, **more)


@dataclass(frozen=True, eq=False)
class Axis:
    """What is measured along it, how its numbers are written, and from where to where it goes.

    `of`: the column along it, of the axis along which the rows stand. `names` or `tokens` stand in
    its place, one for each row. `ends` that are not given are found; a logarithmic axis is given
    its least and its most, or the ticks that it has alone. `said` writes the number at a tick.
    `share`: of the height or width that its plot has, where there are several.
    """

    title: str = ""
    ends: tuple[float, float] | None = None
    _: KW_ONLY
    of: str = ""
    names: Sequence[str] = ()
    tokens: Sequence[str] = ()
    is_log: bool = False
    is_share: bool = False
    n_decimals: int = 0  # of a share in percent
    from_0: bool = False
    has_zero: bool = False  # a line stands at 0
    ticks: Sequence[float] = ()
    n_ticks: int = 0
    digits: str = ""  # the format of its numbers
    said: Callable[[float], str] | None = None
    unit: str = ""  # of numbers that are written as 1k, 1M
    room: float = 0.06  # beyond both ends of a logarithmic axis, in powers of ten
    share: float = 1
    is_heading: bool = False  # its title stands above its plot
    is_above: bool = False  # what is said at its ticks stands above the plot, upright
    is_as_wide: bool = False  # its unit is as long as that of the x axis: angles are true

    @property
    def column(self) -> str:
        """The column along it; empty where values stand along it."""
        return self.of or (ROW if self.names or self.tokens else "")


@dataclass(frozen=True)
class Level:
    """What the series are compared with: a dashed line across at `y`, or upright at `x`.

    `is_named_left`: the name of an upright one ends at it instead of beginning there.
    """

    y: float | None = None
    x: float | None = None
    name: str = ""
    color: str = palette.BEFORE
    dash: str = "dash"
    plot: int = 0
    is_named_right: bool = False
    is_named_left: bool = False


@dataclass(frozen=True)
class Ground:
    """A stretch of the x axis that is marked."""

    x0: float
    x1: float
    color: str


@dataclass(frozen=True)
class Words:
    """Words in the picture: above it at `x`, or in the upper right corner."""

    text: str
    x: float | None = None


@dataclass(frozen=True, eq=False)
class Chart:
    """What a picture shows of a table.

    `x` or `y` may be several axes, of plots beside each other or one below the other. `hover` is
    filled from the row; a click returns the columns of `click`.
    """

    title: str
    rows: Rows
    x: Axis | tuple[Axis, ...]
    y: Axis | tuple[Axis, ...]
    series: Sequence[Series]
    _: KW_ONLY
    hover: str = ""
    click: Sequence[str] = ()
    tall: int = 230
    legend: Legend | None = None
    stack: str = "group"
    gap: float | None = None
    levels: Sequence[Level] = ()
    grounds: Sequence[Ground] = ()
    words: Sequence[Words] = ()
    outlined: Sequence[int] = ()  # rows from left to right

    @property
    def x_axes(self) -> tuple[Axis, ...]:
        return self.x if isinstance(self.x, tuple) else (self.x,)

    @property
    def y_axes(self) -> tuple[Axis, ...]:
        return self.y if isinstance(self.y, tuple) else (self.y,)

    @property
    def lies(self) -> bool:
        return not self.x_axes[0].column

    @property
    def place(self) -> Axis:
        return (self.y_axes if self.lies else self.x_axes)[0]

    def measure(self, series: Series) -> Axis:
        axes = self.x_axes if self.lies else self.y_axes
        return axes[series.plot if len(axes) > 1 else 0]

    def table_of(self, series: Series) -> pd.DataFrame:
        """The rows of a series as a frame, each with its number."""
        rows = self.rows if series.rows is None else series.rows
        table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
        return table if ROW in table else table.assign(**{ROW: range(len(table))})

    def table(self) -> pd.DataFrame:
        """The numbers behind the picture: what stands along its axis, and each value by name."""
        return pd.concat([self._numbers(each) for each in self.series], ignore_index=True)

    def _numbers(self, series: Series) -> pd.DataFrame:
        table, place = self.table_of(series), self.place
        values = [series.value, *([series.to] if series.to else [])]
        names = place.names or place.tokens
        along = table[ROW].map(dict(enumerate(names))) if names else table[place.column]
        titles = [self.measure(series).title or series.value] if len(values) == 1 else values
        found = pd.concat([along, table[values]], axis=1)
        where = place.title or ("token" if place.tokens else place.column)
        found = found.set_axis([where, *titles], axis=1)
        return found.assign(series=series.look.name) if series.look.name else found


def chosen(x: float) -> Ground:
    """The ground behind the bar that is chosen: a frame would look like a bar."""
    return Ground(x - 0.5, x + 0.5, "rgba(213, 94, 0, 0.22)")

"""What a declared panel is made of: sentences, charts and tables, each of which is drawn and saved.

A part is a plain value. The frame draws it, sets A beside B, and writes it into files; the panel
says only what there is. What is made of the facts may be None: then this part has nothing to show.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from itertools import compress
from typing import Any, Literal, NamedTuple

import pandas as pd
import streamlit as st

from pages.figures.chart import Chart
from pages.show import beside, chart, said, steps
from pages.show.explain import note
from pages.show.export import from_one
from pages.show.fold import details
from pages.show.page_file import Part
from pages.show.tables import show_both, show_table
from pages.stage import present
from pages.stage.stated import n_values, stated
from pages.words.language import _

ROW, HEAD = 35, 38  # pixels of a row of a table, and of its names
Facts = Callable[..., Any]
Makes = Callable[..., Any]
Thunks = Sequence[Callable[[], Any]]


class Given(NamedTuple):
    """What a panel was read with, what makes its facts, and the place beside its explanations.

    `n_done`: of long work, how many steps are done.
    """

    values: tuple[Hashable, ...]
    facts: Facts | None
    place: Any = None
    n_done: tuple[int, ...] = ()

    def of(self, facts: Facts | None, makes: Makes) -> tuple[Facts | None, tuple[Hashable, ...]]:
        """What makes the facts of a part, its own or those of the panel, and of which values.

        None where a part is made of the values themselves.
        """
        found = facts or self.facts
        read = makes if found in (None, the_values) else found
        values = (*wanted(read, self.values, len(self.n_done)), *self.n_done)
        return None if read is makes else found, values

    def made(self, facts: Facts | None, makes: Makes) -> Any:
        found, values = self.of(facts, makes)
        return makes(found(*values)) if found else makes(*values)


def the_values() -> None:
    """Stand for the facts of a part that is made of the values that its panel is read with."""


def wanted(
    function: Callable[..., Any], values: tuple[Hashable, ...], n_others: int = 0
) -> tuple[Hashable, ...]:
    """The first of the values, as many as the function has parameters beside others."""
    return values[: n_values(function) - n_others]


def called(function: Callable[..., Any], values: tuple[Hashable, ...]) -> Any:
    """What a function makes of the first of the values, and of what is set where it asks for that.

    Not for what is kept by its values, nor for pictures and sentences.
    """
    return function(*wanted(function, values), **stated(function))


class Item:
    """A part of a panel: drawn on the page, and written into files. Most give nothing to some."""

    def draw(self, given: Given) -> None:
        """Show it on the page, unless it is for files alone."""

    def parts(self, given: Given) -> Iterator[Part]:
        return iter(())

    def charts(self, given: Given) -> Iterator[Any]:
        return iter(())

    def tables(self, given: Given) -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
        return iter(())


@dataclass(frozen=True)
class Say(Item):
    """The sentence that says what to look for; of A as well, where it stands beside B."""

    text: Callable[..., str]
    facts: Facts | None = None
    is_here: bool = False  # among the parts, not beside the explanations

    def draw(self, given: Given) -> None:
        """In its place, which may be that beside the explanations."""
        facts, values = given.of(self.facts, self.text)
        with nullcontext() if self.is_here else given.place:
            said.say(self.text, *values, facts=facts)

    def parts(self, given: Given) -> Iterator[Part]:
        facts, values = given.of(self.facts, self.text)
        yield Part("note", said.of_both(self.text, values, facts))


@dataclass(frozen=True)
class Note(Item):
    """A line below or beside a picture: a message, or what is made of the facts."""

    text: str | Callable[..., str | None]
    facts: Facts | None = None

    def _made(self, given: Given) -> str | None:
        if isinstance(self.text, str):
            return _(self.text)
        return given.made(self.facts, self.text)

    def draw(self, given: Given) -> None:
        if text := self._made(given):
            note(text)

    def parts(self, given: Given) -> Iterator[Part]:
        if text := self._made(given):
            yield Part("caption", text)


@dataclass(frozen=True)
class Text(Note):
    """A sentence that belongs to what stands around it."""

    def draw(self, given: Given) -> None:
        if text := self._made(given):
            st.markdown(text)

    def parts(self, given: Given) -> Iterator[Part]:
        if text := self._made(given):
            yield Part("markdown", text)


@dataclass(frozen=True)
class Matrix(Item):
    """A picture that is drawn by hand, as of matrices. A click hands what it returns to `click`.

    `room`: pixels that it has where it is presented and does not stand alone.
    """

    picture: Makes
    key: str
    _: KW_ONLY
    click: Callable[[list[Any]], None] | None = None
    facts: Facts | None = None
    room: int = 0
    alt: Callable[..., str] | None = None  # of a picture that does not say itself what it shows

    def draw(self, given: Given) -> None:
        """On the scales of A, where that stands beside."""
        facts, values = given.of(self.facts, self.picture)
        look: dict[str, Any] = {"key": self.key, "room": self.room, "alt": self.alt}
        chart.show(self.picture, *values, facts=facts, on_click=self.click, **look)

    def parts(self, given: Given) -> Iterator[Part]:
        """Each of the pictures that stand on the page."""
        facts, values = given.of(self.facts, self.picture)
        found = chart.twins(self.picture, *values, facts=facts, alt=self.alt)
        if found.a:
            yield Part("caption", f"A · {beside.name_of_a()}")
            yield Part("chart", found.a)
            yield Part("caption", "B")
        if found.b:
            yield Part("chart", found.b)

    def charts(self, given: Given) -> Iterator[Any]:
        """The picture."""
        facts, values = given.of(self.facts, self.picture)
        figure = chart.drawn(self.picture, *values, facts=facts)
        if figure is not None:
            yield figure


@dataclass(frozen=True)
class Shown(Matrix):
    """A chart of the facts, in its own words."""

    def tables(self, given: Given) -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
        """The numbers behind it."""

        def numbers() -> pd.DataFrame:
            made = given.made(self.facts, self.picture)
            return made.table() if isinstance(made, Chart) else pd.DataFrame()

        yield self.key, numbers


@dataclass(frozen=True)
class Table(Item):
    """Exact numbers: `make` gives their names as well."""

    make: Callable[..., pd.DataFrame | None]
    key: str
    _: KW_ONLY
    counts: Sequence[int] = ()  # columns of large whole numbers, by their place
    n_names: int = 1
    height: int = 0  # pixels, at most: a longer one is scrolled
    is_whole: bool = False  # a small one, beside which that of A stands
    facts: Facts | None = None

    def _made(self, given: Given) -> pd.DataFrame | None:
        return given.made(self.facts, self.make)

    def draw(self, given: Given) -> None:
        """As high as its rows, or as it may be."""
        if self.is_whole:
            facts, values = given.of(self.facts, self.make)
            show_both(self.make, *values, facts=facts)  # type: ignore[arg-type]
            return
        table = self._made(given)
        if table is not None:
            counts = [table.columns[i] for i in self.counts]
            is_long = 0 < self.height < HEAD + ROW * len(table)
            height: int | Literal["content"] = self.height if is_long else "content"
            show_table(table, key=self.key, counts=counts, n_names=self.n_names, height=height)

    def parts(self, given: Given) -> Iterator[Part]:
        """All of its rows."""
        table = self._made(given)
        if table is not None:
            yield Part("table", table)

    def tables(self, given: Given) -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
        """The same as a file."""
        table = self._made(given)
        if table is not None:
            yield self.key, lambda: table


@dataclass(frozen=True)
class File(Item):
    """Numbers as they are, to be saved alone; `counted` columns count from 1 there."""

    make: Callable[..., pd.DataFrame]
    key: str
    _: KW_ONLY
    counted: Sequence[str] = ()
    facts: Facts | None = None

    def tables(self, given: Given) -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
        yield self.key, from_one(lambda: given.made(self.facts, self.make), *self.counted)


@dataclass(frozen=True)
class Html(Item):
    """Words with a look of their own, made from the facts; a file has the words."""

    make: Callable[..., str]
    key: str
    facts: Facts | None = None

    def _made(self, given: Given) -> str:
        return given.made(self.facts, self.make)

    def draw(self, given: Given) -> None:
        """As they are; in front of a class, who sees the picture, in the sidebar."""
        with present.aside(), st.container(key=self.key):
            st.html(self._made(given))

    def parts(self, given: Given) -> Iterator[Part]:
        yield Part("html", self._made(given))


@dataclass(frozen=True)
class Controls(Item):
    """What is set or leads on: drawn by hand, from what the panel was read with."""

    by: Callable[..., object]
    is_aside: bool = True

    def draw(self, given: Given) -> None:
        """By hand; in front of a class they wait in the sidebar, unless they are what is shown."""
        with present.aside() if self.is_aside else nullcontext():
            self.by(*given.of(the_values, self.by)[1], **stated(self.by))


class Several(Item):
    """A part that holds others."""

    def __init__(self, *items: Item) -> None:
        self.items = items

    def inside(self, given: Given) -> Iterator[tuple[Item, Given]]:
        yield from ((item, given) for item in self.items)

    def draw(self, given: Given) -> None:
        for item in self.items:
            item.draw(given)

    def parts(self, given: Given) -> Iterator[Part]:
        for item, of_item in self.inside(given):
            yield from item.parts(of_item)

    def charts(self, given: Given) -> Iterator[Any]:
        for item, of_item in self.inside(given):
            yield from item.charts(of_item)

    def tables(self, given: Given) -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
        for item, of_item in self.inside(given):
            yield from item.tables(of_item)


class Details(Several):
    """Exact numbers in one line that opens."""

    def __init__(self, label: str, *items: Item, icon: str = ":material/table:") -> None:
        super().__init__(*items)
        self.label, self.icon = label, icon

    def draw(self, given: Given) -> None:
        """In the sidebar before a class."""
        with details(_(self.label), icon=self.icon):
            super().draw(given)


class OffScreen(Several):
    """Parts that a class is not shown: what is beside them says it on one screen."""

    def draw(self, given: Given) -> None:
        if not present.is_on():
            super().draw(given)


class Aside(Several):
    """Parts among which a reader chooses: before a class they wait in the sidebar."""

    def draw(self, given: Given) -> None:
        with present.aside():
            super().draw(given)


class Beside(Several):
    """Columns of parts; one below the other where there is no room."""

    def __init__(self, *columns: Item | Sequence[Item], widths: Sequence[int] = ()) -> None:
        several = (each if isinstance(each, Sequence) else (each,) for each in columns)
        super().__init__(*(Several(*column) for column in several))
        self.widths = widths

    def draw(self, given: Given) -> None:
        """Each in its column; before a class none is kept for what it does not see."""
        is_seen = [not present.is_on() or is_for_class(item) for item in self.items]
        widths = [*compress(self.widths, is_seen)]
        places = iter(chart.columns(widths or max(1, sum(is_seen))))
        for column, seen in zip(self.items, is_seen, strict=True):
            with next(places) if seen else nullcontext():
                column.draw(given)


def is_for_class(item: Item) -> bool:
    """Whether it is seen where a panel is presented."""
    match item:
        case Details() | OffScreen() | Aside() | File() | Html():
            return False
        case Several():
            return any(map(is_for_class, item.items))
        case Table():
            return item.is_whole
        case Controls():
            return not item.is_aside
    return isinstance(item, Text) or not isinstance(item, Note)


class Steps(Several):
    """Long work, of which the parts show as much as is done: this number ends what they get.

    `rest`: the same as series, for what goes on after a pause.
    """

    def __init__(
        self,
        of: Callable[..., Thunks],
        *items: Item,
        key: str,
        rest: Callable[..., Thunks] | None = None,
    ) -> None:
        super().__init__(*items)
        self.of, self.key, self.rest = of, key, rest

    def inside(self, given: Given) -> Iterator[tuple[Item, Given]]:
        n = steps.n_finished((self.key, *wanted(self.of, given.values)), self.key)
        yield from ((item, given._replace(n_done=(n,))) for item in self.items if n)

    def draw(self, given: Given) -> None:
        """Do the work behind a progress bar, then show what there is."""
        values = wanted(self.of, given.values)
        rest, what = self.rest(*values) if self.rest else (), (self.key, *values)
        done = steps.in_steps(self.of(*values), what=what, key=self.key, rest=rest)
        for item in self.items if done.found else ():
            item.draw(given._replace(n_done=(len(done.found),)))

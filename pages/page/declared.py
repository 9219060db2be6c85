"""A panel as a value: one question, and what answers it."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from blocks.observe.run import Run
from pages.page.frame import must_have, section
from pages.server import cached
from pages.show import believed, words
from pages.show.choices import Choices
from pages.show.everything import Parts
from pages.show.explain import Code, explained
from pages.show.export import take_away
from pages.show.mixers import attend, attend_somewhere, no_attention
from pages.show.page_file import Part
from pages.show.parts import Facts, Given, Item, called
from pages.words.language import _, explanation

BULB = ":material/lightbulb:"


def alone(run: Run) -> tuple[Hashable, ...]:
    return (run,)


@dataclass(frozen=True)
class Panel:
    """One question, answered on about one screen; `name` stands in the link.

    `draw` gets the first of the values that the page has for all its panels, as many as it has
    parameters. It may return what goes on once the page stands, as a text does that is still being
    written. `choices` draws what the reader chooses for this panel, and perhaps for others: a
    layer, a head, a token. `fields`: the settings of the sidebar that it answers to, which stand
    first there. `of_attention`: it shows what attention does; where another token mixer stands in
    its place, it says that instead. `in_any_layer`: it looks at layers that attend alone, so not
    all of them have to. `of_predictions`: it shows what the model predicts, or what all layers do
    on the way there; where numbers overflow, it says so instead. `reads_input`: what goes into the
    model decides what it shows. `of_this_run`: it shows the model of the page; otherwise it trains
    others, and the page does not say above what runs.

    Without `draw` it is declared: `at` makes of these values what it is about (None: nothing),
    `facts` makes of that what all is read off, `absent` is a sentence in place of everything,
    with a way out by `mend`, `needs` are bytes beside those of the run, and `shows` are its parts
    from top to bottom. `concepts` explain it, `code` is what really ran; `code` and `shows` may
    depend on the run. All of these but `facts` may ask for what is set by a parameter `state`, as
    may the functions among the parts that draw controls. `instruments`: those of the test chart
    whose picture it draws, whose score stands below. `has_steps`: where it is presented, the keys
    lead through its steps before they lead to the next panel. One with `draw` may have
    `at`, `facts` and `shows` too, for its files.
    """

    name: str
    title: str
    draw: Callable[..., Callable[[], None] | None] | None = None
    choices: Choices | None = None
    fields: tuple[str, ...] = ()
    of_attention: bool = False
    in_any_layer: bool = False
    of_predictions: bool = False
    reads_input: bool = True
    of_this_run: bool = True
    _: KW_ONLY
    at: Callable[..., tuple[Hashable, ...] | None] = alone
    facts: Facts | None = None
    absent: Callable[..., str | None] | None = None
    mend: Callable[..., None] | None = None
    needs: Callable[..., int] | None = None
    shows: Sequence[Item] | Callable[..., Sequence[Item]] = ()
    concepts: Sequence[str] = ()
    code: Code | Callable[..., Code] = ()
    instruments: tuple[str, ...] = ()
    has_steps: bool = False

    def draw_itself(self, values: Sequence[Any]) -> Callable[[], None] | None:
        """Draw it, or say why there is nothing to see."""
        if self.lacks_attention(values):
            no_attention(values[0].config, self.name)
        elif not (self.of_predictions and overflowed(values[0])):
            if self.draw:
                goes_on = called(self.draw, tuple(values))
                believed.line(self.instruments)
                return goes_on
            _section_of(self)(*values)
        return None

    def parts_of(self, values: Sequence[Any]) -> Parts:
        """What a file says of it; None where only its drawing tells that."""
        return None if self.draw else partial(_parts, self, values)

    def read(self, *values: Any) -> Given | None:
        """What it is about, with what makes its facts; None where there is nothing to show."""
        found = None if self.lacks_attention(values) else called(self.at, values)
        return None if found is None else Given(found, self.facts)

    def says_absent(self, given: Given) -> str | None:
        return called(self.absent, given.values) if self.absent else None

    def items(self, given: Given) -> Sequence[Item]:
        shows = self.shows
        return called(shows, given.values) if callable(shows) else shows

    def code_of(self, run: Run) -> Code:
        return called(self.code, (run,)) if callable(self.code) else self.code

    def lacks_attention(self, values: Sequence[Any]) -> bool:
        """Whether it is about attention, and the model has none."""
        run = values[0] if values else None
        if not self.of_attention or not isinstance(run, Run):
            return False
        return not (attend_somewhere if self.in_any_layer else attend)(run.config)


def is_finite(run: Run) -> bool:
    return bool(cached.recording(run).output.isfinite().all())


def overflowed(run: Run) -> bool:
    """Whether what the model predicts is no number, and says so: a narrow format overflows."""
    if is_finite(run):
        return False
    text = _(
        "The numbers overflow {dtype} in this model, so it predicts nothing: use a norm, fewer "
        "layers, or float32."
    )
    st.warning(text.format(dtype=run.dtype), icon=":material/block:")
    return True


def _section_of(panel: Panel) -> Callable[..., None]:
    """Draw it as a section that reruns alone, timed under its own name."""

    def draw(run: Run, *more: Any) -> None:
        given = panel.read(run, *more)
        if given is None:
            return
        place = explained(panel.concepts, panel.code_of(run), key=panel.name)
        if said := panel.says_absent(given):
            place.info(said, icon=BULB)
            if panel.mend:
                called(panel.mend, given.values)
            return
        if panel.needs:
            must_have(called(panel.needs, given.values), run.device)
        for item in panel.items(given):
            item.draw(given._replace(place=place))
        believed.line(panel.instruments)

    draw.__name__ = draw.__qualname__ = panel.name
    return section(draw)


def _items(panel: Panel, values: Sequence[Any]) -> Iterator[tuple[Item, Given]]:
    """Its parts and what they are read with; none where it has nothing to show."""
    given = panel.read(*values)
    if given is not None and not panel.says_absent(given):
        yield from ((item, given) for item in panel.items(given))


def _parts(panel: Panel, values: Sequence[Any]) -> Iterator[Part]:
    """What a file of the panel says."""
    given = panel.read(*values)
    if given is not None and (said := panel.says_absent(given)):
        yield Part("note", said)
    for item, of_item in _items(panel, values):
        yield from item.parts(of_item)
    yield Part("explained", [explanation(concept) for concept in panel.concepts[:1]])


def files(of_page: Sequence[Panel], panels: Sequence[Panel]) -> Callable[..., None] | None:
    """Offer what these panels declare to be saved; None where no panel of the page does."""
    return partial(_files, panels) if any(panel.shows for panel in of_page) else None


def _files(panels: Sequence[Panel], run: Run, *more: Any) -> None:
    there = (panel for panel in panels if not panel.of_predictions or is_finite(run))
    items = [each for panel in there for each in _items(panel, (run, *more))]
    tables: dict[str, Callable[[], pd.DataFrame]] = {
        name: make for item, given in items for name, make in item.tables(given)
    }
    charts = partial(_charts, items)
    take_away(run.config, tables, charts, words.take_away_caption(run))


def _charts(items: Iterable[tuple[Item, Given]]) -> list[Any]:
    return [figure for item, given in items for figure in item.charts(given)]

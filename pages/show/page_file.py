"""Everything on a page as one file: what was seen, as text, tables and living pictures."""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from string import Template
from typing import Any, NamedTuple

import pandas as pd
from markdown_it import MarkdownIt
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df

from blocks.export.mathml import as_mathml
from blocks.model.shipped import shipped
from pages.figures.page_file import as_html, component_as_html
from pages.server import address
from pages.show.seen import Node
from pages.words.language import _, current_language, ngettext

INK_ON_DARK, INK = "#e2e8f0", "#1e293b"
MOST_ROWS, LONGEST_WAY = 10, 120  # of a table, in characters of a link: what is seen unfolded
MOST_CHARTS = 30_000_000  # characters of all pictures; the library comes on top
ICON = re.compile(r":material/\w+:\s*")
COLORED = re.compile(r":[a-z]+(?:-badge|-background)?\[((?:[^\[\]]|\[[^\]]*\])*)\]")
TAG = re.compile("<[^>]*>")
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+?)\$(?!\$)", re.DOTALL)
PLACE = re.compile("\ue000(\\d+)\ue001")  # of a formula, in signs that no text has
PAGE = shipped("page.html")


class Head(NamedTuple):
    """What stands above the panels."""

    title: str
    link: str
    made: datetime
    text: str
    settings: Sequence[tuple[str, str]]


class Part(NamedTuple):
    """A piece of a declared panel: what kind it is, and what stands there."""

    kind: str
    value: Any


class Panel(NamedTuple):
    """The title of a panel, and its parts as it declares them, or else all that was seen of it.

    `reads_input`: what goes into the model decides what it shows.
    """

    title: str
    seen: Node
    parts: Callable[[], Iterable[Part]] | None = None
    reads_input: bool = True


def page_file(head: Head, panels: Sequence[Panel]) -> str:
    """One HTML file that needs nothing beside it."""
    writer = _Writer()
    parts = [part for panel in panels for part in writer.panel(panel)]
    return whole(head.title, (*_head(head), *parts, _settings(head)), current_language())


def whole(title: str, parts: Iterable[str], language: str) -> str:
    """A page of these parts, in HTML, with its style."""
    page = Template(PAGE.read_text(encoding="utf-8"))
    body = "\n".join(parts)
    return page.substitute(language=language, title=html.escape(title), body=body)


def picture(spec: str, alt: str, *, with_library: bool) -> str:
    """A living picture on white, whatever the theme of the app, and what it shows in words."""
    drawn = as_html(spec.replace(INK_ON_DARK, INK), with_library=with_library)
    return f"<figure role='img' aria-label='{html.escape(alt, quote=True)}'>{drawn}</figure>"


def _head(head: Head) -> Iterator[str]:
    yield f"<h1>{html.escape(head.title)}</h1>"
    made = _("Made with Blockscope on {date}").format(date=f"{head.made:%Y-%m-%d %H:%M %z}")
    link = html.escape(head.link, quote=True)
    way = html.escape(address.way_on_this_machine(head.link)) or f"<a href='{link}'>{link}</a>"
    is_long = len(head.link) > LONGEST_WAY
    way = _folded(_("How to open this in Blockscope"), way) if is_long else f" · {way}"
    yield f"<div class='caption'>{html.escape(made)}{way}</div>"
    if head.text:
        title = html.escape(_("Input"))
        yield f"<h4>{title}</h4>{_written(head.text)}"


def _settings(head: Head) -> str:
    """At the end, and folded: a few of a hundred are looked up."""
    if not head.settings:
        return ""
    rows = pd.DataFrame(head.settings, columns=[_("setting"), _("value")])
    return _folded(_("All settings"), _rows(rows))


def _folded(title: str, inside: str) -> str:
    return f"<details><summary>{html.escape(title)}</summary>{inside}</details>"


class _Writer:
    """Elements as HTML; the first picture brings the library."""

    def __init__(self) -> None:
        self.n_charts = 0
        self.left = MOST_CHARTS
        self.told: set[str] = set()
        self.explains: list[str] = []

    def panel(self, panel: Panel) -> Iterator[str]:
        """The question, what was seen, and below it what explains it."""
        yield f"<h2>{html.escape(panel.title)}</h2>"
        self.explains = []
        yield from map(self.part, panel.parts() if panel.parts else ())
        yield from self.node(panel.seen)
        yield from self.explains

    def part(self, part: Part) -> str:
        """A declared piece as HTML."""
        if part.kind == "explained":
            self.explains.append(self.explanation(part.value))
            return ""
        if part.kind == "chart":
            figure, alt = part.value
            return self.chart(figure.to_json(), alt)
        return PARTS[part.kind](part.value)

    def node(self, node: Node) -> Iterator[str]:
        if node.element is not None:
            yield self.element(node.element)
        block = node.block
        kind = block.WhichOneof("type") if block is not None else None
        if kind == "popover":
            if block.popover.label == _("Explained"):  # as it opens, and nothing of the others
                self.explains.append(self.explanation(islice(_texts(node), 1)))
            return
        before, after = _around(block, kind)
        yield before
        for _place, child in sorted(node.inside.items()):
            yield from self.node(child)
        yield after

    def explanation(self, given: Iterable[str]) -> str:
        """What explains a panel, once in a file."""
        texts = [text for text in map(str.strip, given) if text not in self.told]
        self.told.update(texts)
        if not texts:
            said = html.escape(_("Explained above."))
            return f"<p class='caption'>{said}</p>"
        inside = "".join(_rendered(_marked().render, text) for text in texts)
        label = html.escape(_("Explained"), quote=True)
        return f"<section class='explained' aria-label='{label}'>{inside}</section>"

    def element(self, element: Any) -> str:
        kind = element.WhichOneof("type")
        if kind == "plotly_chart":
            return self.chart(element.plotly_chart.spec, element.plotly_chart.alt)
        write = WRITE.get(kind)
        return write(getattr(element, kind)) if write else ""

    def chart(self, spec: str, alt: str) -> str:
        self.left -= len(spec)
        if self.left < 0:
            return f"<p class='caption'>{html.escape(alt)}</p>"
        self.n_charts += 1
        return picture(spec, alt, with_library=self.n_charts == 1)


def _texts(node: Node) -> Iterator[str]:
    """All that is said in a place."""
    if node.element is not None and node.element.WhichOneof("type") == "markdown":
        yield node.element.markdown.body
    for _place, child in sorted(node.inside.items()):
        yield from _texts(child)


def _around(block: Any, kind: str | None) -> tuple[str, str]:
    """What stands before and after all that is inside of a block."""
    if kind == "expandable":
        label = _inline(block.expandable.label)
        return f"<details open><summary>{label}</summary>", "</details>"
    if kind == "tab":
        return f"<h4>{_inline(block.tab.label)}</h4>", ""
    if kind == "column":
        return "<div>", "</div>"
    is_row = kind == "horizontal" or (
        kind == "flex_container"
        and block.flex_container.direction == block.flex_container.Direction.HORIZONTAL
    )
    return ("<div class='beside'>", "</div>") if is_row else ("", "")


def _marked() -> MarkdownIt:
    """Markup of the reader's stays text: HTML is off."""
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _rendered(render: Callable[[str], str], text: str) -> str:
    """Text as HTML, its formulas as MathML."""
    formulas: list[str] = []

    def keep(found: re.Match[str]) -> str:
        formulas.append(as_mathml(found[1] or found[2], is_apart=bool(found[1])))
        return f"\ue000{len(formulas) - 1}\ue001"

    bare = ICON.sub("", FORMULA.sub(keep, text))
    while COLORED.search(bare):  # one within another
        bare = COLORED.sub(r"\1", bare)
    written = render(bare)
    return PLACE.sub(lambda place: formulas[int(place[1])], written)


def _inline(text: str) -> str:
    return _rendered(_marked().renderInline, text)


def _markdown(element: Any) -> str:
    is_caption = element.element_type == element.Type.CAPTION
    return (_caption if is_caption else _text)(element.body)


def _text(text: str) -> str:
    return _rendered(_marked().render, text)


def _caption(text: str) -> str:
    return f"<div class='caption'>{_text(text)}</div>"


def _note(text: str) -> str:
    return f"<div class='note'>{_text(text)}</div>"


def _heading(element: Any) -> str:
    return f"<h3>{_inline(element.body)}</h3>"


def _alert(element: Any) -> str:
    return _note(element.body)


def _code(element: Any) -> str:
    return _written(element.code_text)


def _written(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def _html(element: Any) -> str:
    return _words(element.body)


def _words(body: str) -> str:
    return f"<p>{html.escape(html.unescape(TAG.sub('', body)))}</p>"


def _metric(element: Any) -> str:
    return f"<p>{_inline(element.label)}: <b>{html.escape(element.body)}</b></p>"


def _frame(element: Any) -> str:
    return _table(convert_arrow_bytes_to_pandas_df(element.arrow_data.data))


def _table(table: pd.DataFrame) -> str:
    """Its first rows; the others are folded, so that they do not drown what is drawn."""
    first, more = _rows(table[:MOST_ROWS]), table[MOST_ROWS:]
    if more.empty:
        return first
    title = ngettext("{n} more row", "{n} more rows", len(more)).format(n=len(more))
    return first + _folded(title, _rows(more))


def _rows(table: pd.DataFrame) -> str:
    return table.to_html(
        index=False, border=0, escape=True, na_rep="", float_format="{:.4g}".format
    )


def _component(element: Any) -> str:
    return component_as_html(
        element.html_content, element.css_content, element.js_content, element.bytes
    )


WRITE: dict[str, Callable[[Any], str]] = {
    "bidi_component": _component,
    "heading": _heading,
    "markdown": _markdown,
    "alert": _alert,
    "code": _code,
    "html": _html,
    "metric": _metric,
    "dataframe": _frame,
    "table": _frame,
}
PARTS: dict[str, Callable[[Any], str]] = {
    "note": _note,
    "caption": _caption,
    "markdown": _text,
    "html": _words,
    "table": _table,
}

"""What is left in English in the pictures of a Chinese page.

A word in a picture may be a token of the reader's text, which stays: only what our catalogue
translates is left by mistake.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
from opened import CHINESE, WORD
from streamlit.testing.v1 import AppTest

from pages.words import language

READ = (
    *("text", "title", "name", "ticktext", "ticksuffix", "hovertext", "hovertemplate", "said"),
    *("customdata", "x", "y"),
)
AS_IN_FILE = "-ledger"  # the picture that names tensors as their file does
PIECES = re.compile(r"<[^<>]*>| · |\n")
FIELD = re.compile(r"\\{[^{}]*\\}")


@cache
def _ours() -> tuple[frozenset[str], re.Pattern[str]]:
    """The English of all that is translated: whole texts, and those with something filled in."""
    catalogue = language._catalogue("zh")._catalog
    texts = [text for text in catalogue if isinstance(text, str)]
    texts += [text for text, _form in (each for each in catalogue if isinstance(each, tuple))]
    ours = {text for text in texts if WORD.search(re.sub(r"\{[^{}]*\}", "", text))}
    translated = {text for text in ours if CHINESE.search(str(catalogue.get(text, "字")))}
    filled = [FIELD.sub(".+", re.escape(text)) for text in translated if "{" in text]
    return frozenset(each for each in translated if "{" not in each), re.compile("|".join(filled))


def english_left(at: AppTest) -> set[str]:
    """Texts in pictures that a reader of Chinese should find in Chinese."""
    whole, filled = _ours()
    charts = [chart.proto for chart in at.get("plotly_chart")]
    specs = [orjson.loads(each.spec) for each in charts if not each.id.endswith(AS_IN_FILE)]
    read = {text for spec in specs for text in _read(spec)}
    pieces = {piece.strip() for text in read for piece in (text, *PIECES.split(text))}
    return {
        each
        for each in pieces
        if WORD.search(each) and not CHINESE.search(each)
        if each in whole or filled.fullmatch(each)
    }


def _read(node: Any, name: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield from _read(_hovered(node) if key == "customdata" else child, key)
    elif isinstance(node, list):
        for child in node:
            if isinstance(child, str | list | dict):
                yield from _read(child, name)
    elif isinstance(node, str) and name in READ:
        yield node


def _hovered(trace: dict[str, Any]) -> list[Any]:
    """Of what a click returns that which is read under the cursor."""
    rows, at = (
        trace["customdata"],
        re.findall(r"customdata\[(\d+)\]", str(trace.get("hovertemplate"))),
    )
    return [row[int(i)] for row in rows for i in {*at}] if isinstance(rows, list) else []

"""English and Chinese: every word on the screen passes `_`."""

import functools
import gettext
import io
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

import pandas as pd
import streamlit as st
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from blocks import Fault
from blocks.model.shipped import shipped
from pages.figures.counting import from_one
from pages.figures.numbers import hundredths, readable
from pages.session.slot import Slot
from pages.words.numbers import percent

LOCALE = shipped("locale")
TEXT = shipped("text")
WIDE_FROM = 0x2E80  # from here on signs are Chinese, or as wide
WIDE = str.maketrans(",;:", "，；：")
# What a reader wrote stays as it is; then a space after a Chinese stop, half-width marks, and a
# space between Chinese signs, where a word stands in for a name.
JOINTS = re.compile(
    r"`[^`]*`|(?<=[。！？；：，]) (?=[^\s·])|(?<=[。！？；：，][”’）*]) (?=[^\s·])"
    r"|(?<=[一-鿿）”])[,;:] ?(?=[一-鿿（“])|(?<=[一-鿿]) (?=[一-鿿])"
)
LANGUAGES = {"en": "English", "zh": "中文"}
LANGUAGE = Slot("language", "")  # of this session


def _(text: str) -> str:
    return in_language(text, current_language())


def translation() -> Callable[[str], str]:
    """`_` for the reader of now, for pictures, which ask for thousands of texts."""
    return functools.partial(in_language, language=current_language())


def ngettext(one: str, many: str, n: int) -> str:
    return _catalogue(current_language()).ngettext(one, many, n)


def pgettext(context: str, text: str) -> str:
    """The text in one of its meanings: English may say in one word what Chinese says in two."""
    return _catalogue(current_language()).pgettext(context, text)


def enumeration(names: Iterable[str]) -> str:
    return _(", ").join(names)


def listing(parts: Iterable[str]) -> str:
    """Longer things in a row, with the semicolon of the reader's language."""
    return _("; ").join(parts)


def bracketed(what: object, more: object) -> str:
    """A thing and in brackets what is to be said of it, as the reader's language sets them."""
    return _("{what} ({more})").format(what=what, more=more)


def sentences(*said: str) -> str:
    """Sentences one after the other, those that are empty left out."""
    return closed_up(" ".join(filter(None, said)))


def closed_up(text: str) -> str:
    """What was joined as in English, as Chinese sets it: no space after its stops, wide marks."""
    return JOINTS.sub(_set_in_chinese, text)


def _set_in_chinese(joint: re.Match[str]) -> str:
    found = joint.group()
    return found if found.startswith("`") else found.strip().translate(WIDE)


def in_language(text: str, language: str) -> str:
    return _catalogue(language).gettext(text) if text else ""


def say_fault(fault: Fault) -> str:
    return _(fault.text).format(**fault.values)


def literal(text: str) -> str:
    """Text from a reader inside a sentence of ours: shown as it is, never taken for markdown.

    Half a character, as "\\ud800" in a JSON file, could not be sent: it is shown as its number.
    Chinese within Chinese stands in quotation marks: 的 would read as a word of the sentence.
    """
    whole = text.encode("utf-8", "backslashreplace").decode()
    shown = "`" + " ".join(whole.split()).replace("`", "ˋ") + "`"
    is_like_ours = current_language() == "zh" and max(map(ord, text), default=0) > WIDE_FROM
    return f"“{shown}”" if is_like_ours else shown


def current_language() -> str:
    """The language of this session: chosen, or else the browser's."""
    return LANGUAGE.get() or browser_language()


def browser_language() -> str:
    return "zh" if (st.context.locale or "").lower().startswith("zh") else "en"


def explanation(concept: str) -> str:
    """The text of a concept, markdown with formulas."""
    return _read(TEXT / current_language() / f"{concept}.md")


@functools.lru_cache(maxsize=len(LANGUAGES))
def _catalogue(language: str) -> gettext.NullTranslations:
    source = LOCALE / language / "LC_MESSAGES" / "blockscope.po"
    if not source.exists():
        return gettext.NullTranslations()
    compiled = io.BytesIO()
    with source.open("rb") as file:
        write_mo(compiled, read_po(file))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


@functools.lru_cache(maxsize=64)
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


WRITTEN: dict[str, Callable[[Any], object]] = {
    "percent": percent,
    "hundredths": hundredths,
    "readable": readable,
    "from_one": from_one,  # counted as the screen counts
    "token": literal,  # what a reader or a model wrote
}


class _Filler(Formatter):
    """Names are those of the facts, unless they are given."""

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        """What stands for a name."""
        if not isinstance(key, str) or key in kwargs or not args:
            return super().get_value(key, args, kwargs)
        is_table = isinstance(args[0], Mapping | pd.Series)
        return args[0][key] if is_table else getattr(args[0], key)

    def format_field(self, value: Any, format_spec: str) -> str:
        write = WRITTEN.get(format_spec)
        return str(write(value)) if write else str(super().format_field(value, format_spec))


def fill(template: str, facts: object = None, **more: object) -> str:
    """A translated template, filled from the facts; `more` goes before what they have."""
    return _Filler().vformat(template, () if facts is None else (facts,), more)

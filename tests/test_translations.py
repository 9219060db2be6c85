"""Every string on the screen exists in every language."""

import ast
import functools
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.pofile import read_po
from source_walk import tree_of

pytestmark = pytest.mark.xdist_group("sources")

ROOT = Path(__file__).parents[1]
CATALOGUES = sorted((ROOT / "assets/locale").glob("*/LC_MESSAGES/blockscope.po"))
METHODS = [("app.py", "python"), ("pages/**.py", "python"), ("blocks/**.py", "python")]


Text = tuple[str | tuple[str, ...], str | None]


@functools.cache
def source_texts() -> set[Text]:
    """What is translated, and in which meaning; what is counted is a pair, for one and for many."""
    keywords = {**DEFAULT_KEYWORDS, "N_": None}
    found = extract_from_dir(str(ROOT), method_map=METHODS, keywords=keywords)
    return {(text, context) for _file, _line, text, _comments, context in found if text}


def forms(text: str | tuple[str, ...]) -> tuple[str, ...]:
    """One text, or those for one and for many."""
    return (text,) if isinstance(text, str) else tuple(text)


def fields(text: str) -> set[str]:
    return {f"{name}:{spec}" for _, name, spec, _ in string.Formatter().parse(text) if name}


def texts_in_f_strings(path: Path) -> Iterator[str]:
    """Texts inside an f-string, where the extraction does not find them on every Python."""
    for outer in ast.walk(tree_of(path)):
        for inner in ast.walk(outer) if isinstance(outer, ast.JoinedStr) else ():
            match inner:
                case ast.Call(
                    func=ast.Name("_" | "N_" | "ngettext" | "pgettext"),
                    args=[ast.Constant(str() as text), *_],
                ):
                    yield text


def test_no_text_hides_from_the_extraction():
    sources = [ROOT / "app.py", *ROOT.glob("pages/**/*.py"), *ROOT.glob("blocks/**/*.py")]
    assert [text for path in sources for text in texts_in_f_strings(path)] == []


def test_there_is_something_to_translate():
    assert len(source_texts()) > 100
    assert CATALOGUES


def messages(path: Path) -> list:
    with path.open("rb") as file:
        return [message for message in read_po(file) if message.id]


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parts[-3])
def test_catalogue_is_complete(path):
    known = {(message.id, message.context): message for message in messages(path)}
    missing = [
        text for text in source_texts() if not (text in known and all(forms(known[text].string)))
    ]
    assert not missing
    assert not [message.id for message in known.values() if message.fuzzy]


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parts[-3])
def test_a_word_of_two_meanings_is_two_words_in_translation(path):
    """What has a context is said otherwise where it has none: “read”, by a model or by a device."""
    said = {(message.id, message.context): message.string for message in messages(path)}
    meant = [(text, context) for text, context in source_texts() if context]
    assert meant
    assert [text for text in meant if said[text] == said.get((text[0], None))] == []


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parts[-3])
def test_translations_fill_in_the_same_values(path):
    for message in messages(path):
        asked = {frozenset(fields(text)) for text in forms(message.id)}
        assert {frozenset(fields(text)) for text in forms(message.string)} == asked, message.id


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parts[-3])
def test_no_translation_begins_as_a_headline_or_a_list_where_the_text_does_not(path: Path):
    begins = re.compile(r"(#{1,6}|[-*+>]|\d+[.)]) ")
    wrong = [
        translated
        for message in messages(path)
        for text, translated in zip(forms(message.id), forms(message.string), strict=False)
        if begins.match(translated) and not begins.match(text)
    ]
    assert wrong == []

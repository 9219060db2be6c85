"""Every concept is explained, in both languages alike."""

import re
from itertools import product
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from blocks.cost.passes import PassKind, operations
from blocks.model.presets import PRESETS
from blocks.text.corruption import random_spans
from pages.show.explain import TITLES, n_words
from pages.words.language import LANGUAGES, LOCALE
from pages.words.terms import OPTIONS

TEXT = Path(__file__).parent.parent.parent / "assets" / "text"
PARTS = {
    "heading": r"^#+ ",
    "formula block": r"^\$\$",
    "formula": r"(?<!\$)\$[^$]+\$(?!\$)",
    "list": r"^- ",
}


def text(lang: str, concept: str) -> str:
    return (TEXT / lang / f"{concept}.md").read_text(encoding="utf-8")


def formulas(markdown: str) -> list[str]:
    """Formulas without the words in them."""
    found = re.findall(r"\$\$.*?\$\$|\$[^$]+\$", markdown, flags=re.DOTALL)
    return [
        re.sub(r"\\text(?:bf)?\{[^}]*\}|[\s;,，；]|\\[;,:! ]", "", formula) for formula in found
    ]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_each_concept_has_its_text_and_each_text_its_concept(lang: str):
    assert {path.stem for path in (TEXT / lang).iterdir()} == TITLES.keys()


def test_no_text_is_in_another_language():
    assert {path.name for path in TEXT.iterdir()} == LANGUAGES.keys()


@pytest.mark.parametrize("lang", LANGUAGES)
def test_each_says_first_and_in_plain_words_what_its_subject_is(lang: str):
    begun = {concept: text(lang, concept).split("\n\n#### ") for concept in TITLES}
    assert {concept for concept, parts in begun.items() if len(parts) < 2} == set()
    for concept, (opening, *_rest) in begun.items():
        assert "\n" not in opening, concept
        assert re.search(r"\*\*[^*]+\*\*", opening), concept  # what it is called
        assert not re.search(r"[$`#]|^- |\d", opening) or concept == "ideas", concept
        assert 12 <= n_words(opening) <= 60, concept


def test_both_languages_have_as_many_of_each_part_and_the_same_formulas():
    def held(lang: str) -> dict[str, object]:
        parts = {concept: text(lang, concept) for concept in TITLES}
        counts = {
            (concept, part): len(re.findall(pattern, markdown, re.MULTILINE))
            for concept, markdown in parts.items()
            for part, pattern in PARTS.items()
        }
        return counts | {concept: sorted(formulas(each)) for concept, each in parts.items()}

    english, chinese = map(held, ("en", "zh"))
    assert {
        key: (held, chinese[key]) for key, held in english.items() if held != chinese[key]
    } == {}


def test_what_is_opened_is_closed():
    for lang, concept in product(LANGUAGES, TITLES):
        markdown = text(lang, concept)
        assert markdown.count("$$") % 2 == markdown.count("`") % 2 == 0
        for formula in re.findall(r"\$\$.*?\$\$|\$[^$]+\$", markdown, flags=re.DOTALL):
            plain = re.sub(r"\\[{}]", "", formula)
            assert plain.count("{") == plain.count("}")
            assert formula.count(r"\left") == formula.count(r"\right")
            assert formula.count(r"\begin") == formula.count(r"\end")
            assert formula.count("[^") == 0


def on_screen(lang: str) -> set[str]:
    """All texts of the catalogue, as this language shows them."""
    with (LOCALE / "zh" / "LC_MESSAGES" / "blockscope.po").open("rb") as file:
        catalogue = [message for message in read_po(file) if message.id]
    texts = [message.id if lang == "en" else message.string for message in catalogue]
    return {each for each in texts if isinstance(each, str)}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_is_quoted_is_on_the_screen(lang: str):
    """Curly quotes name a button or a label; other words are set in italics."""
    shown = on_screen(lang)
    quoted = {
        (concept, name) for concept in TITLES for name in re.findall("“(.*?)”", text(lang, concept))
    }
    assert len(quoted) > 40
    assert {(concept, name) for concept, name in quoted if name not in shown} == set()
    assert [concept for concept in TITLES if '"' in text(lang, concept)] == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_options_are_named_as_their_buttons_are(lang: str):
    codes = {code for concept in TITLES for code in re.findall(r"`(\w+)`", text(lang, concept))} | {
        code.replace("\\", "")
        for concept in TITLES
        for code in re.findall(r"\\texttt\{([\w\\]+)\}", text(lang, concept))
    }
    assert codes & OPTIONS.keys() == set()


@pytest.mark.parametrize("lang", LANGUAGES)
def test_spans_are_as_many_as_their_formula_says(lang: str):
    told = re.findall(r"\$([^$]*round[^$]*)\$", text(lang, "span_corruption"))
    of_tokens, of_spans = (
        each.replace(r"\text{round}", "round").replace(r"\,", "*").removeprefix("m=")
        for each in told
    )
    for n in range(2, 300):
        m = max(1, eval(of_tokens, {"n": n}))
        found = random_spans(n, share=0.15, mean_len=3, seed=0)
        assert sum(end - start for start, end in found) == m
        assert len(found) == max(1, eval(of_spans, {"n": n, "m": m}))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_only_where_no_heads_are_shared_does_their_number_move_no_bar(lang: str):
    def bars(**changes: int) -> list[int]:
        config = PRESETS["gpt2-small"].replace(**changes)
        return [each.flops for each in operations(config, PassKind.TRAINING, n=64)]

    assert bars(n_heads=12, n_kv_heads=12) == bars(n_heads=6, n_kv_heads=6)
    assert bars(n_heads=12, n_kv_heads=2) != bars(n_heads=6, n_kv_heads=2)
    (said,) = re.findall(r"^- .*n_heads.*(?:no bar|没有).*$", text(lang, "backward_flops"), re.M)
    assert "MHA" in said

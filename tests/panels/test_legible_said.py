"""What is said of a text that no model here reads."""

import pytest

from blocks.text.legibility import Legibility
from blocks.weights.known import CLASS, FRANCE, language_of
from pages.page import opening
from pages.panels.legible import says_legibility, says_who_reads


def test_the_language_of_a_text_is_that_of_its_letters():
    found = [language_of(text) for text in (CLASS, FRANCE, "the naïve reader of a text", "Привет")]
    assert found == ["Chinese", "English", "English", ""]


def test_models_that_read_a_text_are_named_with_the_way_to_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(opening, "here", lambda model: "")
    for may_fetch, way in ((True, "Real models"), (False, "BLOCKSCOPE_FOLDERS")):
        said = says_who_reads(CLASS, may_fetch=may_fetch)
        assert "Qwen3 0.6B" in said and "Gemma 3 270M" in said and way in said
        assert "SmolLM2" not in said and "opus" not in said
    assert "no model" in says_who_reads("Привет", may_fetch=True)


def test_only_the_words_that_are_counted_are_said_to_be():
    assert "3 of the 3 words of three letters" in says_legibility(Legibility(0, 20, 3, 3))

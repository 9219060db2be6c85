"""Sentences are read in both languages."""

import pytest

from pages.words import language


def in_both(monkeypatch: pytest.MonkeyPatch, says, *facts) -> dict[str, str]:
    """What is said of the same facts in each language."""
    found = {}
    for name in language.LANGUAGES:
        monkeypatch.setattr(language, "current_language", lambda name=name: name)
        found[name] = says(*facts)
    return found

"""A picture is kept as its reader sees it: in a language, in a theme, large or not."""

from types import SimpleNamespace

import pytest
import streamlit as st

from pages.figures.theme import Picture, figure
from pages.show import chart
from pages.words.language import _

CONTEXT = "streamlit.runtime.context.ContextProxy.theme"


def draw(n: int) -> Picture:
    return figure([{"type": "bar", "x": [0], "y": [n]}], title=_("heads"))


def test_one_picture_is_drawn_for_each_theme_in_its_ink(monkeypatch: pytest.MonkeyPatch):
    found = []
    for theme in ("light", "dark", "light", None):
        monkeypatch.setattr(CONTEXT, SimpleNamespace(type=theme))
        found.append(chart.drawn(draw, 1))
    inks = [each.parts["layout"]["font"]["color"] for each in found]
    assert inks == [chart.INK[theme] for theme in ("light", "dark", "light", "light")]
    assert found[0] is found[2] is found[3]


def test_one_picture_is_drawn_for_each_language_in_its_words(monkeypatch: pytest.MonkeyPatch):
    found = []
    for language in ("en", "zh", "en"):
        monkeypatch.setitem(st.session_state, "language", language)
        found.append(chart.drawn(draw, 1))
    titles = [each.parts["layout"]["title"]["text"] for each in found]
    assert titles[0].isascii() and not titles[1].isascii() and found[0] is found[2]


@pytest.mark.parametrize("alt", [None, lambda n: f"{n} heads"], ids=["by itself", "by alt"])
def test_each_of_two_pictures_is_described_by_its_own_values(monkeypatch, alt):
    shown = {}
    monkeypatch.setattr(chart.beside, "with_a", lambda _values: (2,))
    monkeypatch.setattr(chart.beside, "name_of_a", lambda: "mine")
    monkeypatch.setattr(chart, "_show_one", lambda _figure, alt, key, **_: shown.update({key: alt}))
    chart.show(draw, 3, key="bars", alt=alt)
    assert [*shown] == ["bars_a", "bars"]
    assert [{*"23"} & {*alt} for alt in shown.values()] == [{"2"}, {"3"}]

"""Everything on a page in one file: what is seen, and nothing that the network has."""

import html
import re

import pytest
import streamlit as st
from opened import assert_works, opened, press, run

from pages.show import page_file

pytestmark = pytest.mark.usefixtures("shallow")

EVIL = "a </script><b>x</b> `c`"
LIBRARY = "plotly.js v"


def of_panels(at) -> list:
    """The pictures of the panels: that of the input stands above them."""
    charts = [chart.proto for chart in at.get("plotly_chart")]
    return [chart for chart in charts if not chart.id.endswith("-mask")]


def one_file(monkeypatch: pytest.MonkeyPatch, page: str, **query: object):
    """The page with all panels, and the file that is made of it."""
    found, show = {}, st.download_button

    def note(label: str, data, **how):
        found[label] = data
        return show(label, data, **how)

    at = opened(page, preset=None, **{"panel": "all", **query})
    if "panel" in query:
        at.session_state["take_away"] = True  # the fold is open
        run(at)
    assert "one_file" not in {button.key for button in at.get("download_button")}
    monkeypatch.setattr(st, "download_button", note)
    press(at, "one_file_ask")
    assert_works(at, warnings=None)
    (written,) = (data for data in found.values() if isinstance(data, bytes))
    return at, written.decode()


@pytest.mark.parametrize(
    ("page", "lang"), [("feed_forward", "zh"), ("masks", "en"), ("masks", "zh")]
)
@pytest.mark.thinned
def test_all_that_is_seen_is_in_the_file(monkeypatch: pytest.MonkeyPatch, page: str, lang: str):
    """Of panels that are declared, and of those that are listened to while they are drawn."""
    at, written = one_file(monkeypatch, f"pages/{page}.py", text="a b c", lang=lang, seed=7)
    assert written.count("<figure") == len(of_panels(at))
    plain = html.unescape(re.sub("<[^>]*>", "", written))
    for info in (*at.info, *at.subheader[:-1]):  # the last is about other files
        start = re.sub(r":[a-z-]+\[|[`*\]]", "", info.value).split("  \n")[0][:30]
        assert start in plain
    n_long = sum(len(each.value) > page_file.MOST_ROWS for each in (*at.dataframe, *at.table))
    assert written.count("<table") == len(at.dataframe) + len(at.table) + n_long + 1
    assert f'lang="{lang}"' in written and "<td>seed</td>" in written and "<td>7</td>" in written
    assert written.count(LIBRARY) == 1
    titles = re.findall("<h[23]>([^<]*)</h[23]>", written)
    assert len(titles) == len(set(titles)) >= len(at.subheader) - 1
    assert any("MB" in each.value for each in at.caption)


def test_a_handout_explains_each_concept_once_with_its_formulas(monkeypatch: pytest.MonkeyPatch):
    at, written = one_file(monkeypatch, "pages/masks.py", text="a b")
    ways = (each for each in at.get("popover") if each.proto.popover.label == "Explained")
    texts = {way.markdown[0].value for way in ways}  # of each panel that with which it opens
    assert len(texts) > 2 and all("\n$$" in text for text in texts if "$$" in text)
    assert written.count("<h4>Source</h4>") == sum("#### Source" in text for text in texts)
    n_formulas = sum(len(page_file.FORMULA.findall(text)) for text in texts)
    assert written.count("<math") >= n_formulas > 10
    assert "$$" not in re.sub("<script.*?</script>", "", written, flags=re.DOTALL)


def test_a_handout_holds_the_panels_that_are_chosen(monkeypatch: pytest.MonkeyPatch):
    at, found = opened("pages/masks.py", preset=None, panel="all", text="a b"), []
    monkeypatch.setattr(st, "download_button", lambda _label, data, **_how: found.append(data))
    first, second = (title.value for title in at.subheader[:2])
    at.multiselect[0].set_value([1]).run()
    press(at, "one_file_ask")
    (written,) = (data.decode() for data in found if isinstance(data, bytes))
    assert f"<h2>{second}</h2>" in written and f"<h2>{first}</h2>" not in written


@pytest.mark.parametrize(
    ("page", "panel", "ends"),
    [
        ("scaling", "transfer", "and the logits, start at zero."),
        ("phases", "grokking", "The model is measured every"),
    ],
)
def test_models_of_a_page_s_own_have_a_handout_with_whole_notes_and_no_input(
    monkeypatch: pytest.MonkeyPatch, page: str, panel: str, ends: str
):
    _at, written = one_file(monkeypatch, f"pages/{page}.py", panel=panel)
    assert ends in written and " …<" not in written
    assert "<h4>Input</h4>" not in written and "<figure" in written


def test_text_of_a_reader_is_text(monkeypatch: pytest.MonkeyPatch):
    _at, written = one_file(monkeypatch, "pages/attention.py", text=EVIL)
    assert "<b>x</b>" not in written and "a </script>" not in written
    assert html.escape(EVIL) in written


def test_it_is_made_of_one_run_only(monkeypatch: pytest.MonkeyPatch):
    at, _written = one_file(monkeypatch, "pages/masks.py", text="a b")
    press(at, "one_file_ask")
    assert "one_file_asked" not in at.session_state
    at.run()
    assert "one_file" not in {button.key for button in at.get("download_button")}


def test_pictures_beyond_the_bound_are_said_in_words(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page_file, "MOST_CHARTS", 10)
    at, written = one_file(monkeypatch, "pages/masks.py", text="a b")
    assert "<figure" not in written and LIBRARY not in written
    assert all(html.escape(chart.alt) in written for chart in of_panels(at))

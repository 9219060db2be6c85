"""A reader goes through a page, in each language and theme, and everything is asked of it."""

import re

import orjson
import pytest
from in_language import english_left
from opened import (
    OF_OTHER_MODELS,
    PAGES,
    assert_counts_from_1,
    assert_works,
    control,
    opened,
    press,
    titles,
    visit,
)
from streamlit.testing.v1 import AppTest
from test_beside import A
from walked import assert_short, panels

from blocks.weights.pocket import pocket_names
from pages.show.chart import INK
from pages.words.language import LANGUAGES

pytestmark = pytest.mark.usefixtures("shallow")

BEGINS_UNTRAINED = {f"pages/{name}.py" for name in ("training", "cost", "parameters")}
WALKED_BACK = "pages/block.py"
FIRST = {"preset": None, "panel": None}
WITH_A = {
    f"pages/{name}.py"
    for name in (
        *("attention", "block", "cost", "encoder", "gpt", "feed_forward", "masks"),
        *("normalization", "parameters", "positions"),
    )
}
# What they say is of what A and B have in common, or from where to where on one scale.
SAID_ALIKE = {"sinks", "position_table", "sees_encoder", "sees_encoder_decoder"}


@pytest.mark.parametrize("page", PAGES)
def test_everything_is_asked_of_a_page(page: str):
    """By one reader: what one language, theme or model leaves behind is seen in the next. Panel by
    panel it is gone through in one language, and presented in the other."""
    at = opened(page, preset=None)
    assert_begins_trained(at, page)
    text = {area.key: area.value for area in at.text_area}.get("text")
    assert_is_for_its_reader(at, "en", "light", words=[])
    at.context["theme"] = "dark"
    visit(at, preset=None, lang="zh", text=text, kept=A)
    assert_is_for_its_reader(at, "zh", "dark", words=(text or "").split())
    assert_a_stands_beside_b(at, page)
    first, second = sorted(LANGUAGES, reverse=bool(PAGES.index(page) % 2))
    if page != PAGES[0]:
        assert_goes_from_panel_to_panel(at, lang=second, text=text)
    assert_is_presented(at, page, lang=first, text=text)


def assert_begins_trained(at: AppTest, page: str) -> None:
    """What a page begins with has learned something."""
    assert_works(at)
    if page not in {*BEGINS_UNTRAINED, *OF_OTHER_MODELS}:
        assert control(at, "preset").value in pocket_names()


def assert_is_for_its_reader(at: AppTest, lang: str, theme: str, words: list[str]) -> None:
    """In the reader's language but for `words` of the text, in the ink of the theme, from 1 on."""
    assert_works(at)
    assert_counts_from_1(at)
    assert at.title[0].value.isascii() == (lang == "en")
    assert lang == "en" or english_left(at) <= {*words}
    for key, (picture, _alt) in pictures(at).items():
        assert picture["layout"]["font"]["color"] == INK[theme], key


def assert_goes_from_panel_to_panel(at: AppTest, **query: object) -> None:
    """From the first to the last, each short, in the same language."""
    visit(at, **FIRST, **query)
    wanted, seen = max(1, len(titles(at))), set()  # one question has no titles
    for question in panels(at):
        assert_works(at, warnings=None)
        assert_short(at)
        seen.add(question)
    assert len(seen) == wanted


def assert_is_presented(at: AppTest, page: str, **query: object) -> None:
    """By keys from the first panel to the last, back (of one page all the way), and out of it."""
    visit(at, **FIRST, **query, present=True)
    assert not titles(at)
    if page == PAGES[0]:
        press(at, "end_present")
        return assert_works(at, warnings=None)
    shown = [at.title[0].value]
    while any(key.key == "panel_on" and not key.disabled for key in at.button):
        press(at, "panel_on")
        assert_works(at, warnings=None)
        assert len(at.title) == 1
        shown.append(at.title[0].value)
    way_back = shown[-2::-1]
    for title in way_back if page == WALKED_BACK else way_back[:1]:
        press(at, "panel_back")
        assert at.title[0].value == title
    press(at, "end_present")
    assert_works(at, warnings=None)
    assert "present" not in at.query_params
    assert max(1, len(titles(at))) == len(shown)


def assert_a_stands_beside_b(at: AppTest, page: str) -> None:
    """A's pictures at the left of B's, each described by what it shows itself."""
    assert_works(at)
    found = pictures(at)
    doubled = {key.removesuffix("_a") for key in found if key.endswith("_a")}
    order = [*found]
    assert all(order.index(f"{key}_a") == order.index(key) - 1 for key in doubled)
    if page in WITH_A:
        assert doubled
        (line,) = (each.value for each in at.caption if "  \nB" in each.value)
        assert line.startswith("A · `<b>mine</b>`: ")
        assert len(re.findall("parameters|参数", line)) == 2
    for key in doubled - SAID_ALIKE:
        (a, said_of_a), (b, said_of_b) = found[f"{key}_a"], found[key]
        assert (a["data"] == b["data"]) or said_of_a != said_of_b, key


def pictures(at: AppTest) -> dict[str, tuple[dict, str]]:
    """Each picture by its key in the order of the page, and what is said of it."""
    charts = [chart.proto for chart in at.get("plotly_chart")]
    return {each.id.rpartition("-")[2]: (orjson.loads(each.spec), each.alt) for each in charts}

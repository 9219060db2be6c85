"""What a teacher leaves out: a link without menu, settings or explanations."""

import pytest
from opened import BLOCK, PAGES, assert_works, control, opened, press, run
from streamlit.testing.v1 import AppTest

pytestmark = pytest.mark.usefixtures("shallow")

LINK = {"preset": "course", "panel": None}


def links(at: AppTest) -> list[str]:
    return [element.proto.page for element in at.sidebar if element.type == "page_link"]


def popovers(at: AppTest) -> str:
    return " ".join(e.proto.popover.label for e in at.main if e.type == "popover")


def buttons(at: AppTest) -> set[str | None]:
    return {button.key for button in at.button}


def test_each_part_is_left_out_alone():
    whole = opened(BLOCK, **LINK)
    assert links(whole) and control(whole, "d_model") and "Explained" in popovers(whole)
    no_menu = opened(BLOCK, **LINK, hide="menu")
    assert links(no_menu) == [] and control(no_menu, "d_model")
    no_settings = opened(BLOCK, **LINK, hide="settings", n_heads=4)
    assert links(no_settings)
    with pytest.raises(StopIteration):
        control(no_settings, "d_model")
    assert no_settings.query_params["n_heads"] == "4"
    plain = opened(BLOCK, **LINK, hide="explanations")
    assert "Explained" not in popovers(plain) and links(plain)
    for at in (no_menu, no_settings, plain):
        assert_works(at)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.thinned
def test_every_page_works_with_all_of_it_left_out(page: str):
    at = opened(page, preset=None, panel=None, hide="menu.settings.explanations")
    assert_works(at, warnings=None)
    assert links(at) == []


@pytest.mark.parametrize("hide", ["everything", "menu.x", "..", "menu.menu", "<b>"])
def test_what_cannot_be_left_out_is_named_or_read_once(hide: str):
    at = opened(BLOCK, **LINK, hide=hide)
    assert_works(at, warnings=None)
    assert (at.query_params.get("hide") == "menu") is (hide == "menu.menu")


def test_what_is_left_out_stays_so_through_a_lesson():
    at = opened("pages/attention.py", **LINK, lesson="scaling", hide="menu")
    press(at, "without_guess")
    press(at, "lesson_on")
    assert_works(at)
    assert at.query_params["hide"] == "menu" and links(run(at)) == []

"""A page as its panels: one is open, the link names it, and the next is one press away."""

import pytest
from opened import PAGES, assert_works, control, open_title, opened, press, settings, titles, visit
from streamlit.testing.v1 import AppTest

from pages.stage.phone import NARROW

WITH_PANELS = [page for page in PAGES if page != "app.py"]


def one_panel(page: str, **query: object) -> AppTest:
    """The page as it opens, on a small trained model where it has one."""
    at = opened(page, **{"preset": None, "panel": None, **query})
    assert_works(at)
    return at


@pytest.mark.parametrize("page", WITH_PANELS)
@pytest.mark.thinned
def test_a_panel_that_a_page_does_not_have_is_its_first(page: str):
    first = one_panel(page)
    other = one_panel(page, panel="of-no-page")
    assert open_title(other) == open_title(first)


def test_only_what_is_open_is_drawn():
    at = one_panel("pages/feed_forward.py", panel="dead-units")
    keys = {chart.proto.id.rpartition("-")[2] for chart in at.get("plotly_chart")}
    assert keys == {"layer_units", "activity"}


def test_the_panel_stays_behind_on_the_way_to_another_page():
    at = one_panel("pages/attention.py", panel="scaling", head=2)
    links = {link.proto.page: link.proto.query_string for link in at.get("page_link")}
    assert len(links) == len(PAGES)
    assert all("panel=" not in query and "head=2" in query for query in links.values())


def test_everything_on_a_page_is_one_press_away_and_one_back():
    at = one_panel("pages/masks.py")
    n_charts = len(at.get("plotly_chart"))
    press(at, "to_all")
    assert not titles(at) and len(at.get("plotly_chart")) > 2 * n_charts
    press(at, "to_")
    assert len(at.get("plotly_chart")) == n_charts


def test_titles_are_in_the_language_of_the_reader_and_a_link_opens_the_same_panel_in_both():
    for lang, title in (("en", "Which units never fire?"), ("zh", "哪些单元从不激活？")):
        at = visit(one_panel("pages/feed_forward.py"), lang=lang, panel="dead-units", preset=None)
        assert open_title(at) == title


@pytest.fixture
def phone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a phone says of itself."""
    asked = {"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Mobile/15E148"}
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.headers", asked)


@pytest.mark.usefixtures("phone")
def test_on_a_phone_the_settings_of_a_panel_are_one_line_that_says_them_and_opens():
    at = one_panel("pages/cost.py", panel="training", training_device="a100-sxm-80gb")
    (line,) = [each.label for each in at.expander if "A100" in each.label]
    assert line.endswith("1 × NVIDIA A100 SXM 80GB at 40% utilization")
    assert not [each for each in at.slider if each.key.startswith("utilisation")]
    at.session_state["plan_fold"] = True
    at.run()
    assert_works(at)
    assert control(at, "utilisation").value == 0.4


@pytest.mark.usefixtures("phone")
def test_on_a_phone_the_questions_are_a_list_that_shows_the_open_one():
    at = one_panel("pages/cost.py", panel="fits")
    questions = control(at, "panel")
    assert not titles(at) and questions.index
    questions.select_index(0).run()
    assert_works(at)
    assert settings(at)["panel"] == "flops"


def test_a_narrow_screen_that_names_no_phone_lists_the_panel_that_is_open():
    at = opened("pages/masks.py", preset="course", text="a b c", panel="leaks")
    (pills,) = (each for each in at.get("button_group") if str(each.key).startswith("panel__"))
    at.session_state[NARROW.name] = True
    at.run()
    listed = [each for each in at.selectbox if each.key.startswith("panel__")]
    assert listed[0].value == "leaks" and listed[0].key != pills.key

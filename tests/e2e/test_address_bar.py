"""The link is the state: what is moved is in it, and what is in it is shown."""

import re

import pytest
from daily import some_daily
from playwright.sync_api import Page, expect
from served import Reader
from told import as_fast_as_a_hand, at, choose, expect_query, go_back, press, query, settle, unfold


def value(page, key: str):
    return at(page, key).get_by_test_id("stSliderThumbValue")


def test_a_move_is_in_the_link_and_back_undoes_it(reader: Reader):
    page = reader.load("/block?preset=course&d_model=64")
    assert query(page) == {"d_model": "64"}
    press(page, "d_model", "ArrowRight")
    expect_query(page, d_model="96")
    choose(page, "norm_placement", "post")
    expect_query(page, d_model="96", norm_placement="post")
    go_back(page)
    expect(at(page, "norm_placement").get_by_role("radio", name="pre", exact=True)).to_be_checked()
    settle(page)
    assert query(page) == {"d_model": "96"}
    expect(value(page, "d_model")).to_have_text("96")


@pytest.mark.exhaustive
def test_what_is_folded_is_one_click_away_and_back_undoes_it_too(reader: Reader):
    page = reader.open("/block?preset=course&d_model=64&panel=parameters")
    expect(at(page, "norm_placement")).to_have_count(0)
    unfold(page, "more")
    choose(page, "norm_placement", "post")
    expect_query(page, d_model="64", norm_placement="post")
    expect(at(page, "more").locator("summary")).to_contain_text("1 changed")
    go_back(page)
    expect(at(page, "norm_placement").get_by_role("radio", name="pre", exact=True)).to_be_checked()
    settle(page)
    assert query(page) == {"d_model": "64", "panel": "parameters"}


@pytest.mark.exhaustive
def test_a_spoilt_link_is_read_as_far_as_it_can_be_and_back_and_on_lead_through_it(reader: Reader):
    spoilt = "n_heads=javascript:alert(1)&text=a%00b%ED%A0%80%ff%&%00=%&lang=../en"
    page = reader.load(f"/block?preset=course&d_model=64&d_model=96&{spoilt}")
    expect(value(page, "d_model")).to_have_text("96")
    expect(page.get_by_test_id("stException")).to_have_count(0)
    choose(page, "norm_placement", "post")
    expect_query(page, d_model="96", norm_placement="post")
    go_back(page)
    expect(at(page, "norm_placement").get_by_role("radio", name="pre", exact=True)).to_be_checked()
    settle(page)
    as_fast_as_a_hand(page)
    page.go_forward()
    expect(at(page, "norm_placement").get_by_role("radio", name="post", exact=True)).to_be_checked()
    expect(value(page, "d_model")).to_have_text("96")
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_who_comes_back_finds_what_was_set_in_a_section_that_reruns_alone(reader: Reader):
    page = reader.open("/cost?d_model=1024&n_heads=8")
    passes = page.get_by_role("radiogroup", name="Kind of computation")
    passes.get_by_role("radio", name="training step", exact=True).click()
    expect_query(page, preset="gpt2-small", counted_pass="training")
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_test_id("stDialog")).to_contain_text("counted_pass=training")
    page.keyboard.press("Escape")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Parameters").click()
    expect(page.locator("h1")).to_have_text("Parameters")
    expect_query(page, preset="gpt2-small", d_model="1024")
    expect(value(page, "d_model")).to_have_text("1024")
    assert "counted_pass" not in query(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Cost").click()
    expect_query(page, d_model="1024", counted_pass="training")


def test_a_fast_move_of_a_slider_that_is_just_changing_undoes_nothing(reader: Reader):
    page = reader.open("/block?preset=course&d_model=64")
    press(page, "d_model", "ArrowRight")
    at(page, "n_heads").locator("input[type=range]").fill("2")
    as_fast_as_a_hand(page)
    choose(page, "norm_kind", "RMSNorm")
    expect_query(page, d_model="96", norm_kind="rmsnorm")
    assert query(page).keys() <= {"d_model", "n_heads", "norm_kind"}


def test_fast_steps_of_one_slider_add_up_and_move_nothing_else(reader: Reader):
    page = reader.open("/block?preset=course&d_model=96")
    press(page, "d_model", *["ArrowRight"] * 4)
    expect_query(page, d_model="384")
    assert query(page) == {"d_model": "384"}
    expect(value(page, "d_ff")).to_have_text("1536")


@pytest.mark.exhaustive
def test_two_readers_at_once_see_each_their_own(reader: Reader, other_reader: Reader):
    link = "/block?preset=course&d_model=96"
    pages = reader.open(link), other_reader.open(link)
    press(pages[0], "d_model", "ArrowRight")
    press(pages[1], "d_model", "ArrowLeft")
    choose(pages[0], "norm_kind", "RMSNorm")
    choose(pages[1], "norm_kind", "BatchNorm")
    expect_query(pages[0], d_model="128", norm_kind="rmsnorm")
    expect_query(pages[1], d_model="64", norm_kind="batchnorm")
    for page, width in zip(pages, ("128", "64"), strict=True):
        expect(page.get_by_test_id("stMain")).to_contain_text(f"× {width} ")
    assert [page.locator("h1").inner_text().isascii() for page in pages] == [True, False]


@pytest.mark.parametrize("name", some_daily(["block", "gpt", "parameters"], daily=["block"]))
def test_what_stands_after_a_move_is_what_its_link_shows(reader: Reader, name: str):
    """Only the body of the page is drawn anew."""
    page = reader.open(f"/{name}?preset=course")
    for field in ("d_model", "n_heads"):
        press(page, field, "ArrowRight")
        settle(page)
    moved = everything_said(page)
    assert "d_model=" in page.url and "n_heads=" in page.url
    page.reload()
    settle(page)
    assert everything_said(page) == moved


def everything_said(page: Page) -> list[str]:
    """All lines of sidebar and page, but for icons, times, and what was seen before the move."""
    lines = [page.get_by_test_id(f"st{part}").inner_text() for part in ("Sidebar", "Main")]
    said = "\n".join(lines).splitlines()
    return [line for line in said if not re.search(r"\d ms|before|^[a-z_]+$", line)]


@pytest.mark.exhaustive
def test_a_link_within_a_page_is_in_the_address_and_back_leads_before_it(reader: Reader):
    page = reader.load("/attention?lesson=attention-by-hand&lesson_step=99&lang=en")
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("link", name="Next lesson").click()
    expect_query(page, lang="en", lesson="scaling", panel="random-scores")
    go_back(page)
    settle(page)
    assert query(page)["lesson"] == "attention-by-hand"
    expect(page.get_by_role("link", name="Next lesson")).to_be_visible()


def test_leaving_a_lesson_is_one_step_and_back_leads_into_it_again(reader: Reader):
    page = reader.open("/attention?lesson=scaling&lesson_step=1&lang=en")
    at(page, "leave").get_by_role("link").click()
    expect(at(page, "left_lesson").get_by_role("link")).to_contain_text("step 2 of 6")
    settle(page)
    assert "lesson" not in query(page)
    go_back(page)
    expect(at(page, "lesson_card")).to_be_visible()
    settle(page)
    assert (query(page)["lesson"], query(page)["lesson_step"]) == ("scaling", "1")

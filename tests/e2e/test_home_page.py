"""Ten seconds: a drawing that leads somewhere, and questions that do."""

from urllib.parse import urlsplit

from playwright.sync_api import expect
from served import Reader
from told import click_mark, expect_query, plot, settle


def test_a_click_on_the_drawing_opens_that_part(reader: Reader):
    page = reader.open("/?preset=course&d_model=64&lang=en")
    stages = plot(page, "home_strip", "chart.data[0].customdata.map(row => row[0])")
    click_mark(page, "home_strip", 1, stages.index("feed_forward_norm"))
    expect(page.locator("h1")).to_have_text("Norms: what they do for depth")
    expect_query(page, stage="feed_forward_norm", d_model="64", lang="en")


def test_each_question_leads_to_its_page_and_state(reader: Reader):
    page = reader.open("/")
    links = page.get_by_test_id("stMain").get_by_test_id("stPageLink").get_by_role("link")
    expect(links.nth(7)).to_be_visible()
    goals = [urlsplit(link.get_attribute("href")) for link in links.all()]
    assert len(set(goals)) == len(goals) > 5
    for i in (0, len(goals) - 1):
        links.nth(i).click()
        expect(page.locator("h1")).not_to_have_text("See a Transformer work")
        settle(page)
        assert urlsplit(page.url).path.endswith(goals[i].path.strip("/").split("/")[-1])
        assert goals[i].query in urlsplit(page.url).query
        page.go_back()
        expect(page.locator("h1")).to_have_text("See a Transformer work")
        settle(page)

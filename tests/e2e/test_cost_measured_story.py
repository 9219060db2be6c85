"""Measuring in a browser: it is stopped between two steps, goes on, and ends when one leaves."""

import pytest
from playwright.sync_api import expect
from served import Reader
from told import at, expect_query, settle

LINK = "/cost?preset=gpt2-small&context_len=64&panel=roofline"


@pytest.mark.exhaustive
def test_a_measurement_is_stopped_and_goes_on_and_the_reader_may_leave(reader: Reader):
    page = reader.open(LINK)
    at(page, "measure_device_button").get_by_role("button").click()
    at(page, "device_steps_stop").get_by_role("button").click()
    expect(page.get_by_text("Stopped after")).to_be_visible()
    settle(page)
    expect(at(page, "roofline_dots")).to_have_count(0)
    at(page, "device_steps_go_on").get_by_role("button").click()
    expect(at(page, "device_rates")).to_be_visible()
    page.get_by_role("link", name="Masks").first.click()
    expect(at(page, "measure_device_button")).to_have_count(0)
    page.get_by_role("link", name="Cost").first.click()
    expect_query(page, measure_device="1")

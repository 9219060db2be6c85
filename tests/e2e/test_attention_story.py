"""The page of attention in front of a reader: its steps, by key."""

from served import Reader
from told import expect_query


def test_steps_are_walked_by_key(reader: Reader):
    page = reader.open("/attention?preset=sort&text=transform&layer=1&panel=steps")
    page.locator("h1").click()
    page.keyboard.press("n")
    expect_query(page, attention_step="qkv")
    page.keyboard.press("n")
    expect_query(page, attention_step="scores")
    page.keyboard.press("b")
    expect_query(page, attention_step="qkv")

"""A small model is trained, watched, left alone and found again."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from served import Reader
from told import at, open_panel, plot, query, settle

from blocks.weights.model_file import read_model_file

SHORT = "n_layers=1&d_model=16&batch_size=2&task=sort&task_seq_len=8&warmup_steps=0"

HAS_MORE_POINTS = (
    "n => document.querySelector('.st-key-loss .js-plotly-plot')?.data?.[0].x.length > n"
)


def start(page: Page) -> str:
    """Press Start; returns the name of the run."""
    at(page, "start_training").get_by_role("button").click()
    expect(page).to_have_url(re.compile("[?&]run="))
    return query(page)["run"]


def expect_state(page: Page, *states: str) -> None:
    """Wait until the run says that it is in one of these states."""
    expect(page.get_by_test_id("stProgress")).to_contain_text(re.compile("|".join(states)))


def made_updates(page: Page) -> int:
    """How many updates the page says were made."""
    numbers = re.findall(r"[\d,]+", page.get_by_test_id("stProgress").inner_text())
    return int(numbers[0].replace(",", ""))


@pytest.mark.exhaustive
def test_a_model_learns_before_ones_eyes_and_can_be_opened(reader: Reader):
    page = reader.open(f"/training?{SHORT}&n_steps=30")
    run_id = start(page)
    expect_state(page, "finished")
    settle(page)
    assert plot(page, "loss", "chart.data[0].x.length") == 30
    open_panel(page, "The trained model", "model")
    with page.expect_download() as download:
        page.get_by_role("button", name="step-30.safetensors").click()
    saved = read_model_file(Path(download.value.path()).read_bytes())
    assert (saved.card.task, saved.card.n_steps) == ("sort", 30)
    page.get_by_role("link", name="As a GPT").click()
    expect(page).to_have_url(re.compile(f"/gpt.*{run_id}"))
    settle(page)
    assert page.get_by_test_id("stAlert").filter(has_text="Adjusted").count() == 0


@pytest.mark.exhaustive
def test_a_page_that_was_closed_is_found_again_by_its_link(reader: Reader, other_reader: Reader):
    page = reader.open(f"/training?{SHORT}&n_steps=20000")
    run_id = start(page)
    expect_state(page, "running")
    page.wait_for_function(HAS_MORE_POINTS, arg=0)
    before = made_updates(page)
    page.close()
    other = other_reader.open(f"/training?run={run_id}")
    other.wait_for_function(HAS_MORE_POINTS, arg=0)
    assert made_updates(other) > before
    at(other, "stop_run").get_by_role("button").click()
    expect_state(other, "已停止", "stopped")

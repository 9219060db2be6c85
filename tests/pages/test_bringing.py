"""A model from the hub, on Home: looked up, fetched, opened; or what to do instead."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from brought_folders import save_folder
from opened import HOME, assert_works, opened, press
from stand_in_hub import Hub, stand_in
from streamlit.testing.v1 import AppTest

from blocks.weights.hub import HubModel
from pages.page import bringing
from pages.server import brought


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub of this machine with one model, offered to one person."""
    pytest.importorskip("huggingface_hub")
    folder = save_folder("gpt2", tmp_path / "gpt2")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BLOCKSCOPE_HUB", "1")
    monkeypatch.setattr(brought.address, "is_alone", lambda: True)
    monkeypatch.setattr(brought, "folders", tuple)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with stand_in({"a/model": files}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        yield server


def looked_up(name: str) -> AppTest:
    at = opened(HOME, preset=None, panel=None)
    at.text_input(key="home_hub_name").set_value(name).run()
    return press(at, "home_hub_look_up")


def test_a_model_is_looked_up_fetched_and_opened(hub: Hub):
    at = looked_up("a/model")
    assert any(each.value.startswith("`a/model`: 2 files, ") for each in at.caption)
    press(at, "home_hub_fetch")
    assert at.query_params["preset"] == "hub:a/model"
    assert_works(at)
    assert brought.on_this_machine() == ("hub:a/model",)
    hub.asked.clear()
    at = opened(HOME, preset="hub:a/model", panel=None)
    assert_works(at)
    assert hub.asked == []


def test_who_touches_something_stops_it_and_goes_on_later(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
):
    at = looked_up("a/model")
    monkeypatch.setattr(bringing, "is_touched", lambda: True)
    press(at, "home_hub_fetch")
    assert_works(at)
    assert at.query_params["preset"] == "stories-en-zh" and brought.on_this_machine() == ()
    monkeypatch.setattr(bringing, "is_touched", lambda: False)
    press(at, "home_hub_fetch")
    assert at.query_params["preset"] == "hub:a/model"


def test_what_does_not_come_says_why_and_nothing_is_opened(hub: Hub):
    at = looked_up("a/model")
    hub.gated["a/model"] = 403
    press(at, "home_hub_fetch")
    assert any("accept its license on" in each.value for each in at.error) and not at.exception
    assert at.query_params.get("preset") != "hub:a/model"
    at = looked_up("a/gone")
    assert any("no model a/gone" in each.value for each in at.error)


def test_progress_says_bytes_and_the_time_left_once_it_is_known():
    assert bringing.seconds_left(80, 0, 0.0) is None is bringing.seconds_left(0, 80, 9.0)
    assert bringing.seconds_left(60 * 10**6, 20 * 10**6, 50.0) == 150
    assert bringing.says_coming(20 * 10**6, 10**8, None) == "20 MB of 100 MB"
    assert bringing.says_coming(40 * 10**6, 10**8, 150) == "40 MB of 100 MB · about 2 min left"
    assert bringing.says_coming(40 * 10**6, 10**8, 12.0) == "40 MB of 100 MB · about 12 s left"


def test_of_gguf_files_the_one_that_was_chosen_is_named():
    found = HubModel("a/model", "0" * 40, (("toy-Q4_K_M.gguf", 12_000_000),))
    assert bringing.says_found(found) == "`a/model`: `toy-Q4_K_M.gguf`, 12 MB to download."

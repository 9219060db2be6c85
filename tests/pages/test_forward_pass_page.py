"""The page of one pass, without a browser: what stands around the picture."""

import pytest
from opened import assert_works, opened, press, said

from blocks.inspection import scene

PAGE = "pages/forward_pass.py"


def test_a_cell_of_the_link_is_written_out():
    at = opened(PAGE, preset="sort", text="sea", panel="", zoom="cell", cell="layers.0.scores:2,1")
    assert_works(at)
    assert "layer 1 · scores · head 1" in said(at) and "q · k = " in said(at)
    assert at.query_params["zoom"] == "cell"


def test_a_text_that_is_too_long_can_be_shortened(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scene, "most_tokens", lambda config: 4)
    at = opened(PAGE, preset="stories-en-zh", panel="", text="Once there was a shy owl.")
    assert "room for 4 tokens" in at.info[0].value
    press(at, "shorten_for_the_pass")
    assert_works(at)
    assert at.query_params["text"] == "Once there was a" and not at.info

"""The page of one pass, without a browser: what stands around the picture."""

import pytest
from opened import assert_works, opened, press, said

from blocks.inspection import scene

PAGE = "pages/forward_pass.py"


def test_a_cell_of_the_link_is_written_out():
    at = opened(PAGE, preset="sort", text="sea", panel="", zoom="cell", cell="layers.0.scores:2,1")
    assert_works(at)
    assert at.query_params["zoom"] == "cell"


def test_a_gradient_of_the_link_is_the_sum_of_its_parts():
    cell = "layers.0.resid_mid:1,3"
    query = {"preset": "stories-en-zh", "text": "Once there was", "zoom": "cell", "cell": cell}
    at = opened(PAGE, **query, panel="", direction="backward")
    assert_works(at)
    assert "Each square is a gradient" in said(at)


def test_a_text_that_is_too_long_can_be_shortened(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scene, "most_tokens", lambda config: 4)
    at = opened(PAGE, preset="stories-en-zh", panel="", text="Once there was a shy owl.")
    assert "room for 4 tokens" in at.info[0].value
    press(at, "shorten_for_the_pass")
    assert_works(at)
    assert at.query_params["text"] == "Once there was a" and not at.info

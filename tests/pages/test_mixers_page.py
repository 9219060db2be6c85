"""Every page with a state in the place of attention: a picture, or a sentence that says why not."""

import pytest
from opened import PAGES, assert_works, opened, press, said, settings

pytestmark = pytest.mark.usefixtures("shallow")

SMALL = {"preset": "course", "d_model": 32, "n_heads": 4, "n_layers": 2, "text": "the red ball"}
MIXERS = ["gru", "gated_delta"]
NO_PATTERN = "There is no attention pattern here: tokens are mixed by a"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.thinned
def test_a_page_shows_or_says_why_not(page: str):
    mixer = MIXERS[PAGES.index(page) % 2]
    at = opened(page, **SMALL, token_mixer=mixer, n_new_tokens=2)
    assert_works(at, warnings=None)
    assert settings(at)["token_mixer"] == mixer
    if "attention" in page or "masks" in page:
        assert NO_PATTERN in said(at)
    if "encoder" in page:
        assert "This page shows another architecture (encoder with attention)" in said(at)
    if "gpt" in page:
        assert "as many as after the first" in said(at)


def test_attention_is_one_press_away():
    at = opened("pages/attention.py", **SMALL, token_mixer="gru", panel="pattern")
    assert NO_PATTERN in said(at)
    press(at, "use_attention_pattern")
    assert_works(at)
    assert NO_PATTERN not in said(at) and "token_mixer" not in at.query_params


BESIDE = [
    "app.py",
    *(f"pages/{name}.py" for name in ("attention", "block", "gpt", "cost", "compare")),
]


@pytest.mark.parametrize("page", BESIDE)
@pytest.mark.thinned
def test_a_state_stands_beside_attention(page: str):
    kept = "A=preset%3Dcourse%26d_model%3D32%26n_heads%3D4%26n_layers%3D2%26token_mixer%3D"
    at = opened(page, **SMALL, kept=kept + "gated_delta", n_new_tokens=2)
    assert_works(at, warnings=None)
    if "attention" in page:
        press(at, "b_alone_pattern")
        assert_works(at, warnings=None)
        assert "A has no attention pattern" not in said(at)


HYBRID = {**SMALL, "n_layers": 3, "token_mixer": "gated_delta", "attention_every": 2}


@pytest.mark.parametrize("page", ["pages/attention.py", "pages/gpt.py"])
def test_of_a_hybrid_the_layers_that_attend_are_shown(page: str):
    at = opened(page, **HYBRID, n_new_tokens=2, layer=0)
    assert_works(at, warnings=None)
    if "attention" in page:
        assert "Layers with attention: 2. The others, " in said(at)
        assert "This panel needs attention in every layer" in said(at)
    else:
        assert "1 of 3 layers hold the keys and values of" in said(at)


def test_of_a_hybrid_it_is_said_which_layer_is_measured():
    at = opened("pages/cost.py", **HYBRID)
    assert_works(at, warnings=None)
    assert said(at).count("a layer like the last one is measured") == 3

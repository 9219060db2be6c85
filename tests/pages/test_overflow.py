"""Numbers that overflow a narrow format are said to, and never drawn."""

import pytest
from opened import HOME, NO_NUMBER, assert_works, opened, said, words_in_pictures

WILD = {"norm_kind": "none", "dtype": "float16", "activation": "relu_squared", "n_layers": 48}
SIZES = {"preset": "course", "d_model": 64, "n_heads": 4, "d_ff": 1024}
GPT, ENCODER, ATTENTION = "pages/gpt.py", "pages/encoder.py", "pages/attention.py"
PANELS = [
    *((HOME, ""), (GPT, "next"), (GPT, "all"), (ENCODER, "all")),
    *((ATTENTION, "contribution-graph"), (ATTENTION, "ablation")),
]


@pytest.mark.parametrize(("page", "panel"), PANELS)
def test_numbers_that_overflow_predict_nothing(page: str, panel: str):
    at = opened(page, **SIZES, **WILD, panel=panel or None)
    assert_works(at, warnings=None)
    assert "overflow float16 in this model" in at.main.warning[0].value
    assert not NO_NUMBER.search(said(at)) and not NO_NUMBER.search(words_in_pictures(at))


def test_no_claim_about_positions_is_true_of_numbers_that_overflow():
    at = opened("pages/positions.py", **SIZES, **WILD, panel="claims")
    assert_works(at)
    assert "The outputs overflow float32" in said(at)
    assert not NO_NUMBER.search(said(at)) and not NO_NUMBER.search(words_in_pictures(at))

"""The scaling lab: recorded valleys, larger runs foretold, the known floor, and a reader's runs."""

import pytest
from opened import assert_works, opened, said

PAGE = "pages/scaling.py"


def test_the_page_opens_with_recorded_valleys_and_both_fits():
    at = opened(PAGE)
    assert_works(at)
    text = said(at)
    assert "Each budget has a best size" in text


@pytest.mark.parametrize("panel", ["predict", "floor"])
def test_each_panel_compares_the_law_with_what_is_known(panel: str):
    at = opened(PAGE, panel=panel, size_counts="inner")
    assert_works(at)
    assert "90 % band" in said(at)


def test_a_file_of_known_truth_is_fitted():
    at = opened(PAGE, panel="own-runs", known_runs=True)
    assert_works(at)
    assert "The law finds it again" in said(at)

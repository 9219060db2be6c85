"""The scaling lab: recorded valleys, larger runs foretold, the known floor, and a reader's runs."""

import pytest
from opened import assert_works, opened, run, said

PAGE = "pages/scaling.py"


@pytest.mark.parametrize("trains", [True, False])
def test_settings_of_a_model_stand_where_it_is_to_be_trained(trains: bool):
    at = opened(PAGE, panel="transfer", check_coordinates=trains)
    assert_works(at)
    assert any(each.label == "Preset" for each in at.selectbox) == trains


def test_each_panel_opens_with_what_was_recorded():
    """All panels are open."""
    at = opened(PAGE, size_counts="inner")
    assert_works(at)
    text = said(at)
    for each in (
        "Each budget has a best size",
        "up to 3.4 times as expensive",
        "predicted in this way",
        "This text has a known entropy",
        "Every model here sees",
        "the best learning rates are",
    ):
        assert each in text


def test_depth_is_held_against_width():
    at = opened(PAGE, panel="trades", trade="depth")
    assert_works(at)
    assert "All shapes cost" in said(at)


def test_a_file_of_known_truth_is_fitted():
    at = opened(PAGE, panel="own-runs", known_runs=True)
    assert_works(at)
    assert "Fitting the law recovers this" in said(at)


GOOD = "N,D,loss\n" + "\n".join(
    f"{n},{c / 6 / n},{2 + 40 * n**-0.5 + 400 * (c / 6 / n) ** -0.5}"
    for c in (1e9, 1e10, 1e11)
    for n in (3e3, 1e4, 3e4, 1e5)
)


def test_a_file_of_ones_own_is_fitted_or_its_fault_is_said():
    at = opened(PAGE, panel="own-runs")
    files = {
        GOOD + "\n**x**,1e400,<b>\n": "1 row was left out",
        "N,loss\n1,2\n": "must name the columns",
        "**N**,<img src=x>,$a$\n1,2,3\n": "`**N**, <img src=x>, $a$`",
        _runs("{n},{d},3\n"): "do not determine a best size",
        _runs("{n},{d},{loss}\n"): "The best size grows",
        "x" * 10_000_000: "at most 1,000,000",
    }
    for raw, expected in files.items():
        file = ("runs.csv", raw.encode(), "text/csv")
        at.file_uploader(key="uploaded_runs").set_value(file)
        at = run(at)
        assert_works(at, warnings=None)
        assert expected in said(at) + "".join(each.value for each in at.warning)


def _runs(row: str) -> str:
    """Twelve runs, no two of one budget."""
    found = [(10**i * 3.0**j, 10**i * 9.0**j) for i in (3, 4, 5) for j in range(4)]
    return "N,D,loss\n" + "".join(
        row.format(n=n, d=d, loss=2 + 40 * n**-0.5 + 400 * d**-0.5) for n, d in found
    )

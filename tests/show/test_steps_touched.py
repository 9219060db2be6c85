"""Long work stops for a reader, not for a section that draws itself again."""

from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests

from pages.show import steps

BY_THE_CLOCK = RerunData(fragment_id="live", is_auto_rerun=True)


@pytest.mark.parametrize(
    ("asked", "is_touched"),
    [
        ((), False),
        ((BY_THE_CLOCK,), False),
        ((BY_THE_CLOCK, BY_THE_CLOCK), False),
        ((RerunData(),), True),
        ((RerunData(fragment_id="other"), BY_THE_CLOCK), True),
        ((RerunData(), BY_THE_CLOCK), True),
    ],
)
def test_a_section_that_draws_itself_again_by_the_clock_stops_no_work(
    monkeypatch, asked: tuple[RerunData, ...], is_touched: bool
):
    requests = ScriptRequests()
    for each in asked:
        requests.request_rerun(each)
    found = SimpleNamespace(script_requests=requests)
    monkeypatch.setattr(steps, "get_script_run_ctx", lambda: found)
    assert steps.is_touched() == is_touched


def test_what_is_left_is_timed_by_the_steps_that_are_done():
    equal = [1.0] * 10
    assert steps.seconds_left(equal, 4, until=8.0, since=0.0) == 12
    assert steps.seconds_left(equal, 4, until=8.0, since=1.0) == 11
    assert steps.seconds_left(equal, 4, until=8.0, since=60.0) == 10  # five more, as long as before
    assert steps.seconds_left([1, 1, 4, 8], 2, until=2.0, since=0.0) == 12


@pytest.mark.parametrize("is_paused", [True, False])
def test_results_are_said_to_be_shown_only_where_some_are(is_paused: bool):
    assert "results so far" in steps.says_left(1, 31, is_paused=is_paused, shows_parts=True)
    for n_done, shows_parts in ((0, True), (1, False)):
        said = steps.says_left(n_done, 31, is_paused=is_paused, shows_parts=shows_parts)
        assert f"after {n_done} of 31" in said and "nothing to show yet" in said


def test_each_value_that_is_added_is_drawn_with_those_before_it(monkeypatch):
    monkeypatch.setattr(steps, "is_touched", lambda: False)
    drawn: list[list[int]] = []
    shown = steps._Progress(3, "counting", "counting")
    done = steps._followed(
        len, shown, is_asked=True, fewest=1, draws=lambda found: drawn.append([*found])
    )
    assert done.found == [0, 1, 2] and drawn == [[0], [0, 1], [0, 1, 2]]

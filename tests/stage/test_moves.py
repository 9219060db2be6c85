"""What the browser repeats of before is no move; what the reader does is one, even back again."""

import pytest

from pages.stage import moves
from pages.stage.moves import AS_LONG_AS_AN_ECHO, Move, without_echoes

RMSNORM = {"d_model": 64, "norm_kind": "rmsnorm"}
WITHOUT = {"d_model": 64}
BACK = Move("norm_kind", RMSNORM, WITHOUT, left_at=9.0)
MASKED = Move("mask_kind", WITHOUT, {**WITHOUT, "mask_kind": "none"}, left_at=None)
BOTH = {**RMSNORM, "mask_kind": "none"}


def test_what_went_back_beside_a_move_is_an_echo():
    assert without_echoes({**WITHOUT, "mask_kind": "none"}, [BACK, MASKED]) == BOTH
    first = Move("mask_kind", RMSNORM, BOTH, left_at=None)
    then = Move("norm_kind", BOTH, {**WITHOUT, "mask_kind": "none"}, left_at=9.0)
    assert without_echoes(then.after, [first, then]) == BOTH


def test_an_echo_of_a_preset_brings_back_what_it_took_along():
    before = {"preset": "gpt2-small", "d_model": 96}
    echo = Move("preset", before, {}, left_at=9.0)
    assert without_echoes({"mask_kind": "none"}, [echo, MASKED]) == {**before, "mask_kind": "none"}


@pytest.mark.parametrize("made", [[], [BACK], [MASKED], [BACK, BACK]])
def test_a_move_of_one_widget_is_a_move_even_back_again(made: list[Move]):
    after = made[-1].after if made else RMSNORM
    assert without_echoes(after, made) == after


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_that_went_back_the_reader_moved_the_one_left_before(is_first: bool):
    """Who opens a panel again sends along what a preset has just changed."""
    before = {"preset": "gpt2-small", "panel": "published"}
    echo = Move("d_model", before, {**before, "d_model": 96}, left_at=9.5)
    opened = Move("panel", before, {"preset": "gpt2-small", "d_model": 96}, left_at=8.0)
    made = [echo, opened] if is_first else [opened, echo]
    both = {"preset": "gpt2-small", "d_model": 96}
    assert without_echoes(both, made) == {"preset": "gpt2-small"}


def test_what_was_changed_again_stays():
    again = {"norm_kind": "batchnorm", "mask_kind": "none"}
    assert without_echoes(again, [BACK, MASKED])["norm_kind"] == "batchnorm"


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A session of its own, and its clock."""
    now = [10.0]
    monkeypatch.setattr("streamlit.session_state", {})
    monkeypatch.setattr(moves.time, "monotonic", lambda: now[0])
    return now


def test_only_what_a_widget_showed_a_moment_ago_can_be_an_echo(now: list[float]):
    for shown in ("layernorm", "rmsnorm"):
        moves.show("norm_kind", shown)
    for moved_to, seconds in (("layernorm", 0.1), ("none", 0), ("layernorm", AS_LONG_AS_AN_ECHO)):
        now[0] += seconds
        moves.note("norm_kind", moved_to, RMSNORM, WITHOUT)
    assert [move.left_at for move in moves.noted()] == [10.0, None, None]
    assert moves.noted() == ()


class Told(dict[str, object]):
    """A session that notes what widgets are told, be it what they have shown before."""

    def __init__(self) -> None:
        self.told = list[str]()

    def __setitem__(self, key: str, value: object) -> None:
        self.told.append(key)
        super().__setitem__(key, value)


def test_a_widget_that_was_gone_is_told_again_what_it_shows(monkeypatch: pytest.MonkeyPatch):
    """Streamlit keeps what one within a fragment of its own has shown; the browser does not."""
    state = Told()
    monkeypatch.setattr("streamlit.session_state", state)
    for names in (("layer", "head"), ("layer",), ("layer", "head")):
        state.told.clear()
        moves.begin()
        for name in names:
            moves.show(name, 2)
        moves.forget_gone()
    assert "head" in state.told and "layer" not in state.told

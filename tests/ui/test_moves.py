"""What the browser repeats of before is no move; what the reader does is one, even back again."""

import pytest

from pages.ui.moves import AS_LONG_AS_AN_ECHO, Left, Move, recent, without_echoes

RMSNORM = {"d_model": 64, "norm_kind": "rmsnorm"}
WITHOUT = {"d_model": 64}
BACK = Move("norm_kind", RMSNORM, WITHOUT, goes_back=True)
MASKED = Move("mask_kind", WITHOUT, {**WITHOUT, "mask_kind": "none"}, goes_back=False)
BOTH = {**RMSNORM, "mask_kind": "none"}


def test_what_went_back_beside_a_move_is_an_echo():
    assert without_echoes({**WITHOUT, "mask_kind": "none"}, [BACK, MASKED]) == BOTH
    first = Move("mask_kind", RMSNORM, BOTH, goes_back=False)
    then = Move("norm_kind", BOTH, {**WITHOUT, "mask_kind": "none"}, goes_back=True)
    assert without_echoes(then.after, [first, then]) == BOTH


def test_an_echo_of_a_preset_brings_back_what_it_took_along():
    before = {"preset": "gpt2-small", "d_model": 96}
    echo = Move("preset", before, {}, goes_back=True)
    assert without_echoes({"mask_kind": "none"}, [echo, MASKED]) == {**before, "mask_kind": "none"}


@pytest.mark.parametrize("moves", [[], [BACK], [MASKED], [BACK, BACK]])
def test_a_move_of_one_widget_is_a_move_even_back_again(moves: list[Move]):
    after = moves[-1].after if moves else RMSNORM
    assert without_echoes(after, moves) == after


def test_what_was_changed_again_stays():
    again = {"norm_kind": "batchnorm", "mask_kind": "none"}
    assert without_echoes(again, [BACK, MASKED])["norm_kind"] == "batchnorm"


def test_an_echo_comes_soon():
    left = [Left("norm_kind", "layernorm", at=10.0)]
    assert recent(left, now=10.1) == left
    assert recent(left, now=10.1 + AS_LONG_AS_AN_ECHO) == []

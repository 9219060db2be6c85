"""A line beside a picture, as much of it as is read at a glance."""

import pytest

from pages.show.explain import at_a_glance

LONG = " ".join(["word"] * 20)


@pytest.mark.parametrize(
    ("text", "shown", "rest"),
    [
        ("Greedy, on the CPU.", "Greedy, on the CPU.", ""),
        ("Input", "Input", ""),
        ("Exact counts for each way:", "Exact counts for each way:", ""),
        (f"{LONG}. {LONG}.", f"{LONG}.", f"{LONG}."),
        (f"{LONG}; {LONG}", f"{LONG} …", LONG),
        (f"{'很长' * 15}。{'很长' * 15}。", f"{'很长' * 15}。", f"{'很长' * 15}。"),
    ],
)
def test_what_is_left_out_is_at_the_mark(text: str, shown: str, rest: str):
    assert at_a_glance(text) == (shown, rest)

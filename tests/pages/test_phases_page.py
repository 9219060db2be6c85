"""Phase changes: each question shows its run, moves through it, and trains what does not ship."""

import pytest
from opened import opened

PAGE = "pages/phases.py"


@pytest.mark.parametrize(
    ("panel", "link"),
    [
        ("grokking", {"clock_step": "0"}),
        ("circle", {"key_frequency": "5"}),
        ("induction-head", {"clock_step": "120"}),
        ("superposition", {}),
        ("dictionary", {}),
        ("branch", {}),
    ],
)
def test_a_question_shows_the_run_that_ships(panel: str, link: dict):
    at = opened(PAGE, panel=panel, **link)
    print(
        [x.value for x in at.info], [x.value for x in at.caption][:9], [b.label for b in at.button]
    )

    assert not at.exception

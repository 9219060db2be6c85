"""A link sets controls: what takes long begins where the reader presses something."""

import pytest
from opened import BLOCK, assert_works, figure, opened, press, settings

NORMALIZATION, COST = "pages/normalization.py", "pages/cost.py"
ENDS = {"text": "a b c", "n_layers": 1, "seed": 4242}  # known to no other test
# Page, the link that asks, and what its work is called.
LONG = [
    (BLOCK, {"each_in_turn": "true", "panel": "ablation"}, "effects"),
    ("pages/attention.py", {"measure_kinds": "true", "panel": "kinds"}, "growth"),
    (NORMALIZATION, {"race": "true", "race_depth": "2", "panel": "race"}, "race_steps"),
    ("pages/masks.py", {"train_peeking": "true", "panel": "peeking"}, "peeking_steps"),
    (COST, {"measure_device": "1", "panel": "roofline"}, "device_steps"),
    (COST, {"measure_sweep": "1", "panel": "sweeps"}, "sweep_steps"),
    (COST, {"measure_dtypes": "1", "panel": "formats"}, "dtype_steps"),
    (COST, {"measure_kinds": "true", "panel": "attention-growth"}, "growth"),
]


@pytest.mark.parametrize(("page", "link", "work"), LONG, ids=[work for *_, work in LONG])
def test_a_link_that_asks_for_long_work_only_offers_it(page: str, link: dict, work: str):
    at = opened(page, **ENDS, **link)
    assert_works(at, warnings=None)
    assert f"{work}_done" not in at.session_state
    assert link.items() <= settings(at).items()
    (offered,) = (button.label for button in at.button if button.key == f"{work}_begin")
    assert offered == "Start"


def test_what_a_link_asks_for_begins_with_a_press():
    at = opened(BLOCK, **ENDS, each_in_turn=True, panel="ablation")
    press(at, "effects_begin")
    assert_works(at)
    assert settings(at)["each_in_turn"] == "true"
    assert figure(at, "effects")["data"]

"""The test chart: each instrument's answer beside the truth, and the way to its own picture."""

import pytest
from opened import assert_works, figure, opened, run, visit

from blocks.known.cells import right_in

PAGE = "pages/instruments.py"


SOME = ("head-names", "attention", "leak-test")
CHART = {"preset": None, "panel": "chart", "lang": "en"}


def test_an_instrument_is_shown_beside_the_truth():
    at = opened(PAGE, **CHART)
    for instrument in SOME:
        visit(at, **CHART, instrument=instrument, known_model="planted-induction")
        assert_works(at)
        assert any("planted reads" in each.value for each in at.markdown), instrument
    visit(at, **CHART, instrument="leak-test", known_model="sort")
    assert_works(at)
    assert any("was not tested" in each.value for each in at.markdown)


@pytest.mark.parametrize(("page", "panel"), [("gpt", "logit-lens"), ("attention", "head-probe")])
def test_a_model_of_known_truth_is_opened_with_its_truth_and_the_score(page: str, panel: str):
    preset = "known:induction"
    at = opened(f"pages/{page}.py", preset=preset, text="^abcab", panel=panel, lang="en")
    assert_works(at)
    assert any("1.3" in each.value and "2.1" in each.value for each in at.caption)
    instrument = {"head-probe": "head-names"}.get(panel, panel)
    n_right, n = right_in(instrument)
    links = [each.proto.label for each in at.get("page_link")]
    assert any(f"{n_right} of {n}" in label for label in links)


def test_a_token_is_followed_and_the_attention_of_another_head_is_drawn():
    at = opened(PAGE, preset=None, panel="circuit", circuit_follow="4", lang="en")
    assert any("`[` (5) adds" in each.value for each in at.info)
    (head,) = (each for each in at.selectbox if each.label.startswith("Head"))
    head.set_value("2")
    at = run(at)
    assert_works(at)
    assert figure(at, "circuit_attention")["layout"]["title"]["text"].startswith("Head 3")


def test_a_weight_of_a_circuit_is_taken_out_and_the_rest_measured_anew():
    at = opened(PAGE, preset=None, panel="circuit", circuit_without="0", lang="en")
    assert_works(at)
    assert any("With 1 of these removed" in each.value for each in at.info)
    assert any("Control with 3 seeds" in each.value for each in at.caption)
    at.button(key="put_back").click()
    at = run(at)
    assert any("are left. With these" in each.value for each in at.info)
    assert "put_back" not in [each.key for each in at.button]

"""Present: one panel a screen, in the link, led by keys."""

from base64 import b64decode

import numpy as np
import pytest
from opened import assert_works, figure, opened, press, run, said, visit

from pages.figures import palette


def presented(page: str, **query: object):
    return opened(page, **{"preset": None, "panel": None, "present": True, **query})


def test_what_is_set_waits_in_the_sidebar():
    at = presented("pages/attention.py")
    assert any(fold.label and "pinned token" in fold.label for fold in at.sidebar.expander)
    assert not at.main.expander


def test_the_step_and_its_arithmetic_stand_alone():
    at = presented("pages/attention.py", panel="steps", attention_step="softmax")
    assert {chart.proto.id.rpartition("-")[2] for chart in at.get("plotly_chart")} == {"step"}
    assert any("▸ **Softmax over each row**" in each.value for each in at.markdown)
    press(at, "step_on")
    assert at.query_params["attention_step"] == "mix"
    assert not at.get("popover")
    assert any(each.value.startswith("**6/8 · layer 1, head 1** ") for each in at.markdown)


def test_the_steps_begin_with_what_goes_in():
    at = presented("pages/attention.py", panel="steps")
    assert any(each.value.startswith("**0/8 · ") for each in at.markdown)
    assert at.button(key="step_back").disabled


def test_a_remote_control_leads_through_the_steps_and_then_to_the_next_panel():
    at = presented("pages/attention.py", panel="steps", attention_step="write")
    keys = {name: at.button(key=name).proto.shortcut for name in ("step_on", "panel_on")}
    assert keys == {"step_on": "pagedown", "panel_on": ""}
    assert at.button(key="step_back").proto.shortcut == "pageup"
    run(press(at, "step_on"))
    assert at.query_params["attention_step"] == "heads"
    run(press(at, "step_on"))
    assert at.query_params["panel"] == "score-gradient"
    assert at.button(key="panel_on").proto.shortcut == "pagedown"
    run(press(at, "panel_back"))
    assert at.query_params["attention_step"] == "heads"


def test_a_class_sees_only_the_picture_that_the_sentence_speaks_of():
    at = presented("pages/instruments.py", panel="chart")
    (chart,) = at.get("plotly_chart")
    assert chart.proto.id.endswith("chart_lying")
    layout = figure(at, "chart_lying")["layout"]
    assert len(layout["yaxis"]["ticktext"]) == 10 < len(layout["xaxis"]["ticktext"]) == 22
    assert layout["height"] <= 510


@pytest.mark.parametrize("step", ["project", "qkv", "scores", "heads"])
@pytest.mark.thinned
def test_of_four_tokens_every_matrix_has_its_numbers(step: str):
    small = {"preset": "course", "d_model": 16, "n_heads": 4, "text": "a b c d"}
    at = presented("pages/attention.py", panel="steps", attention_step=step, **small)
    maps = [trace for trace in figure(at, "step")["data"] if trace["type"] == "heatmap"]
    assert len(maps) == (2 if step == "heads" else 3) and all("text" in trace for trace in maps)


def test_the_circle_of_rope_ends_where_the_model_turns_a_pair_to():
    at = presented("pages/positions.py", panel="kinds", position_kind="rope", token=2)
    (arrow,) = [
        note
        for note in figure(at, "position_circle")["layout"]["annotations"]
        if note.get("arrowcolor") == palette.PINNED
    ]
    assert "the rotation is k ×" in said(at)
    visit(at, panel="kinds", position_kind="rope", token=2)
    curves = [curve["y"] for curve in figure(at, "position_curves")["data"][:2]]
    packed = (np.frombuffer(b64decode(y["bdata"]), y["dtype"]) for y in curves)
    sine, cosine = (y[2] for y in packed)
    assert [arrow["x"], arrow["y"]] == pytest.approx([cosine, sine], rel=1e-4)


def test_the_same_picture_is_large_only_where_it_is_presented():
    link = {"preset": "course", "panel": "flow", "text": "a b"}
    at = opened("pages/block.py", **link)
    small = figure(at, "strip")["layout"]
    visit(at, **link, present=True)
    large = figure(at, "strip")["layout"]
    visit(at, **link)
    assert small == figure(at, "strip")["layout"] != large
    assert large["font"]["size"] == 16 and "size" not in small.get("font", {})


def test_the_title_says_which_model_is_shown():
    (title,) = presented("pages/cost.py", panel="fits", preset="llama-3-8b").title
    assert "Llama 3 8B" in title.value and "changed" not in title.value
    (title,) = presented("pages/cost.py", panel="fits", preset="llama-3-8b", n_layers=4).title
    assert "changed" in title.value


def test_keys_that_would_lead_nowhere_are_off_or_not_there():
    keys = {each.key for each in presented("pages/forward_pass.py", panel=None).button}
    assert "end_present" in keys and not {"panel_on", "panel_back"} & keys
    at = presented("pages/masks.py", panel="leaks")
    assert [at.button(key=f"panel_{way}").disabled for way in ("back", "on")] == [True, False]


def test_of_a_deep_model_a_class_sees_the_heads_of_one_layer():
    deep = {"panel": "heads", "d_model": 16, "n_heads": 2, "n_layers": 13}
    at = presented("pages/attention.py", **deep, layer=11)
    assert_works(at)
    assert "The heads of layer 12" in figure(at, "layer_tiles")["layout"]["title"]["text"]
    assert "Layer 12. The sharpest is head" in said(at)
    press(at, "layer_by_1")
    assert "The heads of layer 13" in figure(at, "layer_tiles")["layout"]["title"]["text"]
    assert at.button(key="layer_by_1").disabled
    keys = {"all_head_tiles", "layer_tiles"}
    at = visit(at, preset=None, **deep, layer=11)
    assert all(figure(at, key)["data"] for key in keys)


def test_the_lens_of_a_class_is_the_curve_and_the_pinned_row():
    lens = {"panel": "logit-lens", "preset": "stories-en-zh"}
    at = presented("pages/gpt.py", **lens)
    cells = figure(at, "lens_grid")["data"][0]["text"]
    assert len(cells) == 1 and all("<br>#" in cell for cell in cells[0])
    assert figure(at, "lens_ranks")["data"]
    assert len(figure(visit(at, **lens), "lens_grid")["data"][0]["text"]) > 1


def test_everything_is_not_presented_at_once():
    at = presented("pages/masks.py", panel="all")
    assert len(at.title) == 1
    assert_works(at, warnings=None)


def test_a_lesson_is_presented_as_text_then_answer_then_panel():
    at = opened("pages/attention.py", panel=None, lesson="scaling", present=True)
    assert_works(at)
    assert "How widely do the scores spread" in said(at) and "Measured" not in said(at)
    assert not at.get("plotly_chart")
    press(at, "without_guess")
    assert_works(at)
    assert "measured value is 4.07" in said(at)
    press(at, "lesson_panel")
    assert_works(at)
    assert "Measured" not in said(at) and at.get("plotly_chart")
    run(press(at, "wall_on"))
    assert at.query_params["lesson_step"] == "1" and "What softmax makes of it" in said(at)

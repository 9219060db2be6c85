"""Changing something inside the model, on every page that shows one."""

import pytest
from opened import assert_works, control, figure, move, opened, press, said, settings, visit

ENCODER, GPT, BLOCK = "pages/encoder.py", "pages/gpt.py", "pages/block.py"


@pytest.mark.parametrize("page", [BLOCK, ENCODER, GPT])
@pytest.mark.thinned
def test_a_head_is_switched_off_and_on_again(page: str):
    at = opened(page, preset=None, change_head=1)
    move(at, "change_layer", 1)
    press(at, "change_it")
    assert_works(at)
    assert at.query_params["interventions"] == "head_out.1.1:zero"
    assert "Changes inside the model: layer 2, head 2 → zeros" in said(at)
    assert "The attention pattern of a changed head is still drawn" in said(at)
    assert "At the pinned token" in said(at)
    press(at, "undo_all")
    assert_works(at)
    assert "interventions" not in at.query_params and "Changes inside" not in said(at)


def test_the_panel_that_changes_the_model_says_so_alone():
    changed = {"preset": None, "interventions": "head_out.0.0:zero"}
    at = opened(GPT, **changed, panel="ablation")
    assert_works(at)
    assert "Changes inside" not in said(at) and "layer 1, head 1" in at.button(key="undo_0").label
    assert "is not among them" not in said(at)
    at = visit(at, **changed, panel="ablation", change_layer=1, change_head=2)
    assert "chosen above (layer 2, head 3 → zeros" in said(at) and "is not among them" in said(at)
    at = visit(at, **changed, panel="ablation", change_layer=1, change_head=2, present=True)
    assert said(at).count("In layer 1, head 1 is replaced with zeros (switched off).") == 1
    assert "is not among them" not in said(at)
    assert "Changes inside" in said(visit(at, **changed, panel="next"))


def test_the_panel_begins_with_the_head_that_is_looked_at():
    at = opened(GPT, preset=None, panel="ablation", layer=2, head=3)
    assert "In layer 3, head 4 is replaced with zeros" in said(at)
    at = visit(at, preset=None, panel="ablation", layer=2, head=3, change_layer=1)
    assert "In layer 2, head 4" in said(at)


def test_the_panel_opens_at_the_change_that_is_on():
    for change, shown in (("head_out.1.2:zero", [1, 2]), ("resid_post.1:zero", [1])):
        at = opened(GPT, preset=None, panel="ablation", layer=2, head=3, interventions=change)
        boxes = {box.key.partition("#")[0]: box.value for box in at.selectbox}
        found = [value for key, value in boxes.items() if key.startswith(("change_l", "change_h"))]
        part = next(value for key, value in boxes.items() if key.startswith("change_part"))
        assert found == shown and part == change.partition(".")[0]
        assert "is not among them" not in said(at)


def test_a_class_sees_where_and_not_how_to_change_it():
    at = opened(GPT, preset=None, panel="ablation", present=True)
    assert_works(at)
    aside = [each.key for kind in ("selectbox", "toggle") for each in at.sidebar.get(kind)]
    keys = [each.key for kind in ("selectbox", "toggle") for each in at.get(kind)]
    for name, is_aside in (("change_layer", False), ("change_head", False), ("each_in_turn", True)):
        assert any(key.startswith(name) for key in keys)
        assert any(key.startswith(name) for key in aside) == is_aside


def test_a_lesson_that_asks_for_no_change_folds_the_controls():
    learned = {"preset": "induction", "panel": "ablation", "lesson": "induction"}
    at = opened(GPT, **learned, lesson_step=3, guesses="3:2=2.24")
    assert_works(at)
    assert "change_it" not in {button.key for button in at.button}
    assert figure(at, "output_moved")["data"]
    at = visit(at, **learned, lesson_step=5)
    assert "change_it" in {button.key for button in at.button}


def test_a_block_measures_the_angle():
    at = opened(BLOCK, interventions="attention_out.0:zero")
    assert_works(at)
    assert "cosine distance" in said(at) and "changed head" not in said(at)
    assert max(figure(at, "output_moved")["data"][0]["y"]) > 1e-4


def test_each_part_in_turn_is_a_cell():
    at = opened(ENCODER, preset="sort", text="transform")
    move(at, "each_in_turn", True)
    assert_works(at)
    cells = {key: figure(at, key)["data"][1]["x"] for key in ("effects", "part_effects")}
    assert (len(cells["effects"]), len(cells["part_effects"])) == (2 * 4, 2 * 2)
    assert "depends most on layer" in said(at) and "color scales differ" in said(at)


def test_a_model_without_heads_has_whole_parts_alone():
    at = opened(GPT, preset=None, token_mixer="gru", panel="ablation")
    move(at, "each_in_turn", True)
    assert_works(at)
    assert "depends most on layer" in said(at) and "Among the heads" not in said(at)


def test_a_patch_from_the_same_text_says_so_and_from_another_moves_the_output():
    patch = {"interventions": "resid_post.0:patch@0", "change_kind": "patch"}
    at = opened(BLOCK, text="the small robot", token=0, **patch)
    assert_works(at)
    assert "Change a word in it" in said(at)
    visit(at, text="the small robot", other_text="one small robot", token=0, **patch)
    assert_works(at)
    moved = figure(at, "output_moved")["data"][0]["y"]
    assert moved[0] > 1e-3 and max(moved[1:]) < 1e-4 * moved[0]


def test_a_change_that_no_model_has_is_left_out_with_a_word():
    at = opened(BLOCK, interventions="head_out.7.1:zero,attention_out.0:mean@99")
    assert_works(at)
    assert "2 changes ignored: they refer to layers" in said(at)
    visit(at, interventions="rm -rf")
    assert_works(at, warnings=1)
    assert settings(at) == {}


def test_another_preset_begins_untouched():
    at = opened(BLOCK, interventions="attention_out.0:zero")
    control(at, "preset").set_value("gpt2-small")
    at.run()
    assert_works(at)
    assert "interventions" not in at.query_params


def test_a_part_that_is_off_stays_off_in_new_tokens():
    at = opened(GPT, preset=None, text=" Once", temperature=0, n_new_tokens=6)
    untouched = said(at)
    visit(
        at,
        preset=None,
        text=" Once",
        temperature=0,
        n_new_tokens=6,
        interventions="attention_out.0:zero,attention_out.1:zero,feed_forward_out.2:zero",
    )
    assert_works(at)
    assert said(at).partition("Once")[2] != untouched.partition("Once")[2]


@pytest.mark.parametrize("page", [BLOCK, GPT])
@pytest.mark.parametrize("kind", ["zero", "mean", "patch"])
def test_a_change_is_tried_before_it_is_applied(page: str, kind: str):
    """The panel opens on a picture; the model of the page stays as it is."""
    chosen = {"preset": None, "panel": "ablation", "change_kind": kind, "change_layer": 1}
    at = opened(page, text="the small robot", other_text="one small robot", **chosen)
    assert_works(at)
    tried = figure(at, "output_moved")["data"][0]["y"]
    assert max(tried) > 0 and "Changes inside" not in said(at)
    press(at, "change_it")
    assert figure(at, "output_moved")["data"][0]["y"] == tried


def test_a_change_that_is_tried_follows_its_controls_and_says_what_does_not_fit():
    at = opened(BLOCK, preset=None, panel="ablation", change_part="attention")
    first = figure(at, "output_moved")["data"][0]["y"]
    move(at, "change_layer", 2)
    assert figure(at, "output_moved")["data"][0]["y"] != first
    visit(at, preset=None, panel="ablation", change_kind="patch", other_text="much longer " * 9)
    assert at.exception.len == 0 and [e.value for e in at.error] == []

"""Smaller models on the screen: measured, and then the model of every page."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from opened import assert_works, figure, opened, said, visit
from streamlit.testing.v1 import AppTest

from blocks.efficiency import frontier as blocks_frontier
from blocks.efficiency import packed
from blocks.efficiency.distillation import Students
from blocks.efficiency.frontier import ready
from blocks.efficiency.recorded import recorded
from blocks.efficiency.retraining import Retraining
from blocks.model.faults import Fault
from blocks.training.training_run import TrainingRun
from blocks.weights.model_file import ModelFile, read_model_file
from blocks.weights.pocket import pocket_names
from pages.panels.efficiency import distillation, frontier, keeping, retraining
from pages.server import runs, starts
from pages.server.readers import Field, choice
from pages.state.fields import FIELDS
from pages.state.link_fields.compare import kept_of

PAGE = "pages/efficiency.py"


@pytest.mark.parametrize("panel", ["frontier", "rounding", "pruning"])
@pytest.mark.thinned
def test_without_trained_weights_there_are_ways_to_some(panel: str):
    at = opened(PAGE, preset="course", panel=panel)
    assert_works(at)
    at.button(key="shrink_sort").click().run()
    assert at.query_params["preset"] == "sort"
    assert_works(at)


def test_heads_are_taken_out_one_by_one():
    at = opened(PAGE, preset="sort", panel="pruning", taken_out="heads")
    assert_works(at)
    assert "at random" in at.info[0].value
    query = {"taken_out": "heads", "measure_pruning": "true"}
    at = opened(PAGE, pressed=["measure_pruning"], preset="sort", panel="pruning", **query)
    assert_works(at)
    assert "at random" in at.info[0].value


def test_the_rounded_model_is_shown_on_all_pages():
    at = opened(PAGE, preset="sort", panel="rounding", n_bits="3")
    at.button(key="use_rounded").click().run()
    assert at.query_params["preset"] == "sort~int3"
    (entry,) = kept_of(at.query_params["kept"])  # the original is A, the variant B
    assert dict(entry.query) == {"preset": "sort"}
    at.button(key="use_rounded").click().run()
    assert len(kept_of(at.query_params["kept"])) == 1
    assert "All other pages now run int3" in at.caption[1].value
    at.button(key="use_original").click().run()
    assert "preset" not in at.query_params or at.query_params["preset"] == "sort"
    assert_works(at)
    at = opened("pages/encoder.py", preset="sort~int3", panel="")
    assert_works(at)


@pytest.mark.parametrize(
    ("page", "preset"),
    [
        ("pages/gpt.py", "stories-en-zh~heads1.units50.int4-group32"),
        ("pages/seq2seq.py", "translator~layers1.sparse50"),
        ("pages/efficiency.py", "masked-words~int8"),
    ],
)
def test_a_link_carries_the_recipe(page: str, preset: str):
    at = opened(page, preset=preset, panel="")
    assert_works(at)
    assert at.query_params["preset"] == preset


@pytest.mark.parametrize(
    "preset", ["sort~int9", "sort~heads4", "course~int8", "~int8", "sort~", "sort~~int8", "no~int8"]
)
def test_a_recipe_that_cannot_be_is_no_preset(preset: str):
    assert not starts.is_known(preset)
    assert_works(opened(PAGE, preset=preset, panel=""), warnings=None)


def test_recorded_students_are_there_at_once_and_others_are_trained_when_asked(monkeypatch):
    at = opened(PAGE, preset="sort", panel="distillation")
    assert_works(at)
    assert "of 5 seeds" in at.info[0].value
    at = opened(PAGE, preset="sort", panel="distillation", distil_temperature="8")
    assert "were not trained beforehand" in at.info[0].value
    monkeypatch.setattr(distillation, "Students", partial(Students, n_updates=2))
    query = {"distil_temperature": "8", "train_students": "true", "student_size": "half_both"}
    at = opened(PAGE, preset="sort", panel="distillation", **query)
    assert "run of 9 steps, which has not started yet" in said(
        at
    )  # a time, and four ways on two seeds
    at = opened(PAGE, pressed=["train_students"], preset="sort", panel="distillation", **query)
    assert_works(at)
    assert "After 2 updates" in at.info[0].value and "of 2 seeds" in at.info[0].value
    assert "alone for the same time" in at.info[0].value


def test_a_student_of_any_shape_is_trained(monkeypatch):
    query = {"student_size": "own", "student_heads": "3"}
    at = opened(PAGE, preset="sort", panel="distillation", **query)
    assert "n_heads (3) does not divide d_model (32)" in at.warning[0].value
    assert "the model shown has 104,320" in said(at)
    monkeypatch.setattr(distillation, "Students", partial(Students, n_updates=2))
    query |= {"student_layers": "3", "student_width": "16", "student_units": "24"}
    query |= {"student_heads": "4", "train_students": "true"}
    at = opened(PAGE, preset="sort", panel="distillation", pressed=["train_students"], **query)
    assert_works(at)
    assert "After 2 updates" in at.info[0].value
    query |= {"student_width": "1000", "student_units": "4000", "student_layers": "24"}
    at = opened(PAGE, preset="sort", panel="distillation", **query)
    assert "more than the" in at.error[0].value
    at.button(key="half_student").click().run()
    assert at.query_params["student_size"] == "half_both" and not at.error


def test_a_variant_has_the_teacher_that_it_was_made_of():
    at = opened(PAGE, preset="sort~int4", panel="distillation")
    assert_works(at)
    assert "of 5 seeds" in at.info[0].value


def test_another_teacher_is_chosen_or_refused_with_the_way_out(kept, monkeypatch):
    at = opened(PAGE, preset="sort", panel="distillation", teacher="stories-en-zh")
    assert "choose a teacher that was trained on sort" in at.error[0].value
    at.button(key="shown_teaches").click().run()
    assert "teacher" not in at.query_params and "of 5 seeds" in at.info[0].value
    monkeypatch.setattr(distillation, "Students", partial(Students, n_updates=2))
    query = {"train_students": "true", "teacher": f"run:{kept[0]}"}
    at = opened(PAGE, preset="sort", panel="distillation", pressed=["train_students"], **query)
    assert_works(at)
    assert "of 2 seeds" in at.info[0].value  # of a teacher that is half as wide
    assert "100% of the teacher's" not in at.info[0].value


def test_heads_that_cannot_be_compared_are_said_with_the_way_out():
    query = {"student_size": "half_width", "attention_weight": "1"}
    at = opened(PAGE, preset="sort", panel="distillation", **query)
    assert "the heads cannot be compared one by one" in at.error[0].value
    at.button(key="mend_teaching").click().run()
    assert at.query_params["attention_target"] == "relations" and not at.error
    assert_works(at)


@pytest.fixture(scope="module")
def patched() -> Iterator[None]:
    """Three updates are enough for what is kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keeping, "UPDATES", ("3",))
        for name in ("student_updates", "repair_updates"):
            patch.setitem(FIELDS, name, Field(choice(("3",)), "3"))
        yield


def ended(at: AppTest) -> TrainingRun:
    """The run that a page has started, once it is done."""
    run = runs.find(at.query_params["run"])
    while not run.state.has_ended:
        time.sleep(0.05)
    return run


@pytest.fixture(scope="module")
def kept(patched) -> tuple[str, bytes]:
    """A student that was trained by the sorter: its run, and its file."""
    query = {"student_size": "half_width", "hidden_weight": "1"}
    at = opened(PAGE, preset="sort", panel="distillation", **query)
    at.button(key="train_student").click().run()
    run = ended(at)
    return run.id, starts.model_of_run(run, 3).to_bytes()


def test_a_student_is_the_model_of_all_pages_alone_and_beside_its_teacher(kept):
    run_id, _raw = kept
    at = opened(PAGE, preset="sort", panel="distillation", run=run_id)
    assert_works(at)
    at.button(key="student_beside").click().run()
    assert (
        at.query_params["preset"] == f"run:{run_id}" and "preset%3Dsort" in at.query_params["kept"]
    )
    at = opened("pages/encoder.py", preset=f"run:{run_id}", panel="stream")
    assert_works(at)
    said = " ".join(each.value for each in at.sidebar.caption)
    assert "for 3 steps. Distilled from Sorting (seed 0)." in said


def test_a_student_teaches_in_its_turn(kept, monkeypatch):
    monkeypatch.setattr(distillation, "Students", partial(Students, n_updates=2))
    query = {"train_students": "true", "student_size": "half_layers"}
    pressed = ["train_students"]
    at = opened(PAGE, preset=f"run:{kept[0]}", panel="distillation", pressed=pressed, **query)
    assert_works(at)
    assert "of 2 seeds" in at.info[0].value


def test_a_student_that_was_taken_away_opens_again_and_teaches(kept, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "student.safetensors").write_bytes(kept[1])
    monkeypatch.setenv("BLOCKSCOPE_FOLDERS", str(tmp_path))
    at = opened(PAGE, preset="folder:mine", panel="distillation")
    assert_works(at)
    assert "not trained beforehand" in at.info[0].value
    said = " ".join(each.value for each in at.sidebar.caption)
    assert "Opened: `mine`" in said and "Distilled from Sorting (seed 0)" in said
    at = opened("pages/encoder.py", preset="folder:mine~int4", panel="stream")
    assert_works(at)
    assert at.query_params["preset"] == "folder:mine~int4"


def test_a_pruned_model_that_was_trained_on_says_where_it_comes_from(patched):
    at = opened(PAGE, preset="sort", panel="retraining")
    assert_works(at)
    assert "of its weights removed" in at.info[0].value
    at.button(key="train_repair").click().run()
    run = ended(at)
    masked = run.weights(3)["layers.0.attention.q_proj.weight"] == 0
    assert masked.float().mean() == pytest.approx(0.7, abs=0.01)
    assert_works(opened(PAGE, preset="sort", panel="retraining", run=run.id))
    at = opened("pages/encoder.py", preset=f"run:{run.id}", panel="stream")
    said = " ".join(each.value for each in at.sidebar.caption)
    assert "Trained further, starting from Sorting · `sparse70` (seed 0)." in said
    at = opened("pages/training.py", preset="sort", run=run.id)
    assert_works(at)
    assert "Do the same in a terminal" not in [each.label for each in at.expander]


def test_retraining_is_done_here_where_it_was_not_recorded(kept, monkeypatch):
    preset = f"run:{kept[0]}"
    at = opened(PAGE, preset=preset, panel="retraining")
    assert "There are no precomputed results for this model" in at.info[0].value
    quick = partial(Retraining, n_updates=2, shares=(0.5,))
    monkeypatch.setattr(retraining, "Retraining", quick)
    query = {"measure_retraining": "true", "retrained_without": "heads"}
    at = opened(PAGE, preset=preset, panel="retraining", pressed=["measure_retraining"], **query)
    assert_works(at)
    assert "of its heads removed" in at.info[0].value
    assert "The model becomes smaller" in said(at)


def test_what_a_model_does_not_have_is_not_removed():
    query = {"preset": "induction", "panel": "retraining", "retrained_without": "hidden_units"}
    at = opened(PAGE, **query)
    assert_works(at)
    assert "keep all units" in at.info[0].value


def test_a_model_without_a_layer_is_trained_on_and_kept(patched):
    query = {"preset": "sort", "panel": "retraining", "retrained_without": "layers"}
    at = opened(PAGE, **query)
    assert "Share removed: 50%, the only valid value" in said(at)
    at.button(key="train_repair").click().run()
    run = ended(at)
    assert run.spec.config.n_layers == 1 and run.spec.origin.name.startswith("sort~layers")
    assert_works(opened(PAGE, **query, run=run.id))


@pytest.mark.parametrize(
    "changes",
    [
        {"task": {"kind": "reverse"}},
        {"recipe": {"batch_size": 10**12}},
        {"config": 1},
        {"task": "sort"},
    ],
)
def test_a_card_that_says_what_cannot_be_names_no_task(kept, tmp_path, monkeypatch, changes):
    file = read_model_file(kept[1])
    card = replace(file.card, recipe={**file.card.recipe, **changes})
    (tmp_path / "odd").mkdir()
    raw = ModelFile(file.config, file.tokenizer, card, file.tensors).to_bytes()
    (tmp_path / "odd" / "odd.safetensors").write_bytes(raw)
    monkeypatch.setenv("BLOCKSCOPE_FOLDERS", str(tmp_path))
    at = opened(PAGE, preset="folder:odd", panel="distillation")
    assert_works(at)
    assert "names no task that can be measured here" in at.info[0].value


@pytest.mark.parametrize("name", pocket_names())
def test_every_variant_of_the_frontier_is_a_preset(name: str):
    recipes = [recipe for recipe in ready(starts.start(name).config) if recipe]
    assert len(recipes) > 15
    for recipe in (*recipes, "int3-keep3"):
        preset = starts.variant_of(name, recipe)
        assert starts.is_known(preset), preset
        assert starts.original(starts.start(preset).weights) == name


def test_activations_and_caches_are_measured_when_they_are_asked_for():
    query = {"activation_bits": "4", "measure_activations": "true"}
    at = opened(PAGE, pressed=["measure_activations"], preset="sort", panel="activations", **query)
    assert_works(at)
    assert "The best scheme is" in at.info[0].value
    at = opened(PAGE, preset="induction", panel="cache")
    assert_works(at)
    assert "in half precision" in at.info[0].value
    at = opened(PAGE, preset="sort", panel="cache")
    assert "keeps no cache" in at.info[0].value


def test_the_loss_is_traced_and_what_is_kept_is_shown_on_all_pages():
    query = {"kept_percent": "1", "trace_rounding": "true"}
    at = opened(PAGE, pressed=["trace_rounding"], preset="sort", panel="blame", **query)
    assert_works(at)
    assert "is most to blame" in at.info[0].value
    at = opened(PAGE, preset="sort", panel="blame")
    assert_works(at)
    assert "is most to blame" in at.info[0].value
    at.button(key="use_kept").click().run()
    assert at.query_params["preset"] == "sort~int3-keep3"


def test_sublayers_are_deleted_when_it_is_asked_for():
    at = opened(PAGE, preset="sort", panel="deletion")
    assert_works(at)
    assert "with residual connections" in at.info[0].value
    query = {"measure_deletions": "true"}
    at = opened(PAGE, pressed=["measure_deletions"], preset="sort", panel="deletion", **query)
    assert_works(at)
    assert "if the least needed parts are deleted first" in at.info[0].value


def test_the_smallest_file_that_loses_nothing_becomes_b():
    at = opened(PAGE, preset="sort", panel="frontier")
    assert_works(at)
    assert "keeps the original score" in at.info[0].value
    assert len(at.info) == 1  # nothing is asked before its fold is opened
    at.session_state["best_answers"] = True
    at.run()
    assert_works(at)
    assert "Question by question" in at.info[1].value
    best, *_others = (each.key for each in at.button if str(each.key).startswith("use_int"))
    at.button(key=best).click().run()
    assert_works(at)
    assert at.query_params["preset"] == f"sort~{best.removeprefix('use_')}"
    assert dict(kept_of(at.query_params["kept"])[0].query) == {"preset": "sort"}
    assert "**No answer is lost.**" in at.info[1].value
    assert best not in [each.key for each in at.button]


def names_of_dots(at) -> set[str]:
    dots = [trace for trace in figure(at, "frontier")["data"] if "customdata" in trace]
    return {str(name) for trace in dots for (name,) in trace["customdata"]}


def test_answers_that_a_variant_loses_are_shown():
    at = opened(PAGE, preset="sort~int5", panel="frontier")
    assert_works(at)
    assert "int5" in names_of_dots(at)  # one of the reader's own stands among those of the set
    at = opened(PAGE, preset="sort~int4-group32", panel="frontier")
    assert_works(at)
    captions = " ".join(each.value for each in at.main.caption)
    assert "now run int4-group32 (4 bits per weight, one grid per 32" in captions
    assert "are lost**, 0 gained" in at.info[1].value
    assert "Lost answers" in captions
    assert "int4-group32.safetensors" in [each.label for each in at.get("download_button")]


def test_where_int8_cannot_run_the_page_says_why(monkeypatch):
    fault = Fault(
        "The packed int8 kernel clips large sums on this processor: use a processor with VNNI"
    )
    monkeypatch.setattr(packed, "packed_fault", lambda: fault)
    at = opened(PAGE, preset="induction", panel="int8")
    assert_works(at)
    assert "use a processor with VNNI" in at.info[0].value
    assert "measure_int8_button" not in {button.key for button in at.button}


@pytest.mark.skipif(packed.packed_fault() is not None, reason="no packed int8 kernel here")
def test_int8_is_timed_when_it_is_asked_for():
    at = opened(PAGE, preset="induction", panel="int8")
    assert "for one token, or for many" in at.info[0].value
    at.button(key="measure_int8_button").click().run()
    assert_works(at)
    assert "n = 256" in at.info[0].value and "2,048 tokens at once" in at.info[1].value


def test_some_of_a_model_stays_as_it_is_where_activations_are_rounded():
    at = opened(PAGE, preset="sort", panel="activations", exempt="layers.0")
    assert_works(at)
    at.button(key="use_activations").click().run()
    assert at.query_params["preset"] == "sort~int8.exempt-layers:0.act8-static-smooth"


def test_a_model_with_rounded_activations_is_shown_on_all_pages():
    at = opened(PAGE, preset="sort", panel="activations")
    at.button(key="use_activations").click().run()
    assert at.query_params["preset"] == "sort~int8.act8-static-smooth"
    assert_works(opened("pages/encoder.py", preset="sort~int8.act8-static-smooth", panel="stream"))


def unfolded(**query: object):
    at = opened(PAGE, preset="sort", panel="pruning", **query)
    at.session_state["own_pruning"] = True
    at.run()
    assert_works(at)
    return at


def test_a_model_is_pruned_as_the_reader_wants_it():
    query = {"prune_masked": "60", "prune_among": "global", "prune_layer": "1", "prune_heads": "1"}
    at = unfolded(**query)
    assert "chosen across all layers" in said(at)
    at.button(key="use_pruned").click().run()
    assert at.query_params["preset"] == "sort~layers0.heads1.sparse60-global"
    at = unfolded(prune_among="2:4", prune_by="wanda", prune_units="25")
    assert "`units25-wanda.sparse50-wanda-2:4`" in said(at)
    assert "Nothing has been removed yet" in said(unfolded(prune_masked="0"))


@pytest.mark.parametrize(
    ("panel", "usual", "key"),
    [
        ("cache", {"cache_group": "32"}, "usual_caches"),
        ("distillation", {"attention_weight": "10"}, "usual_students"),
        ("blame", {"granularity": "group"}, "usual_grid"),
    ],
)
def test_from_what_was_not_recorded_there_is_a_way_to_what_was(panel: str, usual: dict, key: str):
    at = opened(PAGE, preset="induction", panel=panel, **usual)
    assert "beforehand" in at.info[0].value
    at.button(key=key).click().run()
    assert_works(at)
    assert not {*usual} & {*at.query_params} and "beforehand" not in at.info[0].value


def test_a_model_of_which_nothing_is_recorded_leads_to_those_of_which_it_is(kept):
    at = opened(PAGE, preset=f"run:{kept[0]}", panel="retraining")
    assert "Training takes about" in at.info[0].value
    at.button(key="retraining_of_sort").click().run()
    assert_works(at)
    assert "of its weights removed" in at.info[0].value


def test_some_of_a_model_stays_at_full_precision_and_shows_what_that_gives():
    query = {"exempt": "layers.0,layers.7", "measure_rounded": "true", "n_bits": "2"}
    at = opened(PAGE, preset="sort", panel="rounding", pressed=["measure_rounded"], **query)
    assert "(nothing to round in this model): layers.7." in at.warning[0].value
    assert_works(at, warnings=None)
    assert "If layer 1 were rounded too, the size would be" in said(at)
    at.button(key="use_rounded").click().run()
    assert at.query_params["preset"] == "sort~int2.exempt-layers:0"
    assert_works(opened("pages/encoder.py", preset="sort~int2.exempt-layers:0", panel="stream"))


def unfolded_exemption(panel: str, place: str = "", **query: object):
    at = opened(PAGE, preset="sort", panel=panel, **query)
    at.session_state[f"exempt_fold{place}"] = True
    return at.run()


def test_what_stays_is_chosen_from_a_list_or_in_one_press():
    at = unfolded_exemption("rounding")
    at.button(key="exempt_ends").click().run()
    assert at.query_params["exempt"] == "layers.0,layers.1"  # it has but two
    (chosen,) = at.multiselect
    chosen.set_value(["layers.0", "embed"]).run()
    assert at.query_params["exempt"] == "embed,layers.0"
    at.button(key="exempt_none").click().run()
    assert "exempt" not in at.query_params
    at.button(key="exempt_blamed").click().run()
    assert at.query_params["exempt"] == "layers.0"
    assert_works(at)


@pytest.mark.parametrize(
    ("panel", "exempt"),
    [
        ("rounding", "embed,unembed,layers.0,layers.1"),
        ("blame", "layers.0,layers.1"),
        ("activations", "layers.0,layers.1"),
    ],
)
def test_where_nothing_is_left_to_round_that_is_said(panel: str, exempt: str):
    at = opened(PAGE, preset="sort", panel=panel, exempt=exempt)
    assert_works(at)
    assert "leave at least one layer" in at.info[0].value


def test_the_layer_to_blame_is_left_as_it_was_in_one_press():
    at = opened(PAGE, preset="sort", panel="blame")
    at.button(key="exempt_worst").click().run()
    assert at.query_params["exempt"] == "layers.0"
    assert_works(at)
    assert "beforehand" in at.info[0].value


def test_variants_that_a_reader_made_stay_on_the_frontier_and_others_do_not_see_them():
    at = opened(PAGE, preset="sort", panel="rounding", n_bits="5", granularity="tensor")
    at.button(key="use_rounded").click().run()
    at.button(key="use_original").click().run()
    at = visit(at, panel="frontier", preset="sort", front_colors="time")
    assert_works(at)
    assert "int5-tensor" in names_of_dots(at) and "1 variant that you made" in said(at)
    assert "Models timed separately" in said(at)
    assert "int5-tensor" not in names_of_dots(opened(PAGE, preset="sort", panel="frontier"))


def test_the_time_of_one_token_is_measured_here_where_it_was_not_recorded(monkeypatch):
    monkeypatch.setattr(frontier, "recorded", without_token_times)
    at = opened(PAGE, preset="induction", panel="frontier", front_colors="token_time")
    assert "time per token was not recorded" in at.warning[0].value
    query = {"front_colors": "token_time", "measure_variants": "true"}
    monkeypatch.setattr(blocks_frontier, "READY", ("", "int4", "units50-wanda"))
    pressed = ["measure_variants"]
    at = opened(PAGE, preset="induction", panel="frontier", pressed=pressed, **query)
    assert_works(at)
    assert "smaller by a factor of" in at.info[0].value
    (scale,) = [t for t in figure(at, "frontier")["data"] if t.get("marker", {}).get("showscale")]
    assert scale["marker"]["colorbar"]["title"]["text"] == "time per token, × original"


def without_token_times(weights: str):
    found = recorded(weights)
    variants = {name: replace(each, token_seconds=None) for name, each in found.variants.items()}
    return found._replace(variants=variants)

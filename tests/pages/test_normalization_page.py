"""The page of norms: three norms on one input, every placement, and depth."""

import itertools
import re
from contextlib import nullcontext

import pytest
from daily import some_daily
from opened import assert_works, figure, move, opened, press, said, settings

from blocks import ConfigError
from blocks.inspection.stack import StackSeries
from blocks.model.devices import available_devices
from blocks.observe.run import out_of_memory_fault
from blocks.training.racer import Race
from blocks.work.queue import Lane, Place, Queue
from blocks.work.works import Works
from pages.panels.normalization import race
from pages.show import steps

PAGE = "pages/normalization.py"
SMALL = {"d_model": 32, "n_heads": 4, "depth": 2, "n_depth_seeds": 1}
BLOCK = {"preset": "course", "text": "a b c d", **SMALL}
WHOLE = {"vocab_size": 2048, "n_layers": 2, "text": "a small owl", **SMALL}


def column(at, name: str) -> list[str]:
    """The values of a column, whichever table has it."""
    return next(list(t.value[name]) for t in at.dataframe if name in t.value)


def curve_names(at, key: str = "depth_panels") -> set[str]:
    """The curves that are drawn."""
    return {trace["name"] for trace in figure(at, key)["data"] if "name" in trace}


def test_the_page_opens_on_a_result():
    at = opened(PAGE, preset=None, panel=None)
    assert "After LayerNorm, each token has a standard deviation of" in said(at)


def test_the_first_view_has_the_trained_model_and_its_layers():
    at = opened(PAGE, preset=None, depth=2, n_depth_seeds=1)
    assert_works(at)
    text = said(at)
    assert "LayerNorm and RMSNorm, other tokens" in text and "to compare with theory" in text
    assert "The trained weights fit one norm placement only" in text
    assert "nats after training" in text
    assert curve_names(at, "own_panels") == {"trained", "random weights"}
    layer, rms, batch = map(float, column(at, "as part of a batch")[:3])
    assert max(layer, rms) < 1e-3 * batch  # 0 on a CPU; elsewhere the order of sums may differ


@pytest.mark.parametrize(
    ("panel", "key", "model"),
    [("depth", "depth_panels", BLOCK), ("layers", "own_panels", {"preset": None})],
)
def test_one_measure_of_the_layers_is_drawn_alone(panel: str, key: str, model: dict[str, object]):
    at = opened(PAGE, **model, panel=panel, depth_curve="stream_norm")
    assert_works(at)
    assert "yaxis2" not in figure(at, key)["layout"]
    move(at, "depth_curve", "all")
    assert "yaxis6" in figure(at, key)["layout"]


def test_every_placement_has_its_row_its_curve_and_its_tile():
    at = opened(PAGE, **BLOCK)
    assert_works(at)
    names = ["pre", "post", "sandwich", "res-post", "parallel", "none"]
    assert column(at, "norm placement") == names
    own = names.index("pre")
    assert column(at, "Δ RMS")[own] == "0" and column(at, "Δ RMS")[1] != "0"
    tiles = [note["text"] for note in figure(at, "placement_patterns")["layout"]["annotations"]]
    assert tiles == names
    assert curve_names(at) == {"pre", "post"}


def test_the_reader_chooses_how_deep_how_wide_and_what_is_drawn_together():
    at = opened(PAGE, **BLOCK)
    for depth in (1, 6):
        move(at, "depth", depth)
        assert f"n_layers {depth}, d_model 32" in said(at)
    move(at, "n_depth_seeds", 2)
    assert "seeds 0, 1)" in said(at)
    move(at, "depth_initialization", "pytorch")
    assert "(PyTorch default, seeds" in said(at)
    move(at, "depth_placements", ["post", "none"])
    assert settings(at)["depth_placements"] == "post,none"
    assert curve_names(at) == {"pre", "post", "none", "previous settings"}
    move(at, "depth_placements", [])
    assert settings(at)["depth_placements"] == "own"
    assert curve_names(at) == {"pre", "previous settings"}


def test_a_narrower_stack_reads_words_and_says_so():
    at = opened(
        PAGE, preset="course", text="a b", depth=1, n_depth_seeds=1, depth_width=32, panel="depth"
    )
    assert_works(at)
    assert "random vectors for the text's tokens" in said(at)


def test_residual_and_norm_off_are_one_press_away_and_leave_a_ghost():
    at = opened(PAGE, **{**BLOCK, "depth": 48}, depth_placements="own", panel="depth")
    press(at, "try_residual")
    assert_works(at)
    assert "this run agrees" in said(at) and "previous settings" in curve_names(at)
    press(at, "try_norm_kind")
    assert_works(at)
    assert "(vanishing)" in said(at)


NORMS, PLACES = ("rmsnorm", "batchnorm", "none"), ("post", "sandwich", "parallel")


@pytest.mark.parametrize(
    ("norm_kind", "norm_placement"),
    some_daily(itertools.product(NORMS, PLACES), daily=[*zip(NORMS, PLACES, strict=True)]),
)
def test_every_norm_in_every_place(norm_kind: str, norm_placement: str):
    at = opened(PAGE, **BLOCK, norm_kind=norm_kind, norm_placement=norm_placement)
    assert_works(at)
    if norm_kind == "none":
        assert "Your model has no norm" in said(at)


def test_without_feed_forward_parallel_is_left_out_with_a_sentence():
    at = opened(PAGE, **BLOCK, attention_only=True, panel="placements")
    assert_works(at)
    assert "parallel" not in column(at, "norm placement")
    assert "The parallel placement needs a feed-forward layer" in said(at)


@pytest.mark.parametrize("preset", ["gpt2-small", "bert-base"])
@pytest.mark.thinned
def test_a_whole_model_with_random_weights(preset: str):
    at = opened(PAGE, **{**WHOLE, "preset": preset}, layer=1, panel="layers")
    assert_works(at)
    assert "the loss means nothing yet" in said(at)


@pytest.mark.parametrize("preset", ["masked-words", "sort", "induction"])
@pytest.mark.thinned
def test_other_trained_models_have_their_own_loss(preset: str):
    at = opened(PAGE, preset=preset, panel="layers")
    assert_works(at)
    assert "nats after training" in said(at)


def test_a_text_without_a_right_answer_is_said_to_have_none():
    at = opened(PAGE, preset="masked-words", hide_token=False, panel="layers")
    assert_works(at)
    assert "no correct answer" in said(at)


@pytest.mark.parametrize(
    "extreme",
    [
        {"text": "a"},
        {"mask_kind": "causal_padding", "padding_side": "left", "n_padding": 3},
        {
            "input_kind": "random",
            "batch": 5,
            "seq_len": 3,
            "n_padding": 2,
            "norm_kind": "batchnorm",
        },
        {"dtype": "bfloat16"},
        {"dtype": "float16", "norm_kind": "none", "depth": 32},
        {"training": True, "dropout": 0.5, "norm_kind": "batchnorm"},
        {"n_heads": 1, "d_model": 8},
        {"initialization": "zero_writes", "depth_initialization": "zero_writes", "residual": False},
        {"depth": 1, "depth_width": 8, "depth_placements": "own"},
    ],
    ids=lambda extreme: "-".join(map(str, extreme)),
)
@pytest.mark.thinned
def test_extremes(extreme: dict):
    assert_works(opened(PAGE, **{**BLOCK, **extreme}))


def test_a_stack_that_is_too_large_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setenv("BLOCKSCOPE_MEMORY_GIB", "0.05")
    at = opened(PAGE, preset="course", text="a b c", depth=64, n_depth_seeds=1, panel="depth")
    assert "64 layers need" in at.error[0].value
    press(at, "mend_depth")
    assert_works(at)
    assert int(settings(at)["depth"]) < 64


def test_depth_that_takes_long_pauses_and_its_rest_is_long_work(monkeypatch):
    monkeypatch.setattr(steps, "A_WHILE", 0.0)
    steps.works.clear()
    at = opened(PAGE, preset=None, d_model=16, n_heads=2, depth=3, n_depth_seeds=2, panel="depth")
    assert "Paused after" in said(at) and "to keep the page responsive" in said(at)
    assert "The rest takes about" in said(at)
    press(at, "depth_work_go_on")
    assert_works(at)
    assert "Paused" not in said(at)
    made = [each for each in steps.works()._works if isinstance(each, StackSeries)]
    assert made and all(each.stack.n_layers == 3 for each in made)


def test_a_full_queue_is_said(monkeypatch, tmp_path):
    full = Queue()
    for owner in map(str, range(21)):
        full.enter(Lane("series", available_devices()[0]), owner=owner)
    registry = Works(full, turn=lambda _: nullcontext(), folder=tmp_path)  # no process is started
    monkeypatch.setattr(steps, "works", lambda: registry)
    at = opened(PAGE, pressed=["race"], **BLOCK, race=True, panel="race")
    assert at.error[0].value == (
        "20 runs are already waiting, and at most 20 may wait: try again in a few minutes"
    )
    monkeypatch.undo()
    monkeypatch.setattr(race.training, "N_UPDATES", 5)
    press(at, "race_steps_go_on")
    assert_works(at)
    assert any("loss after 5 steps" in info.value for info in at.info)
    full.close()


def test_who_waits_reads_the_number_and_the_time():
    assert steps.says_place(Place(2, 39.6)) == "number 2 in the queue · starts in about 40 s"
    assert steps.says_place(Place(1, None)) == "number 1 in the queue"


def test_a_bar_says_what_it_counts():
    each = "of 5 training steps each"
    assert steps.says_done(6, 40, each).startswith("6 of 40 parts of 5 training steps each")
    assert steps.says_done(6, 40) == "6 of 40"


def test_placements_are_trained_side_by_side_where_the_reader_asks(monkeypatch):
    monkeypatch.setattr(race.training, "N_UPDATES", 10)
    at = opened(PAGE, **BLOCK, race_depth=2, panel="race")
    assert not any("Guessing at random gives" in info.value for info in at.info)
    assert "This run was not recorded" in said(at) and "sort 8 letters" in said(at)
    press(at, "race_now")
    (found,) = (info.value for info in at.info if "Guessing at random gives" in info.value)
    assert "sort 8 letters" in found and "loss after 10 steps" in found
    drawn = figure(at, "race_curves")["data"]
    assert [trace["name"] for trace in drawn] == ["pre", "post"]
    assert [len(trace["x"]) for trace in drawn] == [10, 10]


def test_a_device_without_memory_is_said(monkeypatch):
    def fails(*_):
        raise ConfigError([out_of_memory_fault()])

    monkeypatch.setattr(Race, "results", fails)
    at = opened(PAGE, pressed=["race"], **BLOCK, race=True, panel="race")
    assert "out of memory" in at.error[0].value


@pytest.mark.parametrize("norm_kind", ["layernorm", "rmsnorm"])
@pytest.mark.parametrize(("depth", "stuck"), [(4, False), (12, True)])
@pytest.mark.thinned
def test_a_finished_race_is_there_before_anyone_trains(depth: int, stuck: bool, norm_kind: str):
    at = opened(PAGE, preset="course", race_depth=depth, panel="race", norm_kind=norm_kind)
    assert_works(at)
    (found,) = (info.value for info in at.info if "Guessing at random gives" in info.value)
    assert "loss after 100 steps" in found
    assert ("Hardly better than random guessing: post" in found) is stuck
    assert "from a recorded run" in said(at)


@pytest.mark.parametrize("warmup", [30, 60])
def test_a_race_with_a_warm_up_stands_beside_that_without(warmup: int):
    alone = opened(PAGE, preset="course", panel="race", race_warmup=0)
    losses = re.search(r"by norm placement, is (pre [\d.]+, post [\d.]+) nats", said(alone))[1]
    at = opened(PAGE, preset="course", panel="race", race_warmup=warmup)
    assert_works(at)
    assert f"Without the warm-up the loss is {losses} nats." in said(at)
    assert f"by norm placement, is {losses} nats" not in said(at)


def test_a_race_of_other_models_says_nothing_of_the_pages_own():
    at = opened(PAGE, preset="course", panel="race")
    assert "parameters in this block" not in said(at) and "with d_model 64" in said(at)
    move(at, "panel", "depth")
    assert "parameters in this block" in said(at)

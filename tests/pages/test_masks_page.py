"""The page of masks: every mask, whether it holds, faults that are found, and painting by hand."""

import base64
from collections.abc import Iterable, Iterator

import pytest
import torch
from opened import (
    assert_works,
    control,
    figure,
    move,
    opened,
    press,
    said,
    settings,
    visit,
    words_in_pictures,
)
from streamlit.testing.v1 import AppTest

from blocks.inspection.mask_faults import MaskFault
from blocks.model.masks import MaskKind, causal, painted_text, read_painted
from pages.panels.masks import peeking

MASKS = "pages/masks.py"
SMALL = {"d_model": 32, "n_heads": 4, "text": "a b c d e"}
NO_KEY = {"mask_kind": "causal_padding", "n_padding": 64, "padding_side": "left"}
GPT = {"preset": "stories-en-zh", "text": " Once there was a shy owl"}


def small(**query):
    at = opened(MASKS, **{**SMALL, **query})
    assert_works(at, warnings=None)
    return at


def each(queries: Iterable[dict]) -> Iterator[AppTest]:
    "One reader opens one link after the other."
    at = opened(MASKS, **SMALL)
    for query in queries:
        yield visit(at, **{**SMALL, **query})
        assert_works(at, warnings=None)


def test_the_first_view_is_a_trained_gpt_whose_causal_mask_holds():
    at = opened(MASKS, preset=None)
    assert_works(at)
    assert control(at, "preset").value == "stories-en-zh"
    assert "No leak: every forbidden cell (66 in all) is exactly 0" in said(at)
    assert control(at, "planted_fault").value == "none"
    assert "begins with a space, which belongs to its first token" in said(at)


LEAKING = {
    "wrong_axis": {},
    "after_softmax": {},
    "off_by_one": {},
    "additive_1e4": {"mask_kind": "causal_padding", "padding_side": "left"},
    "padding_attended": {},  # what it takes comes with it
}


def test_one_click_plants_a_fault_and_the_test_finds_it():
    at = opened(MASKS, **GPT, panel="leaks")
    for fault, query in LEAKING.items():
        visit(at, **GPT, **query, panel="leaks")
        move(at, "planted_fault", fault)
        assert settings(at)["planted_fault"] == fault
        assert "No leak" in said(at) and "Leak: output" in said(at)
        assert "LEAK" in str(figure(at, "moved"))
        assert figure(at, "faulty_pattern") != figure(at, "clean_pattern")


@pytest.mark.parametrize(
    ("fault", "button"),
    [
        ("additive_1e4", "use_scale"),
        ("additive_1e4", "use_padding"),
        ("padding_attended", "use_padding"),
    ],
)
@pytest.mark.thinned
def test_a_fault_that_does_nothing_here_has_a_way_to_where_it_leaks(fault: str, button: str):
    at = opened(MASKS, **GPT, planted_fault=fault, panel="leaks")
    assert "Leak: output" not in said(at)
    press(at, button)
    assert_works(at)
    assert "No leak" in said(at) and "Leak: output" in said(at)


def test_where_nothing_is_forbidden_it_says_so_and_has_a_way_out():
    at = small(mask_kind="none", panel="leaks")
    assert "Nothing is forbidden here" in said(at)
    press(at, "use_causal")
    assert "No leak: every forbidden cell (10" in said(at)


@pytest.mark.parametrize(
    ("preset", "path"), [("sort", "fused"), ("induction", "explicit"), ("gpt2-small", "fused")]
)
@pytest.mark.thinned
def test_models_of_every_kind_hold(preset: str, path: str):
    more = {"n_layers": 2, "d_model": 64, "n_heads": 4} if preset == "gpt2-small" else {}
    query = {"text": "robots", "mask_kind": "causal", "attention_path": path}
    at = opened(MASKS, preset=preset, panel="leaks", **query, **more)
    assert_works(at)
    assert "No leak" in said(at)


def test_every_mask_of_a_block():
    faults = [*MaskFault, MaskFault.NONE]
    links = [
        {"mask_kind": kind, "n_padding": 2, "planted_fault": fault}
        for kind, fault in zip(MaskKind, faults, strict=True)
    ]
    for kind, at in zip(MaskKind, each(links), strict=True):
        n_open = sum(code == 250 for code in _z(at, "mask_map"))
        assert (n_open == 49) is (kind is MaskKind.NONE)


def _z(at, key: str) -> list[int]:
    """The codes of a heatmap, however they are packed."""
    z = figure(at, key)["data"][0]["z"]
    return list(base64.b64decode(z["bdata"]))


EXTREMES = {
    "one token": {"text": "a"},
    "rows without a key": NO_KEY,
    "random batch": {"input_kind": "random", "batch": 4, "seq_len": 6},
    "batch norm in training": {"norm_kind": "batchnorm", "training": True},
    "dropout": {"training": True, "dropout": 0.5, "attention_path": "fused"},
    "bfloat16": {"dtype": "bfloat16"},
    "float16": {"dtype": "float16", "planted_fault": "additive_1e4", "score_scale": 100_000},
    "float64": {"dtype": "float64"},
    "no residual": {"residual": False, "norm_kind": "none"},
    "parallel": {"norm_placement": "parallel", "position_kind": "alibi"},
    "post": {"norm_placement": "post", "position_kind": "rope", "n_kv_heads": 1},
    "zero writes": {"initialization": "zero_writes"},
    "markup": {"text": "<b>x</b> &amp; `y` $z$"},
}


def test_extremes():
    for at in each(EXTREMES.values()):
        assert at.title


def test_long_texts_are_tested_at_some_tokens():
    at = small(input_kind="random", seq_len=256)
    assert "Tested so far: 24 of 256 tokens" in said(at)
    assert "Masks of up to 64 tokens can be painted" in said(at)
    assert "No leak" in said(at)


def test_batch_norm_in_training_is_named():
    at = small(
        norm_kind="batchnorm", training=True, input_kind="random", batch=3, seq_len=5, panel="leaks"
    )
    assert "In training mode BatchNorm computes the mean" in said(at)
    assert "The output of another sequence in the same batch changes too" in said(at)


def test_links_out_of_bounds_are_mended():
    names = ("score_scale", "cross_len", "cross_padding", "n_changed")
    for value in (-1, 10**9):
        at = opened(MASKS, panel="steps", **SMALL, **dict.fromkeys(names, value))
        assert_works(at, warnings=len(names))


def test_a_cell_is_painted_by_keyboard():
    at = small(panel="steps")
    move(at, "paint_query", 1)
    move(at, "paint_key", 3)
    press(at, "paint_cell")
    assert_works(at)
    assert settings(at)["mask_kind"] == "painted"
    expected = causal(5)
    expected[1, 3] = True
    assert torch.equal(read_painted(settings(at)["painted"]), expected)
    press(at, "paint_cell")
    assert torch.equal(read_painted(settings(at)["painted"]), causal(5))


def test_rows_columns_and_starts():
    n_open = {
        "open_row": 19,
        "close_row": 14,
        "paint_from_open": 25,
        "close_column": 20,
        "paint_from_closed": 0,
        "open_column": 5,
        "paint_from_this": 5,
        "paint_from_causal": 15,
    }
    at = small(panel="steps")
    for button, expected in n_open.items():
        press(at, button)
        assert_works(at)
        assert int(read_painted(settings(at)["painted"]).sum()) == expected


def test_a_painted_mask_runs_on_every_page_and_says_for_how_many_tokens():
    text = painted_text(torch.ones(3, 3, dtype=torch.bool))
    for page in ("pages/block.py", MASKS):
        at = opened(page, **SMALL, mask_kind="painted", painted=text)
        assert_works(at, warnings=None)
        assert "was painted for 3 tokens" in said(at)


def test_a_painted_text_that_is_none_is_told():
    at = opened(MASKS, **SMALL, mask_kind="painted", painted="2.____")
    assert_works(at, warnings=1)
    assert "painted=" in at.warning[0].value
    assert "No mask is painted yet" in said(at)


def test_a_query_without_a_key_becomes_no_number_by_minus_infinity():
    at = small(panel="no-key")
    assert "NaN" in words_in_pictures(at)
    assert "Suppose query" in said(at)
    blind = small(**{**NO_KEY, "n_padding": 3}, panel="no-key")
    assert "cannot attend to any key in this run" in said(blind)
    half = small(dtype="float16", panel="no-key")
    assert "out of range and becomes −∞" in said(half)


def test_other_replacements_move_outputs_otherwise():
    at = small(panel="leaks")
    before = said(at)
    press(at, "other_replacements")
    assert_works(at)
    assert settings(at)["leak_seed"] == "1" and said(at) != before


def test_a_finished_run_shows_why_the_mask_exists():
    at = opened(MASKS, **SMALL, panel="peeking")
    assert_works(at, warnings=None)
    assert "from a recorded run" in said(at) and "copies the next token" in said(at)
    names = {trace["name"] for trace in figure(at, "peeking_losses")["data"]}
    kinds = ("training", "generating")
    assert names == {f"{mask}, {kind}" for mask in ("causal mask", "no mask") for kind in kinds}
    texts = [code.value for code in at.code if code.value.startswith("Once there was a")]
    assert len(texts) == 2


def test_a_chinese_reader_reads_chinese_stories():
    at = opened(MASKS, locale="zh", **SMALL, panel="peeking")
    assert sum(code.value.startswith("从前，") for code in at.code) == 2


def test_both_are_trained_here_where_the_reader_asks(monkeypatch):
    monkeypatch.setattr(peeking.training, "N_UPDATES", 5)
    at = opened(MASKS, **SMALL, panel="peeking", seed=1)
    move(at, "train_peeking", True)
    assert_works(at, warnings=None)
    assert settings(at)["train_peeking"] == "true"
    assert "Trained here." in said(at) and "(seed 1)" in said(at) and "After 5 steps" in said(at)
    assert len(figure(at, "peeking_losses")["data"][0]["x"]) == 5


def test_a_machine_without_memory_for_it_says_so(monkeypatch):
    monkeypatch.setattr(peeking, "memory_budget", lambda _device: 1000)
    asked = {"train_peeking": True, "panel": "peeking", "seed": 2}
    at = opened(MASKS, pressed=asked, **SMALL, **asked)
    assert at.error[0].value.startswith("This training needs about")


def test_what_paints_is_folded_in_a_lesson_and_the_masks_are_in_sight():
    at = opened(MASKS, panel="steps", lesson="leaking-mask", lesson_step=3)
    assert_works(at)
    assert "paint_cell" not in {button.key for button in at.button}
    assert any(each.label == "Paint a mask by hand" for each in at.expander)

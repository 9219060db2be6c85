"""Three attentions on the page: who reads whom, alignment, and what the encoder hands over."""

import numpy as np
import pytest
from opened import assert_works, control, figure, move, opened, press, said, settings, visit

from blocks.corpora.translation import held_out_pairs, tokenizer

PAGE = "pages/seq2seq.py"
KINDS = ("encoder", "decoder", "cross")
SMALL = {"n_layers": 2, "n_decoder_layers": 3, "d_model": 32, "n_heads": 4}
OWN = {"preset": "t5-small", **SMALL, "text": "one two three", "max_new_tokens": 3}


def told(at) -> str:
    """What the sections say in their sentences."""
    return "\n".join(info.value for info in at.info)


def alignment_table(at):
    return next(t.value for t in at.dataframe if "error rate (validation)" in t.value)


def tokens_of(at, key: str) -> tuple[list[str], list[str]]:
    """Names of the rows and of the columns."""
    layout = figure(at, key)["layout"]
    return layout["yaxis"]["ticktext"], layout["xaxis"]["ticktext"]


def test_the_trained_translator_aligns_a_sentence_of_the_grammar():
    (pair,) = held_out_pairs(1)
    text = tokenizer().decode(tokenizer().ids(pair.english))
    at = opened(PAGE, preset=None, panel="alignment", text=text)
    assert_works(at)
    assert f"of the {len(pair.links)} true ones" in told(at)
    assert "validation sentences" in said(at)
    table = alignment_table(at)
    assert (
        table["error rate (validation)"].min()
        < 0.35
        < table["error rate (validation, next query)"].min()
    )
    rows, columns = tokens_of(at, "alignment_map")
    assert columns == list(pair.english) and rows == list(pair.chinese)


def test_one_row_later_the_same_page_says_so():
    at = opened(PAGE, preset=None, panel="alignment", aligned_row="reads")
    assert_works(at)
    assert "the decoder has read that word" in said(at)


@pytest.mark.parametrize("kind", KINDS)
def test_each_attention_has_its_tokens_at_both_axes(kind: str):
    at = opened(PAGE, **OWN, panel="attention", attention_of=kind, layer=9, head=9)
    assert_works(at)
    rows, columns = tokens_of(at, "two_text_map")
    assert ("[BEGIN]" in rows) == (kind != "encoder")
    assert ("[BEGIN]" in columns) == (kind == "decoder")
    n_layers = SMALL["n_layers"] if kind == "encoder" else SMALL["n_decoder_layers"]
    assert control(at, "layer").value == n_layers - 1 and control(at, "head").value == 3
    masked = [t for t in figure(at, "two_text_map")["data"] if "masked" in str(t)]
    assert bool(masked) == (kind == "decoder")
    for name, layers in (("encoder", 2), ("decoder", 3), ("cross", 3)):
        tiles = figure(at, f"tiles_{name}")["data"][1]["customdata"]
        assert len({row[0] for row in tiles}) == 4 * layers


def test_the_sharpest_head_is_a_click_away():
    at = opened(PAGE, preset=None, panel="attention")
    press(at, "sharpest_of_kind")
    assert_works(at)
    assert {"layer", "head"} & settings(at).keys()
    assert at.button(key="sharpest_of_kind").disabled


def test_a_source_token_is_followed_as_well_as_a_target_token():
    at = opened(PAGE, preset=None, panel="attention", token=0)
    assert "; in the target so far, to " in said(at)
    move(at, "pinned_in", "source")
    assert "receives the most attention from" in said(at)
    strips = figure(at, "strips")
    outlined = [s for s in strips["layout"]["shapes"] if s["xref"] == "x"]
    assert [(s["x0"], s["x1"]) for s in outlined] == [(-0.5, 0.5)]


def test_what_the_grammar_cannot_say_has_no_truth_and_the_heads_are_still_known():
    at = opened(PAGE, preset=None, panel="alignment", text="dog the the reads.")
    assert_works(at)
    assert "the grammar cannot produce this source" in told(at)
    assert "error rate (this sentence)" not in alignment_table(at)
    own = opened(PAGE, **OWN, panel="alignment")
    assert "not words of the translation grammar" in told(own)
    assert [option for option in control(own, "aligned_head").options] == [
        "chosen head",
        "layer mean",
    ]


def test_random_weights_say_that_they_are_chance():
    random = {"weights": "random", "forced_ids": "70.80.90", "max_new_tokens": 4}
    at = opened(PAGE, preset=None, panel="alignment", **random)
    assert_works(at)
    assert "The weights are random (seed 0)" in told(at)
    assert alignment_table(at)["error rate (validation)"].min() > 0.5


@pytest.mark.parametrize(
    ("choice", "sort"), [("best_head", "recall"), ("one_head", "held_out"), ("layer_mean", "layer")]
)
@pytest.mark.thinned
def test_every_choice_of_the_alignment_works(choice: str, sort: str):
    link = {"panel": "alignment", "aligned_head": choice, "sort_aligned_by": sort}
    at = opened(PAGE, preset=None, text="She sleeps.", **link)
    assert_works(at, warnings=None)


@pytest.mark.parametrize(
    "settings_of",
    [
        {"text": "a", "max_new_tokens": 1},
        {"text": "a", "target_step": 0},
        {"n_padding": 3, "padding_side": "left", "attention_of": "cross"},
        {"dtype": "bfloat16", "attention_of": "encoder", "norm_kind": "batchnorm"},
        {"norm_kind": "none", "residual": False, "mask_kind": "none", "attention_of": "decoder"},
        {"preset": "bart-base", "d_model": 24, "n_heads": 1, "n_layers": 1, "n_decoder_layers": 1},
        {"preset": "vaswani-base", "attention_only": True, "dropout": 0.5, "training": True},
    ],
)
@pytest.mark.thinned
def test_extremes_work(settings_of: dict):
    assert_works(opened(PAGE, **{**OWN, **settings_of}), warnings=None)


def test_a_long_source_is_cut_around_the_pinned_token():
    at = opened(PAGE, **{**OWN, "text": "word " * 100, "token": 80, "panel": "attention"})
    assert_works(at, warnings=None)
    assert "around the pinned tokens" in said(at)
    cells = figure(at, "two_text_map")["data"]
    assert max(len(trace.get("x", ())) for trace in cells) <= 64 * 64


def test_vectors_of_the_encoder_are_counted_for_every_source_token():
    at = opened(PAGE, **OWN, panel="encoder-output")
    table = next(t.value for t in at.dataframe if "initial length" in t.value)
    assert len(table) == len(tokens_of(at, "cosines_after")[0])
    assert np.isfinite(table["length"]).all()
    steps = figure(at, "source_changes")["layout"]["yaxis"]["ticktext"]
    assert steps == ["layer 1", "layer 2", "final norm"]


def test_both_directions_are_told_apart():
    at = opened(PAGE, preset=None, panel="alignment", locale="zh", text="那只猫喜欢牛奶。")
    assert_works(at)
    rows, _columns = tokens_of(at, "alignment_map")
    assert "cat" in rows


def test_whether_both_languages_meet_is_said_of_a_translator_only():
    for link, is_said in (({"preset": None}, True), (OWN, False)):
        at = opened(PAGE, panel="encoder-output", **link)
        assert ("Do the two languages share a representation of meaning?" in said(at)) is is_said


def test_padding_enters_no_average_over_source_tokens():
    text = {"preset": "translator", "text": "I like cats.", "token": 0}
    at = opened(PAGE, **text)
    alone = _averages(at)
    visit(at, **text, n_padding=4)
    assert_works(at)
    assert _averages(at) == alone


def _averages(at) -> list[str]:
    """The sentences that average over source tokens."""
    about = ("changes the vectors most", "effectively attends to", "has changed direction least")
    return [next(line for line in said(at).splitlines() if each in line) for each in about]


def test_what_padding_changes_is_measured_and_said():
    text = {"preset": "translator", "text": "I like cats.", "panel": "attention"}
    at = opened(PAGE, **text, n_padding=4)
    assert_works(at)
    assert "The mask hides [PAD]" in said(at) and "same with and without padding" in said(at)
    visit(at, **text)
    assert "The mask hides [PAD]" not in said(at)

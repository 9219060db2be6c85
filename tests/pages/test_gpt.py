"""The page of a GPT: the next token, the text it writes, its cache, lens and surprise."""

import itertools
import re

import numpy as np
import pytest
from daily import some_daily
from opened import (
    assert_works,
    control,
    figure,
    move,
    opened,
    press,
    said,
    visit,
    words_in_pictures,
)
from streamlit.testing.v1 import AppTest
from test_hard_inputs import TEXTS

from blocks.model.masks import MaskKind
from blocks.weights.pocket import pocket
from pages.panels.gpt import two_answers
from pages.server.settings import MAX_CHARACTERS, MAX_NEW_TOKENS

GPT = "pages/gpt.py"
SMALL = {"preset": "gpt2-small", "n_layers": 2, "d_model": 64, "n_heads": 4, "vocab_size": 1100}


def gpt(panel: str, **query: object) -> AppTest:
    """A small GPT with random weights, seen in one panel or in all."""
    at = opened(GPT, panel=panel, **{**SMALL, **query})
    assert_works(at)
    return at


def bars(at: AppTest) -> dict[str, dict]:
    """The bars of the next token by name."""
    return {trace.get("name"): trace for trace in figure(at, "next_bars")["data"]}


def values(packed) -> np.ndarray:
    return np.asarray(packed, dtype=float)


def chances(at: AppTest) -> list[float]:
    """What each new token was drawn with."""
    return figure(at, "chances")["data"][0]["y"]


def written(at: AppTest) -> list[str]:
    """The new tokens."""
    return figure(at, "chances")["layout"]["xaxis"]["ticktext"]


def test_moving_the_sampling_runs_no_model(monkeypatch: pytest.MonkeyPatch):
    at = gpt("all", n_new_tokens=0)

    def runs(*_args, **_more):
        raise AssertionError("the model ran again")

    monkeypatch.setattr("blocks.observe.run.record", runs)
    monkeypatch.setattr("blocks.text.generation.record", runs)
    for name, value in (("temperature", 0.5), ("top_k", 5), ("top_p", 0.5), ("temperature", 0.0)):
        before = bars(at)
        move(at, name, value)
        assert bars(at) != before


def test_the_model_s_own_probabilities_stay_and_the_others_follow_the_temperature():
    at = gpt("next", n_new_tokens=0)
    own, drawn = bars(at)["model probability"]["x"], bars(at)["sampling probability"]["x"]
    assert drawn == pytest.approx(own)
    move(at, "temperature", 0.5)
    assert bars(at)["model probability"]["x"] == own
    assert bars(at)["sampling probability"]["x"][0] > own[0]


def test_top_k_drops_all_but_k():
    at = gpt("next", n_new_tokens=0, top_k=3)
    assert len(bars(at)["sampling probability"]["x"]) == 3
    assert sum(bars(at)["sampling probability"]["x"]) == pytest.approx(1)
    assert set(bars(at)["model probability (excluded tokens)"]["text"]) == {"excluded"}
    assert "3 of 1,100 tokens can be sampled" in said(at)


def test_greedy_leaves_one():
    at = gpt("all", n_new_tokens=3, temperature=0)
    assert bars(at)["sampling probability"]["x"] == [1]
    assert chances(at) == [1, 1, 1]
    assert "greedy" in said(at)


def test_the_whole_vocabulary_is_sent_only_when_it_is_opened():
    at = gpt("next", top_k=7)
    assert not [table for table in at.dataframe if len(table.value) == 1100]
    box = next(box for box in at.expander if "whole vocabulary" in box.label)
    assert "1,100" in box.label


def test_a_link_brings_the_same_text():
    query = {"n_new_tokens": 9, "sampling_seed": 4, "temperature": 0.7}
    first = gpt("writing", **query)
    assert len(written(first)) == 9
    assert written(gpt("writing", **query)) == written(first)
    for other in ({"seed": 1}, {"sampling_seed": 5}):
        assert written(gpt("writing", **query | other)) != written(first)


def test_step_play_and_start_again_count_in_the_link():
    at = gpt("writing", n_new_tokens=2)
    before = written(at)
    press(at, "step")
    assert at.query_params["n_new_tokens"] == "3"
    assert written(at)[:2] == before
    press(at, "play")
    assert_works(at)
    assert at.query_params["n_new_tokens"] == "23" and len(chances(at)) == 23
    press(at, "start_again")
    assert_works(at)
    assert at.query_params["n_new_tokens"] == "0"
    assert "Press “Generate" in said(at)


def test_the_cache_of_a_linked_text_is_there_and_an_empty_one_can_be_filled():
    assert len(figure(gpt("kv-cache", n_new_tokens=9), "growth")["data"][-1]["x"]) == 9
    at = gpt("kv-cache", n_new_tokens=0)
    assert "Press “Generate" in said(at)
    press(at, "fill_cache")
    assert_works(at)
    assert len(figure(at, "growth")["data"][-1]["x"]) == 20


def test_stop_keeps_what_is_there():
    at = gpt("writing", n_new_tokens=5)
    press(at, "stop")
    assert_works(at)
    assert len(chances(at)) == 5


def test_what_is_slow_is_written_in_sight(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pages.panels.gpt.writing.AT_ONCE", 0)
    monkeypatch.setattr("pages.panels.gpt.writing.A_MOMENT", 0.001)
    at = gpt("writing", n_new_tokens=8, sampling_seed=77)
    assert len(chances(at)) == 8


def test_a_new_token_is_opened():
    at = gpt("writing", n_new_tokens=4)
    assert "New token 4" in said(at)
    move(at, "new_token", 2)
    assert "New token 2" in said(at)
    assert at.query_params["new_token"] == "2"
    visit(at, **SMALL, panel="writing", new_token=99, n_new_tokens=4)
    assert "New token 4" in said(at)


def test_what_heads_read_sums_to_one():
    at = gpt("all", n_new_tokens=4)
    cells = figure(at, "reads")["data"][1]
    rows = cells["z"]["shape"] if isinstance(cells["z"], dict) else np.shape(cells["z"])
    n_tokens = len(tokens_read(at))
    assert str(rows) == f"8, {n_tokens + 3}"


def tokens_read(at: AppTest) -> list[str]:
    """Labels of the tokens that the model reads."""
    return list(control(at, "token").options)


def test_the_context_moves_and_it_is_said():
    at = gpt("all", max_seq_len=32, n_new_tokens=30)
    assert "The context is full (max_seq_len 32)" in said(at)
    measured = figure(at, "growth")["data"][-1]["y"]
    assert max(measured) == 32 * 1024 and measured[-1] < max(measured)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_cache_measures_what_the_formula_says(dtype: str):
    at = gpt("all", n_new_tokens=4, n_kv_heads=2, dtype=dtype)
    line, ghost, measured = figure(at, "growth")["data"]
    assert line["y"] == measured["y"] == [value / 2 for value in ghost["y"]]
    itemsize = 4 if dtype == "float32" else 2
    assert f"= 2 · 2 · 2 · 16 · {itemsize} = **{128 * itemsize:,}**" in said(at)


def test_the_cache_is_timed_when_it_is_asked_for():
    at = gpt("all", n_new_tokens=0)
    assert "ms without" not in said(at)
    press(at, "measure")
    assert_works(at)
    assert re.search(r"Measured on .+: [\d.]+ ms per token with the cache", said(at))
    assert [len(trace["y"]) for trace in figure(at, "times")["data"]] == [32, 32]
    move(at, "temperature", 0.5)
    assert "ms without" not in said(at)


def test_the_lens_ends_with_the_model_s_answer():
    at = gpt("logit-lens", token=3)
    assert "pinned token `" in said(at)
    cells = figure(at, "lens_grid")["data"][0]["text"]
    assert all(cell[-1].endswith("#1") for cell in cells)
    assert len(cells[0]) == 3


def test_surprise_reads_the_loss():
    at = gpt("all")
    assert "nats (" in said(at) and "perplexity" in said(at)
    assert len(figure(at, "surprise_bars")["data"][0]["y"]) == len(tokens_read(at)) - 1


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.thinned
def test_any_text_is_read(text: str):
    at = gpt("all", text=text, n_new_tokens=3)
    assert at.query_params["text"] == text
    assert len(chances(at)) == 3


def test_a_text_of_100_000_characters_is_cut_and_said():
    at = opened(GPT, **SMALL, text="a " * 50_000, n_new_tokens=2)
    assert_works(at, warnings=1)
    assert len(at.query_params["text"]) == MAX_CHARACTERS
    assert len(tokens_read(at)) == 1024  # all of its context


def test_what_a_link_had_wrong_is_said_although_the_page_goes_on_by_itself(monkeypatch):
    monkeypatch.setattr("pages.panels.gpt.writing.AT_ONCE", 0.0)
    at = opened(GPT, **SMALL, top_k=-1, n_new_tokens=3, seed=11)
    assert_works(at, warnings=1)
    assert len(move(at, "n_new_tokens", 2).warning) == 0


def test_a_text_longer_than_the_context_is_cut_and_said():
    at = gpt("all", max_seq_len=8)
    assert len(tokens_read(at)) == 8
    assert "the first 8 are used" in said(at)


def test_markup_is_text():
    at = gpt("all", text=TEXTS["markup"])
    assert "<script" not in words_in_pictures(at)
    chips = next(m.value for m in at.markdown if m.value.startswith(":gray-badge"))
    outside = re.sub(r"\\.|\*\*(?=\u2068)|(?<=\u2069)\*\*", "", chips)  # our own bold aside
    assert not re.search(r"[<>`$*]|\]\(", outside)


SIDES = ("left", "right")


@pytest.mark.parametrize(
    ("kind", "side"),
    some_daily(
        itertools.product(MaskKind, SIDES),
        daily=[*zip(MaskKind, itertools.cycle(SIDES), strict=False)],
    ),
)
@pytest.mark.thinned
def test_every_mask(kind: MaskKind, side: str):
    at = gpt("all", mask_kind=kind, n_padding=2, padding_side=side, n_new_tokens=3)
    is_causal = kind in (MaskKind.CAUSAL, MaskKind.CAUSAL_PADDING, MaskKind.SLIDING_WINDOW)
    assert ("generation is autoregressive" in said(at)) != is_causal
    assert len(chances(at)) == 3


@pytest.mark.parametrize(
    ("dtype", "norm_kind"), [("float16", "none"), ("bfloat16", "none"), ("float64", "layernorm")]
)
@pytest.mark.thinned
def test_every_number_format(dtype: str, norm_kind: str):
    gpt("all", dtype=dtype, norm_kind=norm_kind, n_new_tokens=3)


def test_a_vocabulary_that_is_too_small_has_a_way_out():
    at = opened(GPT, **{**SMALL, "vocab_size": 300})
    assert "vocab_size is 300" in at.error[0].value
    assert_works(press(at, "mend_0"))


def test_a_whole_vocabulary_that_has_no_text_is_said():
    assert "⟨1024⟩" in said(gpt("all"))


@pytest.mark.parametrize("name", ["n_new_tokens", "new_token", "top_k", "sampling_seed"])
@pytest.mark.thinned
def test_links_out_of_bounds_are_mended(name: str):
    at = opened(GPT, **SMALL, **{name: -1})
    assert_works(at, warnings=1)
    visit(at, **SMALL, **{name: MAX_NEW_TOKENS})
    assert_works(at)


def test_running_out_of_memory_while_it_writes_is_said(monkeypatch: pytest.MonkeyPatch):
    at = gpt("writing", n_new_tokens=0, seed=1003)

    def no_memory(*_args):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    with monkeypatch.context() as broken:
        broken.setattr("blocks.text.generation.choose", no_memory)
        press(at, "step")
    assert not at.exception
    assert "ran out of memory" in at.error[0].value
    press(at, "step")
    assert_works(at)
    assert len(chances(at)) == 2


def test_two_answers_are_weighed_directly_by_ablation_and_by_patching():
    story, other = " The cat saw a dog. The dog saw a", " The dog saw a cat. The cat saw a"
    at = opened(GPT, preset=None, panel="two-answers", text=story, other_text=other)
    for method in ("direct", "ablation", "patching"):
        move(at, "decided_by", method)
        assert_works(at)
        n_cells = [len(figure(at, key)["data"][1]["x"]) for key in ("answer_heads", "answer_parts")]
        assert n_cells == [16, 8] and "Of all heads, layer" in said(at)
    assert "In the other text the difference is" in said(at)
    visit(at, preset=None, panel="two-answers", norm_placement="post")
    assert_works(at)


def test_the_strongest_head_is_switched_off_in_the_panel_for_that():
    asked = {"preset": None, "text": " The cat saw a dog. The dog saw a", "present": True}
    at = opened(GPT, **asked, panel="two-answers")
    told = re.search(r"Of all heads, (layer \d+, head \d+)", said(at))[1]
    assert "This head raises" not in said(at)  # a class reads two lines
    press(at, "without_strongest")
    assert_works(at)
    assert at.query_params["panel"] == "ablation"
    assert f"In {told} is replaced with zeros" in said(at) and at.query_params["interventions"]


def test_another_of_the_offered_answers_is_weighed_with_what_was_measured(monkeypatch):
    cat, saw, a = pocket("stories-en-zh").tokenizer.encode(" cat saw a")
    asked = {"text": " The cat saw a dog. The dog saw a", "answer_a": cat, "answer_b": saw}
    at = opened(GPT, preset=None, panel="two-answers", **asked)
    move(at, "decided_by", "ablation")
    before = figure(at, "answer_heads")["data"][0]["z"]
    monkeypatch.setattr(two_answers, "outputs_of_each", None)  # nothing is run again
    move(at, "answer_b", a)
    assert figure(at, "answer_heads")["data"][0]["z"] != before

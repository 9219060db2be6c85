"""The pictures of a GPT: next token, new tokens, cache, lens, surprise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, checked, marked, raw, same, visible, words_that_slipped_by

from blocks import ModelConfig
from blocks.inspection.cache_growth import CacheFacts, CacheTimes, cache_facts
from blocks.inspection.drafts import DraftFacts
from blocks.inspection.leave_one_out import LeftOut, Without
from blocks.inspection.lens import Lens, LensFacts
from blocks.inspection.new_tokens import NewTokens
from blocks.inspection.next_token import NextFacts
from blocks.inspection.predictions import SurpriseFacts
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.text.sampling import SamplingConfig
from blocks.text.speculation import Pass
from blocks.text.written import Written
from pages.figures.described import described
from pages.figures.drawn_chart import drawn
from pages.panels.gpt import drafts as drafts_panel
from pages.panels.gpt import (
    kv_cache,
    leave_one_out_picture,
    logit_lens,
    logit_lens_picture,
    next_token_picture,
    writing_picture,
)
from pages.panels.gpt import leave_one_out as leave_one_out_panel
from pages.panels.gpt import surprise as surprise_panel
from pages.panels.gpt.leave_one_out_picture import Answer

NASTY = ("<b>x</b>", "&amp;", "球" * 40, "🤖", "\u202eabc", "a")


LABELS = dict(enumerate(NASTY))
CONFIG = {"architecture": "gpt", "n_layers": 2, "d_model": 12, "n_heads": 3, "vocab_size": 64}


def run(tokens=TOKENS, **changes) -> Run:
    config = ModelConfig.from_flat({**CONFIG, **changes})
    given = Input(tokens=tuple(tokens), token_ids=tuple(range(len(tokens))))
    return Run(config=config, input=given, mask=MaskConfig())


def next_facts(largest: float = 0.6, n_dropped: int = 2) -> NextFacts:
    """Six tokens, of which some are dropped, and others where some are."""
    own = np.array([1, 0.3, 0.2, 0.1, 0.05, 0.01]) * largest
    own = np.concatenate((own, np.full(7, 1e-5 * largest)))[: 13 if n_dropped else 6]
    kept = np.arange(len(own)) < len(own) - n_dropped
    table = pd.DataFrame(
        {
            "token_id": range(len(own)),
            "rank": range(1, len(own) + 1),
            "logit": np.log(own),
            "scaled": 2 * np.log(own),
            "kept": kept,
            "model_probability": own,
            "probability": np.where(kept, own / own[kept].sum(), 0) if n_dropped else own,
        }
    )
    sampling = SamplingConfig()
    return NextFacts(run(("<b>",)), 0, sampling, table, lambda i: LABELS.get(i, f"given {i}"))


def reads(n_layers: int = 2, n_heads: int = 3) -> np.ndarray:
    random = np.random.default_rng(0).random((n_layers, n_heads, len(TOKENS)))
    return (random / random.sum(-1, keepdims=True)).astype(np.float16)


def new_tokens(weights: np.ndarray | None = None, opened: int = 0) -> NewTokens:
    weights = reads() if weights is None else weights
    found = [
        Written(i, chance, chance / 2, weights, context_start=0, cache_bytes=64 * (i + 5))
        for i, chance in enumerate(np.linspace(0.1, 1, len(NASTY)))
    ]
    return NewTokens(run(), tuple(found), opened, LABELS.__getitem__)


def cache(n_kv_heads: int = 3) -> CacheFacts:
    return cache_facts(run(n_kv_heads=n_kv_heads), new_tokens().found, None)


def times() -> CacheTimes:
    n = np.arange(3, 9)
    steps = {"n_read": n, "with_cache": 1 + 0.01 * n, "without": 1 + 0.1 * n}
    return CacheTimes(pd.DataFrame(steps), "given")


def lens_facts(n: int = 30, pinned: int = 12) -> LensFacts:
    numbers = np.linspace(0, 1, 3 * n).reshape(3, n)
    token_id, rank = np.arange(3 * n).reshape(3, n) % 6, np.arange(1, 3 * n + 1).reshape(3, n)
    rank[-1] = 1
    of = run((NASTY * n)[:n])
    rows = LensFacts.drawn_of(of, pinned).rows
    found = Lens(token_id[:, rows], numbers.astype(np.float32)[:, rows], rank[:, rows])
    return LensFacts(of, found, pinned, LABELS.__getitem__)


def surprise() -> SurpriseFacts:
    bits = np.array([1.0, 4, 0.1, 9, 2])
    shares = {"bits": bits, "probability": 2**-bits, "rank": range(1, 6)}
    return SurpriseFacts(run(NASTY), pd.DataFrame({"position": range(1, 6), **shares}), pinned=4)


def drafts() -> DraftFacts:
    passes = (Pass((), (0,)), Pass((1, 2), (1, 3, 4)), Pass((4, 5), (4, 5, 0)))
    return DraftFacts(run(n_mtp_modules=2), passes, LABELS.__getitem__)


def left_out() -> LeftOut:
    without = tuple(Without(bits, 7) for bits in (-4.0, -1.0, -0.25))
    return LeftOut(run(), 3, 7, -1.0, (0, 1, 2), without)


PICTURES = {
    "next token": lambda _: next_token_picture.bars(next_facts(), _=_),
    "few": lambda _: next_token_picture.few(next_facts(), _=_),
    "chances": lambda _: writing_picture.chances(new_tokens(), _=_),
    "reads": lambda _: writing_picture.reads(new_tokens(), _=_),
    "lens": lambda _: logit_lens_picture.grid(lens_facts(), _=_),
    "few to hang on": lambda _: leave_one_out_picture.few(Answer(NASTY[0], left_out()), _=_),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES.keys())
def test_every_picture_has_a_title_in_words_and_no_token_is_markup(draw):
    assert checked(draw(same)).layout.title.text
    picture = draw(marked)
    given = set("xampabc") | {"abc", "ms", "amp"}
    assert words_that_slipped_by(picture) - given == set()
    assert not any("<b>x" in text for text in visible(picture))


def test_a_word_with_its_space_and_one_without_are_told_apart():
    labels = {0: "her", 1: "␣her", 2: "␣owl"}
    facts = replace(next_facts(), label=lambda i: labels.get(i, f"given {i}"))
    assert next_token_picture.few_names(facts)[:3] == ("her", "␣her", "owl")


def test_dropped_tokens_are_hatched_and_kept_ones_sum_to_one():
    own, dropped, drawn, others = raw(next_token_picture.bars(next_facts(), _=same))["data"]
    assert len(own["x"]) == len(drawn["x"]) == 11 and len(dropped["x"]) == 1
    assert sum(drawn["x"]) == pytest.approx(1)
    assert dropped["marker"]["pattern"]["shape"] and not own["marker"]["pattern"]["shape"]
    assert others["text"] == ["model 0.001% → sampling 0.000%"] and others["y"] == [12]


@pytest.mark.parametrize(("largest", "tick"), [(0.9, ".0%"), (0.03, ".1%"), (4e-5, ".4%")])
def test_tiny_probabilities_are_not_nought(largest: float, tick: str):
    layout = raw(next_token_picture.bars(next_facts(largest, 0), _=same))["layout"]
    assert layout["xaxis"]["tickformat"] == tick


def test_even_a_tiny_bar_can_be_clicked():
    target = raw(writing_picture.chances(new_tokens(), _=same))["data"][-1]
    assert target["customdata"] == [[i] for i in range(6)]
    assert min(target["y"]) > 1
    target = raw(drawn(surprise_panel.surprisal(surprise())))["data"][-1]
    assert target["customdata"] == [[i] for i in range(1, 6)]
    target = raw(next_token_picture.few(next_facts(), _=same))["data"][-1]
    assert target["customdata"] == [[i] for i in range(5)]
    bar, target = raw(drawn(leave_one_out_panel.effect(left_out())))["data"]
    assert bar["y"] == [3.0, 0.0, -0.75] and len({*bar["marker"]["color"]}) == 2
    assert target["base"] <= min(bar["y"]) and target["customdata"] == [[0], [1], [2]]


@pytest.mark.parametrize(("n_layers", "n_heads"), [(1, 1), (2, 4), (12, 12), (24, 16)])
def test_reads_have_a_row_a_head(n_layers: int, n_heads: int):
    weights = reads(n_layers, n_heads)
    picture = raw(writing_picture.reads(new_tokens(weights), _=same))
    cells = picture["data"][1]
    assert cells["z"].shape == (n_layers * n_heads, len(TOKENS)) and cells["z"].dtype == np.uint8
    np.testing.assert_array_equal(cells["customdata"], weights.reshape(-1, len(TOKENS)))
    assert 150 < picture["layout"]["height"] < 1500
    assert len(picture["layout"]["yaxis"]["tickvals"]) <= 16


def test_sharing_keys_and_values_shows_what_it_saves():
    assert len(kv_cache.growth(cache(3)).series) == 2
    *_formulas, measured = checked(drawn(kv_cache.growth(cache(1)))).data
    assert measured.hovertemplate.startswith("%{customdata[0]} tokens kept: %{y:,} bytes")
    without, with_cache = checked(drawn(kv_cache.times(times()))).data
    assert without.y[0] == 1.3 and with_cache.y[0] == 1.03


def test_a_cell_of_the_lens_has_token_and_rank_and_the_pinned_row_is_said():
    picture = logit_lens_picture.grid(lens_facts(), _=same)
    cells, targets = raw(picture)["data"]
    assert cells["text"][1][0] == "a<br>#6"
    assert targets["customdata"][0] == [4] and targets["customdata"][-1] == [19]
    said = described(picture, _=same)
    assert "position 13, <b>x</b>₃ · embedding" in said and "position 14" not in said
    deep = lens_facts()
    lens = (np.tile(each, (11, 1)) for each in vars(deep.lens).values())
    many = replace(deep, lens=Lens(*lens))
    said = described(logit_lens_picture.grid(many, _=same), _=same)
    assert "embedding" in said and "layer 32" in said and said.count("position 13") == 2
    narrow = raw(logit_lens_picture.grid(replace(many, is_narrow=True), _=same))
    assert list(narrow["layout"]["xaxis"]["ticktext"]) == ["0", "16", "31", "32"]
    assert not narrow["data"][0]["showscale"]


def test_the_rank_of_the_answer_goes_up_to_the_first_place_at_the_top():
    (curve,) = raw(picture := drawn(logit_lens.ranks(lens_facts())))["data"]
    assert list(curve["x"]) == [0, 1, 2] and list(curve["y"]) == [13, 43, 1]
    low, high = raw(picture)["layout"]["yaxis"]["range"]
    assert low > high
    assert curve["hovertext"][0].startswith("embedding: ")


def test_accepted_drafts_are_counted_module_by_module():
    (bars,) = raw(checked(drawn(drafts_panel.acceptance(drafts()))))["data"]
    assert [*bars["y"]] == [1.0, 0.5]
    _straight, steps = raw(checked(drawn(drafts_panel.growth(drafts()))))["data"]
    assert [*steps["y"]] == [0, 1, 3, 6]


@pytest.mark.parametrize("pinned", [1, 4, 5])
def test_the_bar_of_the_pinned_token_is_marked(pinned: int):
    """The first token has no surprise, so that the bar of a token stands one before its place."""
    picture = raw(drawn(surprise_panel.surprisal(replace(surprise(), pinned=pinned))))
    ground = [shape for shape in picture["layout"]["shapes"] if shape["type"] == "rect"]
    assert [(shape["x0"], shape["x1"]) for shape in ground] == [(pinned - 1.5, pinned - 0.5)]
    assert picture["data"][1]["customdata"][pinned - 1] == [pinned]

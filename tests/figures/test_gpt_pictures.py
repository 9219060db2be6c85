"""The pictures of a GPT: next token, new tokens, cache, lens, surprise."""

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, checked, marked, raw, same, visible, words_that_slipped_by

from pages.panels.gpt import next_token_picture, reading_picture, writing_picture

NASTY = ("<b>x</b>", "&amp;", "球" * 40, "🤖", "\u202eabc", "a")


def candidates(largest: float = 0.6) -> pd.DataFrame:
    """Six tokens, of which two are dropped, and all others."""
    own = np.array([1, 0.3, 0.2, 0.1, 0.05, 0.01]) * largest
    kept = np.array([True] * 4 + [False] * 2)
    table = pd.DataFrame(
        {
            "label": NASTY,
            "rank": range(1, 7),
            "logit": np.log(own),
            "scaled": 2 * np.log(own),
            "kept": kept,
            "model_probability": own,
            "probability": np.where(kept, own / own[kept].sum(), 0),
        }
    )
    others = {"label": "given", "kept": False, "model_probability": 0.1, "probability": 0}
    return pd.concat([table, pd.DataFrame([others])], ignore_index=True)


def new_tokens() -> pd.DataFrame:
    chances = np.linspace(0.1, 1, len(NASTY))
    return pd.DataFrame({"label": NASTY, "probability": chances, "model_probability": chances / 2})


def reads(n_layers: int = 2, n_heads: int = 3) -> np.ndarray:
    random = np.random.default_rng(0).random((n_layers, n_heads, len(TOKENS)))
    return (random / random.sum(-1, keepdims=True)).astype(np.float16)


def steps(shared: int = 1) -> pd.DataFrame:
    n = np.arange(3, 9)
    measured = {"n_read": n, "n_kept": n, "measured": 64 * n, "formula": 64 * n}
    times = {"with_cache": 1 + 0.01 * n, "without": 1 + 0.1 * n}
    return pd.DataFrame({**measured, "every_head": shared * 64 * n, **times})


def lens_grid(_=same, n: int = 5):
    words = [[f"given {i}"] * 3 for i in range(n)]
    numbers = np.linspace(0, 1, 3 * n).reshape(n, 3)
    return reading_picture.grid(
        [[NASTY[i % 6]] * 3 for i in range(n)],
        words,
        numbers,
        np.arange(1, 3 * n + 1).reshape(n, 3),
        tokens=[NASTY[i % 6] for i in range(n)],
        layers=["given"] * 3,
        numbers=list(range(10, 10 + n)),
        pinned=1,
        _=_,
    )


def surprises() -> pd.DataFrame:
    bits = np.array([1.0, 4, 0.1, 9, 2, 3])
    shares = {"bits": bits, "probability": 2**-bits, "rank": range(1, 7)}
    return pd.DataFrame({"label": NASTY, "position": range(3, 9), **shares})


PICTURES = {
    "next token": lambda _: next_token_picture.bars(candidates(), after="<b>", _=_),
    "chances": lambda _: writing_picture.chances(new_tokens(), chosen=2, _=_),
    "reads": lambda _: writing_picture.reads(reads(), TOKENS, _=_),
    "growth": lambda _: writing_picture.growth(steps(3), _=_),
    "times": lambda _: writing_picture.times(steps(), _=_),
    "lens": lens_grid,
    "surprise": lambda _: reading_picture.bars(surprises(), guess_bits=6.0, pinned=4, _=_),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES.keys())
def test_plotly_accepts_it_and_it_has_a_title(draw):
    assert checked(draw(same)).layout.title.text


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES.keys())
def test_every_word_is_translated_and_no_token_is_markup(draw):
    picture = draw(marked)
    given = set("xampabc") | {"abc", "ms", "amp"}
    assert words_that_slipped_by(picture) - given == set()
    assert not any("<b>x" in text for text in visible(picture))


def test_dropped_tokens_are_hatched_and_kept_ones_sum_to_one():
    own, dropped, drawn, others = raw(next_token_picture.bars(candidates(), after="a", _=same))[
        "data"
    ]
    assert len(own["x"]) == len(drawn["x"]) == 4 and len(dropped["x"]) == 2
    assert sum(drawn["x"]) == pytest.approx(1)
    assert dropped["marker"]["pattern"]["shape"] and not own["marker"]["pattern"]["shape"]
    assert others["text"] == ["10.000% → 0.000%"]


@pytest.mark.parametrize(("largest", "tick"), [(0.9, ".0%"), (0.03, ".1%"), (4e-5, ".4%")])
def test_tiny_probabilities_are_not_nought(largest: float, tick: str):
    table = candidates(largest).assign(probability=lambda t: t["model_probability"])
    layout = raw(next_token_picture.bars(table[:-1], after="a", _=same))["layout"]
    assert layout["xaxis"]["tickformat"] == tick


def test_even_a_tiny_bar_can_be_clicked():
    target = raw(writing_picture.chances(new_tokens(), chosen=0, _=same))["data"][-1]
    assert target["customdata"] == [[i] for i in range(6)]
    assert min(target["y"]) > 1
    target = raw(reading_picture.bars(surprises(), guess_bits=6, pinned=0, _=same))["data"][-1]
    assert target["customdata"] == [[i] for i in range(3, 9)]


@pytest.mark.parametrize(("n_layers", "n_heads"), [(1, 1), (2, 4), (12, 12), (24, 16)])
def test_reads_have_a_row_a_head(n_layers: int, n_heads: int):
    weights = reads(n_layers, n_heads)
    picture = raw(writing_picture.reads(weights, TOKENS, _=same))
    cells = picture["data"][1]
    assert cells["z"].shape == (n_layers * n_heads, len(TOKENS)) and cells["z"].dtype == np.uint8
    np.testing.assert_array_equal(cells["customdata"], weights.reshape(-1, len(TOKENS)))
    assert 150 < picture["layout"]["height"] < 1500
    assert len(picture["layout"]["yaxis"]["tickvals"]) <= 16


def test_sharing_keys_and_values_shows_what_it_saves():
    assert len(writing_picture.growth(steps(1), _=same).data) == 2
    assert len(writing_picture.growth(steps(3), _=same).data) == 3


def test_a_cell_of_the_lens_has_token_and_rank():
    cells, targets = raw(lens_grid())["data"]
    assert cells["text"][0][1] == "&lt;b&gt;x&lt;/b&gt;<br>#2"
    assert targets["customdata"][0] == [10] and targets["customdata"][-1] == [14]

"""The contribution graph as data: which wires, how wide, which are lit, what a click returns."""

import numpy as np
import pytest
from drawn import bytes_sent, checked, marked, raw, same, visible, words_that_slipped_by

from blocks import ModelConfig
from blocks.inspection.contribution_graph import ContributionGraph, GraphFacts
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.figures import palette
from pages.panels.contribution_graph_picture import LEVELS, WIDTHS, graph

NASTY = ("<b>x</b>", "␣球", "&amp;", "球" * 40, "🤖")


def facts(n: int, n_layers: int, least: float, pinned: int, tokens) -> GraphFacts:
    """Every token takes 0.1 from the first and 0.3 from the one before, below it."""
    sources = np.zeros((n_layers, n, n))
    sources[:, 1:, 0] = 0.1
    sources[:, range(1, n), range(n - 1)] = 0.3
    graph = ContributionGraph(sources, 1 - sources.sum(-1), np.zeros((n_layers, n)))
    run = Run(config=ModelConfig(), input=Input(tokens=tuple(tokens)), mask=MaskConfig())
    return GraphFacts(run, graph, pinned % n, least)


def drawn(
    n: int = 5, n_layers: int = 3, least: float = 0.02, pinned: int = -1, _=same, tokens=NASTY
):
    return graph(facts(n, n_layers, least, pinned, (*tokens, *tokens * n)[:n]), _=_)


def strokes(picture, color: str) -> dict[float, int]:
    """How many curves there are of each width."""
    shapes = [s for s in raw(picture)["layout"]["shapes"] if s["line"]["color"] == color]
    return {s["line"]["width"]: s["path"].count("C") for s in shapes if "C" in s["path"]}


def test_plotly_accepts_it_and_every_word_is_translated():
    assert checked(drawn()).layout.title.text
    picture = drawn(_=marked)
    assert words_that_slipped_by(picture) - {"span", "style", "color", "amp"} == set()
    assert not any("<b>x" in text for text in visible(picture))


def test_wires_below_the_threshold_are_gone_and_lit_ones_are_not_drawn_twice():
    for least, n_wires in ((0.02, 3 * (4 + 3)), (0.2, 3 * 4)):
        picture, given = drawn(pinned=4, least=least), facts(5, 3, least, 4, NASTY)
        lit = int((given.graph.routed(4) >= least).sum())
        assert sum(strokes(picture, palette.PINNED).values()) == lit > 0
        assert sum(strokes(picture, palette.ATTENTION).values()) == n_wires - lit


def test_a_wire_is_as_wide_as_its_share():
    found = strokes(drawn(pinned=0), palette.ATTENTION)
    widths = {WIDTHS[np.searchsorted(LEVELS, share, side="right") - 1] for share in (0.1, 0.3)}
    assert found.keys() == widths and len(widths) == 2


@pytest.mark.parametrize(("n", "n_layers"), [(1, 1), (2, 1), (5, 3), (40, 4), (40, 48)])
def test_few_marks_whatever_the_size(n: int, n_layers: int):
    picture = drawn(n, n_layers)
    parts = raw(picture)
    assert len(parts["layout"]["shapes"]) <= 4 * len(WIDTHS)
    assert len(parts["data"]) == 2
    assert parts["layout"]["height"] < 820
    assert len(parts["layout"]["yaxis"]["tickvals"]) <= 25
    assert bytes_sent(picture) < 800_000


def test_a_click_returns_the_token_of_the_text_and_dots_grow_with_what_was_gathered():
    dots, targets = raw(drawn(47))["data"]
    assert targets["customdata"][:2] == [[7], [8]]  # those around the last, which is pinned
    assert len(targets["customdata"]) == len(dots["x"]) == 4 * 40
    of_the_last = dots["marker"]["size"][39::40]
    assert of_the_last == sorted(of_the_last) and of_the_last[0] < of_the_last[-1]
    assert targets["marker"]["opacity"] == 0


def test_the_tooltip_names_the_largest_sources():
    texts = raw(drawn(pinned=3))["data"][1]["hovertext"]
    last = texts[-2]  # token 3 at the last layer
    assert "30.0% from &amp;amp;" in last and "10.0% from &lt;b&gt;" in last
    assert "60% its own" in last
    assert "embedding" in texts[0] and "at the last layer passes through here" in texts[0]


def test_the_pinned_token_is_marked_and_spaces_are_left_out_of_names():
    axis = raw(drawn(pinned=1))["layout"]["xaxis"]
    assert palette.PINNED in axis["ticktext"][1] and "␣" not in axis["ticktext"][1]
    assert all(palette.PINNED not in text for text in axis["ticktext"][2:])


def test_a_long_text_is_slanted():
    assert "tickangle" not in raw(drawn(5))["layout"]["xaxis"]
    assert raw(drawn(40))["layout"]["xaxis"]["tickangle"] == 45


def test_many_single_characters_stand_upright_each_without_its_number():
    many = raw(drawn(n=20, tokens=(*("小", "猫", "看", "见") * 4, "球", "很 1–2/3", "很 3/3")))
    assert many["layout"]["xaxis"]["tickangle"] == 0
    assert many["layout"]["xaxis"]["ticktext"][:5] == ["小", "猫", "看", "见", "小"]
    assert "小₂" in many["data"][1]["hovertext"][4]
    few = raw(drawn(n=5, tokens=("小", "猫", "看", "见")))["layout"]["xaxis"]["ticktext"]
    words = raw(drawn(n=20, tokens=("Once", "there", "was", "a")))["layout"]["xaxis"]["ticktext"]
    assert few[0] == "小₁" and words[0] == "Once₁"

"""The contribution graph as data: which wires, how wide, which are lit, what a click returns."""

import numpy as np
import pytest
from drawn import bytes_sent, checked, marked, raw, same, visible, words_that_slipped_by

from pages.figures.theme import ATTENTION, PINNED
from pages.panels.contribution_graph_picture import LEVELS, WIDTHS, Shares, graph

NASTY = ("<b>x</b>", "␣球", "&amp;", "球" * 40, "🤖")


def shares(n: int = 5, n_layers: int = 3) -> Shares:
    """Every token takes 0.1 from the first and 0.3 from the one before, below it."""
    wires = np.zeros((n_layers, n, n))
    wires[:, 1:, 0] = 0.1
    wires[:, range(1, n), range(n - 1)] = 0.3
    routes = np.zeros((n_layers + 1, n))
    routes[:, -1] = 1
    routed = wires * routes[1:, :, None]
    own = 1 - wires.sum(-1)
    return Shares(
        wires, routed, own, np.linspace(0, 0.9, routes.size).reshape(routes.shape), routes
    )


def drawn(n: int = 5, n_layers: int = 3, least: float = 0.02, pinned: int = -1, _=same, **more):
    tokens = (NASTY * n)[:n]
    pinned = pinned % n
    return graph(
        shares(n, n_layers), tokens, least=least, pinned=pinned, title="given", _=_, **more
    )


def strokes(picture, color: str) -> dict[float, int]:
    """How many curves there are of each width."""
    shapes = [s for s in raw(picture)["layout"]["shapes"] if s["line"]["color"] == color]
    return {s["line"]["width"]: s["path"].count("C") for s in shapes if "C" in s["path"]}


def test_plotly_accepts_it_and_every_word_is_translated():
    assert checked(drawn()).layout.title.text == "given"
    picture = drawn(_=marked)
    assert words_that_slipped_by(picture) - {"span", "style", "color", "amp"} == set()
    assert not any("<b>x" in text for text in visible(picture))


def test_wires_below_the_threshold_are_gone_and_lit_ones_are_not_drawn_twice():
    everyone, wide = drawn(pinned=4), drawn(pinned=4, least=0.2)
    n_wires = 3 * (4 + 3)
    counts = [sum(strokes(everyone, color).values()) for color in (ATTENTION, PINNED)]
    assert counts == [n_wires - 3 * 2, 3 * 2]
    assert sum(strokes(wide, ATTENTION).values()) + sum(strokes(wide, PINNED).values()) == 3 * 4


def test_a_wire_is_as_wide_as_its_share():
    found = strokes(drawn(), PINNED)
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
    dots, targets = raw(drawn(first=7))["data"]
    assert targets["customdata"][:5] == [[7], [8], [9], [10], [11]]
    assert len(targets["customdata"]) == len(dots["x"]) == 4 * 5
    assert dots["marker"]["size"] == sorted(dots["marker"]["size"])
    assert targets["marker"]["opacity"] == 0


def test_the_tooltip_names_the_largest_sources():
    texts = raw(drawn(pinned=3))["data"][1]["hovertext"]
    last = texts[-2]  # token 3 at the last layer
    assert "30.0% from &amp;amp;" in last and "10.0% from &lt;b&gt;" in last
    assert "keeps 60% of its own" in last
    assert texts[0].endswith("embedding")


def test_the_pinned_token_is_marked_and_spaces_are_left_out_of_names():
    axis = raw(drawn(pinned=1))["layout"]["xaxis"]
    assert PINNED in axis["ticktext"][1] and "␣" not in axis["ticktext"][1]
    assert all(PINNED not in text for text in axis["ticktext"][2:])


def test_a_long_text_is_slanted():
    assert "tickangle" not in raw(drawn(5))["layout"]["xaxis"]
    assert raw(drawn(40))["layout"]["xaxis"]["tickangle"] == 45


def test_single_characters_stand_upright():
    one = graph(shares(30), "好" * 30, least=0.02, pinned=0, title="given", _=same)
    assert raw(one)["layout"]["xaxis"]["tickangle"] == 0

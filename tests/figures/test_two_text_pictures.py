"""Pictures of two texts: every number at its place, every word translated."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn import TOKENS, bytes_sent, checked, marked, raw, same, visible, words_that_slipped_by

from blocks.inspection.aligned_heads import LinksFacts, Truth
from blocks.inspection.alignment import Row, score
from blocks.inspection.encoder_output import SourceFacts
from blocks.inspection.three_attentions import Head, HeadFacts, KindFacts, Lines, Pins, TokenFacts
from blocks.inspection.two_texts import AttentionKind
from pages.figures import bipartite, palette
from pages.figures.described import described
from pages.panels.seq2seq import alignment_picture, attention_picture, memory_picture

SOURCE = ("given", "<b>", "given 2")
WEIGHTS = np.random.default_rng(0).dirichlet(np.ones(3), size=len(TOKENS)).astype(np.float32)
MASKED = np.where([False, False, True], np.nan, WEIGHTS)
CROSS = Head(AttentionKind.CROSS, 0, 1)
TABLE = pd.DataFrame(
    {"layer": [0, 0], "head": [0, 1], "entropy_bits": [1.0, 0.5], "effective_tokens": [2.0, 1.4]}
)
HEAD = HeadFacts(CROSS, TOKENS, SOURCE, WEIGHTS, TABLE, Pins(1, 3), "given", seed=0)
LINKS = LinksFacts(
    layer=0,
    head=-1,
    row=Row.WRITES,
    source=SOURCE,
    target=TOKENS,
    weights=WEIGHTS,
    found=frozenset({(0, 1), (2, 2)}),
    true=frozenset({(0, 1), (1, 3)}),
    truth=Truth.KNOWN,
    score=score({(0, 1), (2, 2)}, {(0, 1), (1, 3)}),
    least_error=0.0,
    pins=Pins(0, 2),
    seed=None,
)
TOKEN = TokenFacts(0, 1, "target", Pins(2, 3), SOURCE, TOKENS, MASKED[0], WEIGHTS[:, 0], SOURCE)
ENCODED = SourceFacts(
    labels=SOURCE[:2],
    is_token=np.array([True, True]),
    tokens=pd.DataFrame(),
    before=np.array([[1, -0.5], [-0.5, 1]], dtype=np.float32),
    after=np.eye(2, dtype=np.float32),
    mean_before=-0.5,
    mean_after=0.0,
    changes=np.linspace(0, 2, 4, dtype=np.float32).reshape(2, 2),
    n_layers=1,
    pinned=0,
    seed=None,
)


def attention(_: Any = same, **changes: Any) -> Any:
    return attention_picture.head_map(replace(HEAD, **changes), _=_)


def aligned(_: Any = same, **changes: Any) -> Any:
    return alignment_picture.links(replace(LINKS, **changes), _=_)


def followed(_: Any = same, **changes: Any) -> Any:
    return attention_picture.strips(replace(TOKEN, **changes), _=_)


def lines(_: Any = same, follows_key: bool = False) -> Any:
    facts = replace(HEAD, weights=MASKED)
    return attention_picture.lines(Lines(facts, 2, follows_key), _=_)


def tiles(_: Any = same) -> Any:
    codes = np.zeros((10, 17), dtype=np.uint8)
    facts = KindFacts(AttentionKind.CROSS, TABLE, codes, 2, 0.5, 0.25, selected=1)
    return attention_picture.tiles(facts, _=_)


def alike(_: Any = same) -> Any:
    return memory_picture.before(ENCODED, _=_)


def changed(_: Any = same, **changes: Any) -> Any:
    return memory_picture.changes(replace(ENCODED, **changes), _=_)


PICTURES = (attention, aligned, followed, lines, tiles, alike, changed)


@pytest.mark.parametrize("draw", PICTURES)
def test_every_word_is_translated_and_every_property_is_plotlys(draw: Any):
    assert words_that_slipped_by(draw(marked)) == set()
    checked(draw())


def cells(picture: Any, said: str) -> dict[str, Any]:
    return next(t for t in raw(picture)["data"] if said in str(t.get("hovertemplate", "")))


def test_a_cell_returns_its_query_and_its_key_counted_in_the_texts():
    found = cells(attention(), "weight")["customdata"]
    assert found.shape == (15, 3)
    for query, key, weight in found:
        assert weight == pytest.approx(WEIGHTS[int(query), int(key)])


def test_a_long_text_is_cut_around_its_pinned_token_and_still_counts_from_its_start():
    weights = np.full((200, 200), 1 / 200, dtype=np.float32)
    names = tuple(f"t{i}" for i in range(200))
    pinned = Pins(source=120, target=50)
    picture = attention(queries=names, keys=names, weights=weights, pins=pinned)
    found = cells(picture, "weight")["customdata"]
    assert (found[:, 0].min(), found[:, 0].max()) == (18, 81)
    assert (found[:, 1].min(), found[:, 1].max()) == (88, 151)
    assert bytes_sent(picture) < 500_000


def test_the_row_of_the_query_and_the_column_of_the_key_are_outlined():
    shapes = [
        s for s in raw(attention())["layout"]["shapes"] if s["line"]["color"] == palette.PINNED
    ]
    places = {(s["x0"], s["x1"], s["y0"], s["y1"]) for s in shapes}
    assert places == {(-0.5, 2.5, 2.5, 3.5), (0.5, 1.5, -0.5, 4.5)}


def test_masked_cells_are_hatched_and_named_and_rows_show_their_sums():
    picture = attention(weights=MASKED)
    assert len(cells(picture, "masked")["x"]) == 5
    assert cells(picture, "masked")["marker"]["symbol"] == "line-ne"
    axis, bar = raw(picture)["layout"]["yaxis3"], raw(picture)["data"][0]["colorbar"]
    assert (axis["side"], axis["automargin"], bar["yref"]) == ("right", True, "container")
    sums = [text for text in visible(picture) if text.startswith("Σ")]
    assert sums == [f"Σ {total:.3f}" for total in np.nansum(MASKED, axis=1)]


def test_the_map_says_what_it_shows_to_those_who_cannot_see_it():
    said = described(attention(), _=same)
    assert said.startswith("Target to source · layer 1, head 2.")
    assert said.endswith(f"weight: 0 to {WEIGHTS.max():.2g}.")


def test_a_frame_is_a_true_link_and_a_dot_one_that_was_found():
    picture = raw(aligned())
    frames = [
        s for s in picture["layout"]["shapes"] if s["line"]["color"] == alignment_picture.TRUE
    ]
    assert {(round(s["y0"] + 0.44), round(s["x0"] + 0.44)) for s in frames} == {(0, 0), (2, 1)}
    dots = next(t for t in picture["data"] if t.get("marker", {}).get("symbol") == "circle")
    assert set(zip(dots["y"].tolist(), dots["x"].tolist(), strict=True)) == {(0, 0), (1, 2)}
    assert picture["layout"]["yaxis"]["ticktext"][0] == "&lt;b&gt;球&lt;/b&gt;"


def test_where_the_truth_is_not_known_nothing_is_called_true():
    picture = aligned(true=None)
    colors = [shape["line"]["color"] for shape in raw(picture)["layout"]["shapes"]]
    assert alignment_picture.TRUE not in colors
    assert "true" not in raw(picture)["layout"]["title"]["text"]


def test_a_token_of_a_strip_returns_its_number_and_its_text():
    data = raw(followed())["data"]
    assert [row for row in data[1]["customdata"]] == [[0, 0], [1, 0], [2, 0]]
    assert [row for row in data[3]["customdata"]] == [[i, 1] for i in range(5)]
    assert "masked" in data[1]["hovertext"][2]
    assert raw(followed(target=("<b>",) * 5))["layout"]["title"]["text"].startswith("&lt;b&gt;")


@pytest.mark.parametrize("n", [1, 60])
def test_any_number_of_tokens_makes_a_strip(n: int):
    long = {"target": ("given",) * n, "in_target": np.full(n, 1 / n), "pins": Pins(0, n - 1)}
    picture = checked(followed(**long))
    assert raw(picture)["data"][3]["customdata"][-1] == [n - 1, 1]


def test_lines_between_two_texts_return_the_number_and_the_side():
    left, right = raw(lines())["data"]
    assert left["customdata"] == [[i, 0] for i in range(5)]
    assert right["customdata"] == [[i, 1] for i in range(3)]


def test_all_readers_of_a_pinned_key_are_drawn_in_its_colour():
    found = bipartite.edges(MASKED, 1, None, 1)
    readers = np.flatnonzero(np.nan_to_num(MASKED)[:, 1] >= bipartite.LEAST)
    assert found[found[:, 1] == 1, 0].tolist() == readers.tolist()
    colors = [s["line"]["color"] for s in raw(lines(follows_key=True))["layout"]["shapes"]]
    assert any("213, 94, 0" in color for color in colors)


def test_a_shorter_text_stands_in_the_middle_of_the_other():
    layout = raw(lines())["layout"]
    assert layout["yaxis"]["range"] == [4.5, -0.5]
    assert layout["yaxis2"]["range"] == [3.5, -1.5]
    ends = [path["path"].split()[-1] for path in layout["shapes"]]
    assert {float(end.split(",")[1]) for end in ends} <= {1.0, 2.0, 3.0}


def test_tiles_of_two_texts_mark_query_and_key():
    (marks,) = [s for s in raw(tiles())["layout"]["shapes"] if s["type"] == "path"]
    assert marks["path"].count("H") == marks["path"].count("V") == 2


def test_no_change_at_all_is_drawn():
    checked(changed(changes=np.zeros((2, 2), dtype=np.float32)))

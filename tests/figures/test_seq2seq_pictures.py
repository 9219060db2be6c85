"""Pictures of a search, of a missing source and of three architectures: data, not pixels."""

from collections.abc import Iterator
from dataclasses import replace

import drawn
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from blocks.inspection.architectures import KINDS, ArchitectureFacts, TaskFacts, who_sees_whom
from blocks.inspection.missing_source import HiddenFacts, Missing, WaysFacts
from blocks.inspection.search import CandidateFacts, SearchFacts
from blocks.model.kinds import Architecture
from blocks.text.beam import BeamConfig
from pages.panels.seq2seq import architectures_picture, decoding_picture, missing_picture

COLUMNS = ["parent", "step", "step_rank", "token_id", "label", "token_log_prob", "log_prob"]
COLUMNS += ["score", "rank", "fate"]
NODES = pd.DataFrame(
    [
        (None, 1, 1, 7, "given <b>", -0.1, -0.1, -0.1, None, "kept"),
        (None, 1, 2, 3, "球", -2.0, -2.0, -2.0, None, "kept"),
        (None, 1, 3, 4, "given", -3.0, -3.0, -3.0, None, "dropped"),
        (1, 2, 2, 0, "given", -0.2, -2.2, -2.2, 2, "finished"),
        (0, 2, 1, 0, "given", -0.5, -0.6, -0.6, 1, "kept"),
    ],
    columns=COLUMNS,
).astype({"parent": "Int64", "rank": "Int64"})
SEARCH = SearchFacts(
    how=BeamConfig(start_id=1, stop_id=0, beam_width=2),
    nodes=NODES,
    n=2,
    step=2,
    place=3,
    n_steps=9,
    n_forced=0,
    start="given",
    text="given",
    results=(),
)
CANDIDATES = CandidateFacts(
    pd.DataFrame({"token_id": [7, 3], "label": ["given", "<s>"], "probability": [0.9, 1e-9]}),
    after="given <i>",
    taken=7,
    smoothing=0.0,
)
BITS = np.array([[0.0, 3.0, 0.1], [1.0, 2.0, 0.5]], dtype=np.float32)
HIDDEN = HiddenFacts(("given", "球", "given"), BITS, drawn.TOKENS[:3], 1, 1)
COSTS = TaskFacts(pd.DataFrame({"reading": [3, 3, 2], "writing": [1, 2, 3]}), 2, 3, 8)


def architecture(kind: Architecture) -> ArchitectureFacts:
    codes = who_sees_whom(kind, 3, 2)
    labels = drawn.TOKENS[: len(codes)]
    return ArchitectureFacts(kind, 6, 3, False, codes, labels, 3, 1000, 2e9)


def pictures(_) -> Iterator[go.Figure]:
    yield decoding_picture.tree(SEARCH, _=_)
    yield decoding_picture.tree(replace(SEARCH, place=None), _=_)
    yield decoding_picture.choices(CANDIDATES, _=_)
    yield missing_picture.ways(WaysFacts((1,), np.ones((1, 3)), drawn.TOKENS[:3], 1, None), _=_)
    yield missing_picture.hidden(HIDDEN, _=_)
    for kind in KINDS:
        yield architectures_picture.drawing(architecture(kind), _=_)
        yield architectures_picture.sees(architecture(kind), _=_)


def test_every_picture_is_whole_and_translated():
    for plain, translated in zip(pictures(drawn.same), pictures(drawn.marked), strict=True):
        drawn.checked(plain)
        assert drawn.words_that_slipped_by(translated) == set()


def test_the_tree_has_a_mark_for_each_hypothesis_and_a_line_to_its_parent():
    picture = decoding_picture.tree(SEARCH, _=drawn.same)
    marks = picture.data[-1]
    assert sorted(place for (place,) in marks["customdata"]) == [0, 1, 2, 3, 4]
    where = dict(
        zip(
            (p for (p,) in marks["customdata"]),
            zip(marks["x"], marks["y"], strict=True),
            strict=True,
        )
    )
    assert where == {0: (0, 1), 1: (1, 1), 2: (2, 1), 4: (0, 2), 3: (1, 2)}
    edges = picture.data[1]  # the path to the result
    assert list(edges["x"]) == [0, 0, 0, 0, None, 0, 0, 0, 0, None]
    shape = picture.layout["shapes"][0]
    assert (shape["xanchor"], shape["yanchor"]) == (1, 2)


def test_what_was_put_there_has_its_own_rank():
    put = NODES.assign(step_rank=[1, 2, 9, 2, 1])
    picture = decoding_picture.tree(replace(SEARCH, nodes=put), _=drawn.same)
    assert list(picture.layout["xaxis"]["ticktext"]) == ["1", "2", "> 2"]
    dropped = next(trace for trace in picture.data if trace["name"] == "pruned")
    assert dropped["text"] == ("\u2002given #9 −3.00",)
    said = picture.data[-1]["hovertext"]
    assert "rank 9 at its step; your choice" in said[2]
    assert "rank 2 at its step; kept" in said[1]


def test_a_click_on_a_choice_gives_its_token():
    picture = decoding_picture.choices(CANDIDATES, _=drawn.same)
    assert [list(each) for each in picture.data[1]["customdata"]] == [[7], [3]]
    assert picture.data[0]["text"][1].startswith("< 0.1%")


def test_cells_say_their_bits():
    picture = missing_picture.hidden(HIDDEN, _=drawn.same)
    cells = {(int(r), int(c)): float(v) for r, c, v in picture.data[1]["customdata"]}
    assert cells == pytest.approx({(r, c): BITS[r, c] for r in range(2) for c in range(3)})


def test_cross_attention_joins_the_stacks():
    picture = architectures_picture.drawing(
        architecture(Architecture.ENCODER_DECODER), _=drawn.same
    )
    assert sum(shape["type"] == "path" for shape in picture.layout["shapes"]) == 1


def test_a_way_to_lose_the_source_has_its_whole_name():
    facts = WaysFacts((Missing.CROSS_OFF,), np.ones((1, 3)), drawn.TOKENS[:3], 1, None)
    rows = missing_picture.ways(facts, _=drawn.same).layout.yaxis.ticktext
    assert " ".join(rows[0].split("<br>")).replace("- ", "-") == "all cross-attention off"

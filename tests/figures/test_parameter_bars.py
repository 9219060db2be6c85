"""Where the parameters are."""

import plotly.graph_objects as go
import pytest
from drawn import checked, marked, same, words_that_slipped_by

from blocks import PRESETS, count_parameters
from blocks.cost.breakdown import count_facts
from pages.figures import palette
from pages.figures.described import described
from pages.panels.parameter_table_picture import part_bars


def bars(preset: str = "course", _=same) -> go.Figure:
    facts = count_facts(PRESETS[preset])
    return checked(part_bars(facts, [f"given <{part.name}" for part in facts.parts], _=_))


@pytest.mark.parametrize("preset", PRESETS)
def test_every_part_has_its_bar_count_and_share(preset: str):
    table = count_parameters(PRESETS[preset])
    (trace,) = bars(preset).data
    assert list(trace.x) == list(table["count"])
    assert [text.split(" ")[0] for text in trace.text] == [f"{count:,}" for count in table["count"]]
    shares = [float(text.split("· ")[1].rstrip("%")) for text in trace.text]
    assert sum(shares) == pytest.approx(100, abs=0.06 * len(shares))
    kinds = [part.kind for part in count_facts(PRESETS[preset]).parts]
    assert list(trace.marker.color) == [palette.KIND_COLORS[kind] for kind in kinds]


def test_every_count_is_said():
    first = count_facts(PRESETS["course"]).parts[0]
    assert f"given <{first.name} {first.count:,} · " in described(bars(), _=same)


def test_the_formula_stands_under_the_cursor():
    (trace,) = bars().data
    assert [row[0] for row in trace.customdata] == list(
        count_parameters(PRESETS["course"])["formula"]
    )


def test_the_longest_bar_leaves_room_for_its_number():
    picture = bars()
    assert picture.layout.xaxis.range[1] > 1.2 * max(picture.data[0].x)
    assert picture.layout.xaxis.range[0] == 0


def test_every_word_is_translated():
    letters = {"d_model", "n_heads", "d_head", "d_ff", "n_kv_heads"}
    picture = bars(_=marked).update_traces(customdata=None, y=["given"] * 9)
    assert words_that_slipped_by(picture) <= letters
    assert picture.layout.xaxis.title.text == "⟦parameters⟧"

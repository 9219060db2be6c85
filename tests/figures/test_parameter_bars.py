"""Where the parameters are."""

import pytest
from drawn import checked

from blocks import PRESETS, count_parameters
from blocks.cost.breakdown import count_facts
from pages.figures import palette
from pages.figures.drawn_chart import drawn
from pages.panels.parameter_table import part_bars


@pytest.mark.parametrize("preset", ["course", "bert-base"])
def test_every_part_has_its_bar_count_share_and_formula(preset: str):
    facts, table = count_facts(PRESETS[preset]), count_parameters(PRESETS[preset])
    picture = checked(drawn(part_bars(facts)))
    (trace,) = picture.data
    assert list(trace.x) == list(table["count"])
    assert [text.split(" ")[0] for text in trace.text] == [f"{count:,}" for count in table["count"]]
    shares = [float(text.split("· ")[1].rstrip("%")) for text in trace.text]
    assert sum(shares) == pytest.approx(100, abs=0.06 * len(shares))
    assert list(trace.marker.color) == [palette.KIND_COLORS[part.kind] for part in facts.parts]
    assert [row[0] for row in trace.customdata] == list(table["formula"])
    assert picture.layout.xaxis.range[1] > 1.2 * max(trace.x) and picture.layout.xaxis.range[0] == 0

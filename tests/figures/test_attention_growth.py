"""How ways to attend grow."""

import pytest
from drawn import checked, marked, raw, same, words_that_slipped_by

from blocks.cost.attention_time import GrowthFacts, Measured
from blocks.model.attention_kinds import AttentionKind
from pages.panels.attention.kinds_picture import growth

FOUND = [
    Measured(kind, n, milliseconds=n * (i + 1), peak_bytes=n**2)
    for i, kind in enumerate(AttentionKind)
    for n in (128, 256)
]


def picture(_, *found: Measured, of: str = "milliseconds"):
    return growth(GrowthFacts(found or tuple(FOUND), of), _=_)


@pytest.mark.parametrize("of", ["milliseconds", "peak_bytes"])
def test_every_word_is_translated(of: str):
    slipped = words_that_slipped_by(picture(marked, of=of))
    assert slipped - {"sup", "log", "ms", "MB"} == set()
    checked(picture(same, of=of))


def test_each_way_has_its_line_and_its_exponent():
    traces = raw(picture(same))["data"]
    assert [trace["y"] for trace in traces[:2]] == [[128, 256], [256, 512]]
    assert "<sup>1.00</sup>" in traces[0]["name"]
    assert raw(picture(same, of="peak_bytes"))["data"][0]["y"] == [2**14 / 1e6, 2**16 / 1e6]


def test_one_length_has_no_exponent():
    assert "sup" not in raw(picture(same, *FOUND[::2]))["data"][0]["name"]

"""How ways to attend grow."""

import pandas as pd
from drawn import checked, marked, raw, same, words_that_slipped_by

from pages.panels.attention.kinds_picture import LOOKS, growth

NAMES = {kind: f"given {kind[:0]}" for kind in LOOKS}
TABLE = pd.DataFrame(
    {"kind": kind, "seq_len": n, "value": n * (i + 1)}
    for i, kind in enumerate(LOOKS)
    for n in (128, 256)
)


def picture(_):
    exponents = {"full": 2.0}
    return growth(TABLE, NAMES, exponents, title="given", unit="given", _=_)


def test_every_word_is_translated():
    assert words_that_slipped_by(picture(marked)) - {"sup", "log"} == set()
    checked(picture(same))


def test_each_way_has_its_line_and_its_exponent():
    traces = raw(picture(same))["data"]
    assert [trace["y"] for trace in traces[:2]] == [[128, 256], [256, 512]]
    assert "<sup>2.00</sup>" in traces[0]["name"] and "sup" not in traces[1]["name"]

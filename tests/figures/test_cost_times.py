"""Pictures of what was measured on the page of costs."""

import numpy as np
import pandas as pd
from drawn import checked, marked, raw, same, words_that_slipped_by

from blocks import ModelConfig
from blocks.cost.operations import Phase, Tokens
from blocks.cost.sweep import Sweep, Swept
from blocks.cost.sweep_facts import SweepFacts
from blocks.cost.timing import Place
from pages.panels.cost.roofline_picture import Roof, durations, rates, roofline, sums
from pages.panels.cost.sweeps_picture import time

UNITS = {"FLOP", "GFLOP", "GB", "ms", "log", "logarithmic"}
ROOF = Roof(flops_per_s=1e12, bytes_per_s=1e11)
GROUPS = {"norm": "given", "attention": "given"}
TABLE = pd.DataFrame(
    {
        "label": ["given 1", "given 2", "given 3"],
        "group": ["norm", "attention", "attention"],
        "intensity": [1.0, 20.0, 21.0],
        "roof_flops_per_s": [1e11, 1e12, 1e12],
        "measured_flops_per_s": [5e10, 2e11, np.nan],
        "hover": "given <b>",
        "estimated_ms": [1.0, 2.0, 3.0],
        "measured_ms": [2.0, 4.0, np.nan],
        "low_ms": [1.5, 3.0, np.nan],
        "high_ms": [3.0, 5.0, np.nan],
    }
)


def roof(_):
    return roofline(TABLE, ROOF, GROUPS, title="given", _=_)


def times(_):
    return durations(TABLE, GROUPS, title="given", _=_)


def device(_):
    products = pd.DataFrame({"size": [128, 256], "gflops": [10.0, 20.0]})
    moved = pd.DataFrame({"traffic": ["triad", "read"], "mib": [1.0, 64.0], "gigabytes": [5, 4]})
    names = {"triad": "given", "copy": "given", "read": "given"}
    return rates(products, moved, names, (20.0, 4.0), title="given", _=_)


def bars(_):
    rows = ("given a", "given b", "given c")
    parts = pd.DataFrame(
        {
            "row": [rows[0], rows[0], rows[1]],
            "group": ["norm", "attention", "norm"],
            "ms": [1, 2, 4],
        }
    )
    return sums(parts, GROUPS, rows, 5.0, title="given", _=_)


def lines(_):
    rows = pd.DataFrame(
        {
            "series": "float32",
            "size": [16, 32],
            "flops": [2e9, 4e9],
            "milliseconds": [1.0, 3.0],
            "low": [0.5, 2.0],
            "high": [2.0, 4.0],
            "megabytes": [1.0, 2.0],
        }
    )
    place = Place("cpu", "float32")
    line = Sweep(ModelConfig(), Tokens(Phase.PREFILL, 16), Swept.BATCH, False, place, 0)
    exponents = {of: {"float32": 1.5} for of in ("milliseconds", "megabytes")}
    return time(SweepFacts((line,), rows, exponents, (), 0.0), _=_)


def test_every_word_is_translated():
    for picture in (roof, times, device, bars, lines):
        assert words_that_slipped_by(picture(marked)) <= UNITS, picture
        checked(picture(same))


def test_a_hollow_dot_is_the_estimate_and_a_filled_one_the_measurement():
    traces = [t for t in raw(roof(same))["data"] if t.get("customdata") is not None]
    hollow = [t for t in traces if t["marker"]["symbol"] == "circle-open"]
    filled = [t for t in traces if t["marker"]["symbol"] == "circle"]
    assert [t["y"] for t in hollow] == [[1e11], [1e12, 1e12]]
    assert [t["y"] for t in filled] == [[5e10], [2e11]]  # what is not measured has none
    join = raw(roof(same))["data"][1]
    assert join["x"] == [1.0, 1.0, None, 20.0, 20.0, None]
    assert join["y"] == [1e11, 5e10, None, 1e12, 2e11, None]


def test_the_roof_bends_at_its_ridge():
    line = raw(roof(same))["data"][0]
    assert line["x"][1] == ROOF.ridge == 10
    assert line["y"][1] == line["y"][2] == 1e12
    assert line["y"][0] == line["x"][0] * 1e11


def test_operations_that_stand_together_share_a_label():
    texts = [each["text"] for each in raw(roof(same))["layout"]["annotations"]]
    assert texts[:2] == ["given 1", "given 2, given 3"]


def test_the_first_operation_stands_at_the_top():
    layout = raw(times(same))["layout"]
    assert layout["yaxis"]["categoryarray"] == ["given 3", "given 2", "given 1"]
    spread = raw(times(same))["data"][1]
    assert spread["x"] == [1.5, 3.0, None, 3.0, 5.0, None]


def test_the_bars_end_with_their_sums():
    ends = raw(bars(same))["data"][-1]
    assert ends["x"] == [3, 4, 5.0]
    assert [text.strip() for text in ends["text"]] == ["3 ms", "4 ms", "5 ms"]


def test_a_line_has_its_spread_and_its_theory():
    theory, line = raw(lines(same))["data"][:2]
    assert line["error_y"]["array"] == [1.0, 1.0]
    assert line["error_y"]["arrayminus"] == [0.5, 1.0]
    assert theory["y"] == [1.5, 3.0]

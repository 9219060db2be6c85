"""Pictures of what was measured on the page of costs."""

import numpy as np
import pandas as pd
from drawn import checked, marked, raw, same, words_that_slipped_by

from blocks import ModelConfig
from blocks.cost.device_peak import Bandwidth, DevicePeak, MatmulRate, Traffic
from blocks.cost.device_speed import DeviceSpeed
from blocks.cost.operations import Phase, Tokens
from blocks.cost.pass_time import PassTime
from blocks.cost.roofline_facts import Case, LayerFacts, RooflineFacts
from blocks.cost.sweep import Sweep, Swept
from blocks.cost.sweep_facts import SweepFacts
from blocks.cost.timing import Place, Times
from pages.panels.cost.device_picture import rates
from pages.panels.cost.roofline_picture import durations, roofline, sums
from pages.panels.cost.sweeps_picture import time

UNITS = {"FLOP", "GFLOP", "MB", "logarithmic"}
PEAK = DevicePeak(flops_per_s=1e12, bytes_per_s=1e11, start_seconds=1e-6)
PLACE = Place("cpu", "float32")
CASE = Case(ModelConfig(), Tokens(Phase.PREFILL, 16), PLACE, seed=0)
NAMES = {"norm": "given 1", "scores": "given 2 <b>", "values": "given 3"}
ROWS = pd.DataFrame(
    {
        "operation": [*NAMES],
        "group": ["norm", "attention", "attention"],
        "flops": [1, 2, 3],
        "bytes": [1, 2, 3],
        "flops_formula": "given",
        "bytes_formula": "given",
        "intensity": [1.0, 20.0, 21.0],
        "roof_flops_per_s": [1e11, 1e12, 1e12],
        "measured_flops_per_s": [5e10, 2e11, np.nan],
        "share": [0.5, 0.2, np.nan],
        "estimated_s": [1.0, 2.0, 3.0],
        "measured_s": [2.0, 4.0, np.nan],
        "low_s": [1.5, 3.0, np.nan],
        "high_s": [3.0, 5.0, np.nan],
    }
)
FACTS = RooflineFacts(CASE, PEAK, 2**30, ROWS, left_out=(), weight_read=None)


def roof(_):
    return roofline(FACTS, NAMES, _=_)


def times(_):
    return durations(FACTS, NAMES, _=_)


def device(_):
    products = tuple(MatmulRate(size, Times((0.5,))) for size in (128, 256))
    ways = ((Traffic.TRIAD, 10**6), (Traffic.READ, 64 * 10**6))
    moved = tuple(Bandwidth(way, size, Times((0.5,))) for way, size in ways)
    return rates(DeviceSpeed(PLACE, products, moved, Times((1e-6,)), load=0.0), _=_)


def bars(_):
    parts = pd.DataFrame(
        {"estimated_s": [1.0, 2.0], "measured_s": [4.0, np.nan]}, index=["norm", "attention"]
    )
    whole = PassTime(Times((5.0,)), 10**6)
    return sums(LayerFacts(3.0, 4.0, whole, parts), _=_)


def lines(_):
    rows = pd.DataFrame(
        {
            "series": "float32",
            "size": [16, 32],
            "flops": [2e9, 4e9],
            "seconds": [1.0, 3.0],
            "low": [0.5, 2.0],
            "high": [2.0, 4.0],
            "bytes": [1.0, 2.0],
        }
    )
    line = Sweep(ModelConfig(), Tokens(Phase.PREFILL, 16), Swept.BATCH, False, PLACE, 0)
    exponents = {of: {"float32": 1.5} for of in ("seconds", "bytes")}
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
    assert line["x"][1] == PEAK.ridge == 10
    assert line["y"][1] == line["y"][2] == 1e12
    assert line["y"][0] == line["x"][0] * 1e11


def test_operations_that_stand_together_share_a_label():
    texts = [each["text"] for each in raw(roof(same))["layout"]["annotations"]]
    assert texts[:2] == ["given 1", "given 2 &lt;b&gt;, given 3"]


def test_the_first_operation_stands_at_the_top():
    layout = raw(times(same))["layout"]
    assert layout["yaxis"]["categoryarray"] == ["given 3", "given 2 &lt;b&gt;", "given 1"]
    spread = raw(times(same))["data"][1]
    assert spread["x"] == [1.5, 3.0, None, 3.0, 5.0, None]


def test_the_bars_end_with_their_sums():
    ends = raw(bars(same))["data"][-1]
    assert ends["x"] == [3, 4, 5.0]
    assert [text.strip() for text in ends["text"]] == ["3 s", "4 s", "5 s"]


def test_a_line_has_its_spread_and_its_theory():
    theory, line = raw(lines(same))["data"][:2]
    assert line["error_y"]["array"] == [1.0, 1.0]
    assert line["error_y"]["arrayminus"] == [0.5, 1.0]
    assert theory["y"] == [1.5, 3.0]

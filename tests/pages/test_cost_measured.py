"""What is measured on the page of costs: started by a button, in steps, kept, refused."""

import math
from urllib.parse import parse_qs

import pytest
from opened import assert_works, control, figure, move, opened, press, said, settings, visit

from blocks.cost import attention_time, device_peak, device_speed, operands, operation_time, timing
from blocks.cost.timing import Place
from blocks.model.devices import available_devices
from pages.panels.cost import device, roofline, sweeps
from pages.show import steps
from pages.show.steps import works

COST = "pages/cost.py"

SMALL = {"d_model": 32, "n_heads": 4, "d_ff": 64, "context_len": 16}

MEASURED = {**SMALL, "measure_device": 1}


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Tiny squares, short arrays, few repeats: what is tested is the way, not the speed."""
    patch = pytest.MonkeyPatch()
    patch.setattr(device_peak, "MATRIX_SIZES", {"cpu": (8, 16), "accelerator": (8, 16)})
    patch.setattr(device_peak, "ARRAY_MB", (0.01, 0.1))
    for module in (operands, operation_time):
        patch.setattr(module, "BEYOND_CACHES", 2**20)
    patch.setattr(timing, "LEAST_SECONDS", 1e-9)
    patch.setattr(attention_time, "REPEATS", 1)
    patch.setattr(steps, "A_WHILE", math.inf)  # nothing pauses, however busy the machine is
    yield
    patch.undo()
    device.device_speed.cache_clear()
    works.clear()


@pytest.fixture(scope="module")
def at():
    """One reader, who has pressed both buttons once, and opens link after link."""
    return opened(COST, pressed=("measure_device", "measure_sweep"), **SMALL)


def column(at, name: str) -> list[str]:
    """A column of the table of operations."""
    table = next(each.value for each in at.dataframe if "FLOPs per byte" in each.value)
    return table[name].tolist()


def dots(at) -> tuple[int, int]:
    """How many hollow and how many filled dots stand below the roof."""
    traces = [t for t in figure(at, "roofline_dots")["data"] if t.get("customdata")]
    counts = {"circle-open": 0, "circle": 0}
    for trace in traces:
        counts[trace["marker"]["symbol"]] += len(trace["x"])
    return counts["circle-open"], counts["circle"]


def test_nothing_is_measured_unasked_but_counted():
    at = opened(COST, **SMALL)
    assert_works(at)
    text = said(at)
    assert "According to the formulas, " in text and "must be measured on this device" in text
    assert "measured" not in next(t.value for t in at.dataframe if "FLOPs per byte" in t.value)
    assert "q_proj" in column(at, "operation")


def test_a_press_measures_the_device_and_every_operation(at):
    visit(at, **SMALL)
    press(at, "measure_device_button")
    assert_works(at)
    assert settings(at)["measure_device"] == "1"
    assert "matrix products reach" in said(at)
    assert dots(at) == (14 - 1, 14 - 1)  # a block has no logits
    assert "–" not in column(at, "measured")
    assert "Measured as a whole" in said(at)
    press(at, "measure_device_button")
    assert settings(at)["measure_device"] == "2"


def test_what_was_measured_is_in_the_link_of_its_own_page_alone(at):
    visit(at, **MEASURED)
    press(at, "measure_device_button")
    menu = {way.proto.page: parse_qs(way.proto.query_string) for way in at.page_link}
    assert [page for page in menu if "measure_device" in menu[page]] == ["cost"]
    assert menu["cost"]["measure_device"] == ["2"]


def test_a_busy_machine_is_said_beside_what_was_measured(at, monkeypatch):
    device.device_speed.cache_clear()
    monkeypatch.setattr(device_speed, "load", lambda: 3.0)
    visit(at, **MEASURED)
    sentence = next(each.value for each in at.info if "matrix products" in each.value)
    assert sentence.startswith("The machine was busy: 3.0 runnable processes per CPU")
    assert "may be too low" in sentence


def test_prefill_and_decode_are_apart(at):
    visit(at, **MEASURED)
    before = column(at, "FLOPs")
    move(at, "phase", "decode")
    assert settings(at)["phase"] == "decode"
    assert "Decoding one token with 16 already in the cache" in said(at)
    assert "Why: out_proj reads" in said(at)
    assert column(at, "FLOPs") != before


@pytest.mark.parametrize(
    "changes",
    [
        {"preset": "gpt2-small", "n_layers": 2, "phase": "decode", "n_texts": 2},
        {"preset": "bert-base", "n_layers": 1, "phase": "decode"},
        {"preset": "t5-small", "n_layers": 1, "n_decoder_layers": 1},
        {"preset": "t5-small", "n_layers": 1, "n_decoder_layers": 1, "phase": "decode"},
        {"n_experts": 4, "activation": "swiglu", "n_kv_heads": 1, "position_kind": "rope"},
        {"norm_kind": "batchnorm", "residual": False, "attention_only": True, "context_len": 1},
        {"dtype": "bfloat16", "norm_kind": "none", "norm_placement": "parallel"},
        {"position_kind": "learned", "max_seq_len": 8},
    ],
    ids=str,
)
@pytest.mark.thinned
def test_every_kind_of_model_is_measured(at, changes: dict):
    visit(at, **{**MEASURED, **changes})
    assert_works(at, warnings=None)
    hollow, filled = dots(at)
    assert hollow == filled > 5


def test_what_would_take_too_much_is_only_estimated(at, monkeypatch):
    monkeypatch.setattr(roofline, "memory_budget", lambda _device: 2.3 * 2**20)
    visit(at, **{**MEASURED, "context_len": 64})
    assert_works(at, warnings=1)
    assert "only estimated: " in at.warning[0].value
    hollow, filled = dots(at)
    assert 0 < filled < hollow
    refused = [
        name
        for name, time in zip(column(at, "operation"), column(at, "measured"), strict=True)
        if time == "–"
    ]
    assert refused == ["softmax"]


def test_a_model_of_any_size_is_counted(at):
    visit(at, **{**SMALL, "d_model": 16384, "n_heads": 128, "d_ff": 65536, "n_layers": 126})
    assert_works(at)
    assert "q_proj" in column(at, "operation")


@pytest.mark.parametrize(
    "changes",
    [
        {"swept": "tokens"},
        {"swept": "d_model", "sweep_direction": "forward_backward"},
        {"swept": "n_heads", "sweep_len": 16},
        {"swept": "batch", "preset": "t5-small", "n_decoder_layers": 1},
    ],
    ids=str,
)
@pytest.mark.thinned
def test_a_size_doubles(at, monkeypatch, changes: dict):
    monkeypatch.setattr(sweeps.sweep, "LONGEST_PASS", 2e-3)
    visit(at, **SMALL | changes)
    assert_works(at)
    assert "By formula, the FLOPs" in said(at) and figure(at, "sweep_flops")["data"]
    visit(at, **{**SMALL, "measure_sweep": 1, **changes})
    assert_works(at)
    lines = figure(at, "sweep_time")["data"]
    assert len(lines[1]["x"]) == len(lines[0]["x"]) >= 1
    assert figure(at, "sweep_memory")["data"]


def test_a_sweep_refuses_what_does_not_fit(at, monkeypatch):
    monkeypatch.setattr(sweeps, "memory_budget", lambda _device: 2**20)
    visit(at, **{**SMALL, "measure_sweep": 3})
    assert_works(at)
    assert "more than a single run may use" in said(at)


def test_number_formats_are_compared(at, monkeypatch):
    monkeypatch.setattr(sweeps.sweep, "LONGEST_PASS", 1e-3)
    visit(at, **SMALL)
    press(at, "measure_dtypes_button")
    assert_works(at)
    names = [line["name"] for line in figure(at, "formats_time")["data"] if "name" in line]
    assert [name.partition(",")[0] for name in names[:3]] == ["float32", "bfloat16", "float16"]
    assert "At n = " in said(at)


def test_stopped_measurements_are_kept_as_far_as_they_are(at):
    visit(at, **{**SMALL, "measure_device": 9})
    series = device_speed.SpeedSeries(Place(available_devices()[0], "float32", 9))
    at.session_state["device_steps_stopped"] = ((series, series.n_steps), 2)
    at.run()
    assert_works(at)
    assert "Stopped after 2 of" in said(at)
    assert "No roofline yet" in said(at)
    assert [len(line["x"]) for line in figure(at, "device_rates")["data"]] == [2]
    assert "q_proj" in column(at, "operation")
    press(at, "device_steps_go_on")
    assert_works(at)
    assert "matrix products reach" in said(at)


def test_controls_go_to_both_ends(at):
    visit(at, **SMALL)
    for value in ("d_model", "n_heads", "batch", "tokens"):
        move(at, "swept", value)
    assert control(at, "sweep_direction").value == "forward"
    move(at, "sweep_direction", "forward_backward")
    assert settings(at)["sweep_direction"] == "forward_backward"

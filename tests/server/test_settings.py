"""Settings of the server where nothing is said: they come from the devices."""

import pytest

from blocks import PRESETS, ConfigError
from blocks.cost.hardware import HARDWARE
from blocks.cost.parameters import total_parameters
from blocks.model import devices
from blocks.model.devices import DeviceMemory
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.server import room, runs, settings
from pages.server.settings import GIB


@pytest.fixture
def h200(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 24 GiB with an H200 of which 120 GiB are free."""
    monkeypatch.delenv("BLOCKSCOPE_MEMORY_GIB")
    memories = {"cpu": DeviceMemory(24 * GIB, 24 * GIB), "cuda": DeviceMemory(120 * GIB, 139 * GIB)}
    monkeypatch.setattr(devices, "available_devices", lambda: ("cuda", "cpu"))
    monkeypatch.setattr(devices, "memory_of", memories.__getitem__)
    monkeypatch.setattr(devices, "device_name", {"cuda": "NVIDIA H200", "cpu": "a CPU"}.__getitem__)


@pytest.fixture(autouse=True)
def forget() -> None:
    settings._left_free.clear()


@pytest.mark.parametrize(("machine", "gib"), [(24, 6), (8, 2), (4, 2), (0, 2)])
def test_a_quarter_of_the_machine_is_for_models_and_at_least_two(
    machine: int, gib: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("BLOCKSCOPE_MEMORY_GIB")
    monkeypatch.setattr(devices, "memory_of_machine", lambda: machine * GIB)
    assert settings.memory_budget("cpu") == settings.memory_budget() == gib * GIB


def test_what_is_said_counts_whatever_the_device(h200: None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BLOCKSCOPE_MEMORY_GIB", "0.5")
    assert settings.memory_budget("cpu") == settings.memory_budget("cuda") == GIB // 2


def test_half_of_what_an_accelerator_has_free_is_divided_among_the_processes(
    h200: None, monkeypatch: pytest.MonkeyPatch
):
    assert settings.memory_budget("cuda") == settings.memory_budget() == 60 * GIB
    assert settings.memory_budget("cpu") == 6 * GIB
    monkeypatch.setenv("PROCESSES", "4")
    monkeypatch.setenv("BLOCKSCOPE_CPU_GIB", "2")  # as `make serve` says
    assert settings.memory_budget("cuda") == 15 * GIB
    assert settings.memory_budget("cpu") == 2 * GIB


def test_what_is_free_later_changes_no_budget(h200: None, monkeypatch: pytest.MonkeyPatch):
    before = settings.memory_budget("cuda")
    monkeypatch.setattr(devices, "memory_of", lambda _device: DeviceMemory(GIB, 139 * GIB))
    assert settings.memory_budget("cuda") == before


def test_runs_on_two_devices_share_one_budget(h200: None):
    assert settings.counted(GIB, "cuda") == GIB
    assert settings.counted(GIB, "cpu") == 10 * GIB  # a sixth of what either may have


def test_a_run_is_refused_by_the_memory_of_its_own_device(h200: None):
    text = Input(tokens=("a",) * 512, token_ids=(0,) * 512)
    of_8b = Run(config=PRESETS["llama-3-8b"], input=text, mask=MaskConfig(), dtype="bfloat16")
    with pytest.raises(ConfigError, match=r"more than the 6\.44 GB allowed here"):
        room.take_for(of_8b)
    room.take_for(Run(**{**vars(of_8b), "device": "cuda"}))  # outside of a turn nothing is held


def test_a_long_text_is_longer_on_an_accelerator():
    assert (settings.longest_text("cpu"), settings.longest_text("cuda")) == (4_096, 8_192)


def test_a_training_has_what_its_device_does_in_its_time(
    h200: None, monkeypatch: pytest.MonkeyPatch
):
    on_cpu, on_h200 = runs._limits("cpu"), runs._limits("cuda")
    assert (on_cpu.max_parameters, on_cpu.max_steps, on_cpu.max_bytes) == (5_000_000, 20_000, GIB)
    assert (on_h200.max_steps, on_h200.max_bytes) == (100_000, 30 * GIB)
    n, peak = on_h200.max_parameters, HARDWARE["h200-sxm"].peak["bfloat16"]
    assert 6 * n * n == pytest.approx(900 * peak / 8, rel=1e-6)  # a token a parameter
    assert n > total_parameters(PRESETS["gpt2-small"])
    monkeypatch.setattr(devices, "device_name", lambda _device: "unheard of")
    assert 5_000_000 < runs._limits("cuda").max_parameters < n
    monkeypatch.setenv("BLOCKSCOPE_TRAINING_PARAMETERS", "1000")
    monkeypatch.setenv("BLOCKSCOPE_TRAINING_GIB", "0.5")
    assert runs._limits("cuda").max_parameters == 1000
    assert runs._limits("cuda").max_bytes == runs._limits("cpu").max_bytes == GIB // 2


def test_a_registry_holds_a_run_to_the_limits_of_its_device(
    h200: None, monkeypatch: pytest.MonkeyPatch
):
    runs.runs.clear()
    registry = runs.runs()
    runs.runs.clear()
    assert registry.limits_on("cuda").max_parameters > registry.limits_on("cpu").max_parameters

"""What the machine in front of the reader offers."""

import gc
import os
from pathlib import Path

import pytest
import torch

from blocks.model import devices


def test_the_cpu_is_always_there_and_last():
    assert devices.available_devices()[-1] == "cpu"
    assert devices.device_name("cpu")


def test_every_format_is_offered_but_float64_on_mps():
    assert devices.available_dtypes("cpu") == tuple(devices.DTYPES)
    assert set(devices.DTYPES) - set(devices.available_dtypes("mps")) == {"float64"}


@pytest.mark.parametrize("name", devices.DTYPES)
def test_formats_are_named_as_torch_names_them(name: str):
    assert devices.DTYPES[name] is getattr(torch, name)


def test_cpus_are_those_the_process_may_use():
    assert 1 <= devices.available_cpus() <= os.cpu_count()


def test_waiting_for_the_cpu_is_no_wait():
    devices.synchronize(torch.device("cpu"))


def test_preparing_takes_the_threads_of_a_pass(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = torch.get_num_threads()
    try:
        devices.prepare_process()
        assert torch.get_num_threads() == devices.threads_of_a_pass()
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("n_cpus", "n_threads", "n_passes"), [(1, 1, 1), (2, 1, 2), (8, 4, 2), (64, 4, 16)]
)
def test_passes_share_the_cpus(
    monkeypatch: pytest.MonkeyPatch, n_cpus: int, n_threads: int, n_passes: int
):
    monkeypatch.setattr(devices, "available_cpus", lambda: n_cpus)
    assert (devices.threads_of_a_pass(), devices.passes_at_once("cpu")) == (n_threads, n_passes)


def test_passes_on_an_accelerator_wait_for_each_other():
    assert devices.passes_at_once("cuda") == 1


def test_settling_freezes_what_lives_and_looks_for_garbage_less_often():
    before = gc.get_threshold()
    try:
        for least in (700, 2 * devices.NEW_OBJECTS):
            gc.set_threshold(least)
            devices.settle_process()
            assert gc.get_threshold()[0] == max(least, devices.NEW_OBJECTS)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


@pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="Linux says how much there is")
def test_the_memory_is_what_the_system_says_or_the_limit_of_its_container(monkeypatch):
    line = Path("/proc/meminfo").read_text().splitlines()[0]
    monkeypatch.setattr(devices, "_limit_of_container", lambda: 0)
    assert devices.memory_of_machine() == pytest.approx(1024 * int(line.split()[1]), rel=0.01)
    monkeypatch.setattr(devices, "_limit_of_container", lambda: 2**30)
    assert devices.memory_of_machine() == 2**30

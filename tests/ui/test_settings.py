"""Settings of the server where nothing is said."""

import pytest

from blocks.model import devices
from pages.ui import settings


@pytest.mark.parametrize(("machine", "gib"), [(24, 6), (8, 2), (4, 2), (0, 2)])
def test_a_quarter_of_the_machine_is_for_models_and_at_least_two(
    machine: int, gib: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("BLOCKSCOPE_MEMORY_GIB")
    monkeypatch.setattr(devices, "memory_of_machine", lambda: machine * settings.GIB)
    assert settings.memory_budget() == gib * settings.GIB


def test_what_is_said_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BLOCKSCOPE_MEMORY_GIB", "0.5")
    assert settings.memory_budget() == settings.GIB // 2

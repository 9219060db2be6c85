"""How long a sweep over all parts takes is said before it starts."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from blocks import PRESETS
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from pages.server import cached, passes
from pages.words.numbers import fine_percent, percent

XL = Run(config=PRESETS["gpt2-xl"], input=Input(), mask=MaskConfig())
N_PARTS = 48 * (25 + 2)  # each head, attention and feed-forward of each layer


def recorded_in(milliseconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = SimpleNamespace(milliseconds=milliseconds)
    monkeypatch.setattr(cached, "recording", lambda _run: seen)


def test_layers_before_a_change_are_not_run_again():
    assert passes.passes_of_each_part(XL) == pytest.approx(N_PARTS * (48 + 1) / (2 * 48))
    on_cuda = replace(XL, device="cuda")  # many parts are rows of one replay
    assert passes.passes_of_each_part(on_cuda) < N_PARTS / 20


def test_minutes_are_said_and_a_moment_is_not(monkeypatch: pytest.MonkeyPatch):
    recorded_in(1500, monkeypatch)  # 661.5 passes: 990 s in two digits
    assert "1,296 heads and sub-layers in turn takes about 16 min" in passes.says_each_part(XL)
    recorded_in(6_640, monkeypatch)
    assert "takes about 1.2 hours" in passes.says_each_part(XL)
    recorded_in(10, monkeypatch)
    assert passes.says_each_part(XL) == ""


def test_small_probabilities_keep_their_digits():
    assert [fine_percent(share) for share in (0, 4.5e-4, 0.012, 1)] == [
        *("0.0%", "0.045%", "1.2%", "100.0%")
    ]
    assert [percent(share) for share in (0.12, 0.997, 0.99951, 1)] == [
        *("12%", "99.7%", ">\N{NO-BREAK SPACE}99.9%", "100%")
    ]

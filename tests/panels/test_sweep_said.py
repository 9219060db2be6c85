"""What the sweep's panel says and draws: facts filled in by hand."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from said_in import in_both

from blocks.sweep import LocalEngine
from blocks.sweep.engine import Told
from blocks.sweep.facts import SweepFacts, Tried
from blocks.training.events import Ended, Reason
from pages.panels.training import sweep_said as sweep


def tried(rate: float, layers: int, *losses: float, n_steps: int = 90) -> Tried:
    setting = (("learning_rate", rate), ("n_layers", layers))
    curves = tuple(((0, 3.0), (n_steps, loss)) for loss in losses)
    return Tried(setting, n_steps, losses, curves, 1000, 10**9, 2.0)


FACTS = SweepFacts(
    (tried(0.001, 1, 2.0, 2.2), tried(0.01, 1, 1.0, 1.2), tried(0.1, 1, math.inf, math.inf)),
    ("learning_rate", "n_layers"),
    n_seeds=2,
    n_steps=90,
    n_found=6,
    n_planned=6,
    device_hours=1.0,
)


def test_the_best_is_told_with_what_its_seeds_say(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, sweep.says_best, FACTS)
    assert said["en"] == (
        "Best: **learning_rate 0.01, n_layers 1**, with a held-out loss of 1.100 nats on "
        "average over 2 seeds (1.000 to 1.200). The second best, learning_rate 0.001, n_layers 1, "
        "has 2.100. Every seed of the best setting has a lower loss than every seed of the second "
        "best."
    )
    assert "留出集损失平均为 1.100" in said["zh"]
    close = replace(FACTS, tried=(tried(0.001, 1, 1.1, 1.3), FACTS.tried[1]))
    said = in_both(monkeypatch, sweep.says_best, close)["en"]
    assert "do not tell the two apart" in said and "at the end of the values tried" in said
    assert not replace(FACTS, tried=FACTS.tried[:1]).can_be_ranked


def test_hours_and_money_of_what_is_finished(monkeypatch: pytest.MonkeyPatch):
    facts = replace(FACTS, n_found=4, device_hours=2.0)
    said = in_both(monkeypatch, sweep.says_cost, facts, 3.0)["en"]
    assert "2 device-hours, 0.5 each" in said and "At 3 per device-hour that is 6" in said
    assert "3" not in in_both(monkeypatch, sweep.says_cost, facts, 0.0)["zh"]


def test_the_chart_has_the_values_in_order_and_leaves_out_what_diverged():
    chart = sweep.losses_chart(FACTS, _=str)
    assert [*chart.place.names] == ["0.001", "0.01", "0.1"]
    (band, line, seeds) = chart.series
    assert [*chart.table_of(seeds)["losses"]] == [2.0, 2.2, 1.0, 1.2]
    assert [*chart.table_of(line)["mean"]] == [2.1, 1.1]
    assert [*chart.table_of(band)["least"]] == [2.0, 1.0]
    table = sweep.settings_table(FACTS)
    assert [*table["learning_rate"]] == ["0.01", "0.001", "0.1"]


def test_the_lines_of_python_train_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    lost = Ended(Reason.LOST)
    monkeypatch.setattr(
        LocalEngine, "events", lambda _, points, __: (Told(p, lost) for p in points)
    )
    text = '[base]\ntask = "copy"\nn_steps = 10\n'
    Path("small.toml").write_text(text, "utf-8")
    names: dict[str, Any] = {}
    exec(sweep.in_code("small.toml"), names)
    assert len(names["sweep"].planned()) == 6 and names["base"].recipe.n_steps == 10


def test_of_successive_halving_the_last_rung_is_ranked():
    early = tried(0.001, 1, 0.5, 0.5, n_steps=30)
    assert replace(FACTS, tried=(early, *FACTS.tried)).whole[0] == FACTS.tried[1]

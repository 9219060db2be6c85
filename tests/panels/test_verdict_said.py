"""What a change brings at the same price, in words and in a chart: verdicts filled in by hand."""

import pytest
from said_in import in_both

from blocks.sweep.verdict import Currency, Verdict
from pages.panels.training import verdict

FOUND = (
    Verdict(Currency.TOKENS, (100, 100), (1.0, 1.1, 1.2), (0.8, 0.91, 1.0)),
    Verdict(Currency.SECONDS, (100, 40), (1.0, 1.1, 1.2), (1.3, 1.41, 1.5)),
    Verdict(Currency.FLOPS, (100, 60), (1.0, 1.1, 1.2), (1.0, 1.2, 1.1)),
)


def test_each_currency_has_its_verdict(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, verdict.says_verdicts, FOUND)
    first, second, third = said["en"].split(". ")
    assert first == "With equal tokens, the change is better: -0.197 ± 0.014 nats"
    assert second == "With equal time, the change is worse: +0.303 ± 0.014 nats"
    assert third.startswith("With equal FLOPs, these seeds are inconclusive:")
    assert "计算量相同" in said["zh"]
    one = (Verdict(Currency.TOKENS, (9, 9), (1.0,), (0.5,)),)
    assert "not conclusive" in in_both(monkeypatch, verdict.says_verdicts, one)["en"]


def test_the_chart_has_every_seed_and_the_interval():
    chart = verdict.verdicts_chart(FOUND, _=str)
    seeds, means = chart.series
    assert len(chart.table_of(seeds)) == 9 and len(chart.table_of(means)) == 3
    assert [*chart.place.names] == ["equal tokens", "equal time", "equal FLOPs"]
    assert verdict.verdicts_table(FOUND).shape == (3, 5)

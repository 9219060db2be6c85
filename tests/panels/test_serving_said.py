"""What is said of a model that is served, in both languages, and what its charts mark."""

from dataclasses import replace

import pytest
from said_in import in_both

from blocks.cost.served_facts import Serving, bound_facts, user_facts
from blocks.cost.serving import Bound, Pace
from blocks.cost.setup import Layout, Setup
from blocks.cost.speed import Speculation
from blocks.model.presets import PUBLISHED_TABLE
from pages.panels.cost import bound, one_user

MIXTRAL = PUBLISHED_TABLE["mixtral-8x7b"].config
ASKED = Serving(MIXTRAL, Setup(layout=Layout(tensor=2)), 1024, 4, "h100-sxm", n_output=0)
PACES = {
    Bound.WEIGHTS: Pace(5e-3, 1e-3, 2e-3, 1e-4, 6.1e-3),
    Bound.CACHE: Pace(1e-3, 5e-3, 2e-3, 1e-4, 6.1e-3),
    Bound.ARITHMETIC: Pace(1e-3, 1e-3, 9e-3, 1e-4, 9.1e-3),
    Bound.LINKS: Pace(1e-3, 1e-3, 3e-3, 8e-3, 11e-3),
}
WORDS = {
    Bound.WEIGHTS: "above all by reading the weights",
    Bound.CACHE: "above all by reading the KV cache",
    Bound.ARITHMETIC: "bound by arithmetic, which takes 9 ms",
    Bound.LINKS: "links between the devices, which take 8 ms",
}


def test_the_bound_that_binds_is_said_with_its_numbers(monkeypatch: pytest.MonkeyPatch):
    facts = bound_facts(ASKED)
    for kind, pace in PACES.items():
        shown = replace(facts, step=facts.step._replace(pace=pace), prompt=pace)
        said = in_both(monkeypatch, bound.says_bound, shown)
        assert said["en"].startswith(
            "On 2 × NVIDIA H100 SXM at batch size 4: generation is bound by"
        )
        assert WORDS[kind] in said["en"] and "2 × NVIDIA H100 SXM" in said["zh"]
    how = in_both(monkeypatch, bound.says_how, facts)["en"]
    assert "need 68% of a layer's 8 experts" in how and "65 all-reduces" in how
    assert bound.times(facts).levels[0].x == 4


def test_what_one_user_gets_is_said(monkeypatch: pytest.MonkeyPatch):
    asked = ASKED._replace(n_output=64, draft=Speculation(4, 0.8, 0.05))
    facts = user_facts(asked)
    said = in_both(monkeypatch, one_user.says_user, facts)
    assert "an answer of 64 tokens takes" in said["en"] and "With 4 users at once" in said["en"]
    assert "4 个用户" in said["zh"]
    assert "3.36 tokens per pass" in in_both(monkeypatch, one_user.says_draft, facts)["en"]
    few = in_both(monkeypatch, one_user.says_user, replace(facts, most=1))["en"]
    assert "But memory holds only 1 text of 1,088 tokens." in few
    none = in_both(monkeypatch, one_user.says_user, replace(facts, most=0))["en"]
    assert "not even one text fits" in none
    names = [series.look.name for series in one_user.shares(facts).series]
    assert len(names) == 4  # the line, what fits, what does not, and the own batch

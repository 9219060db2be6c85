"""What is said of the GPT that a budget buys, in both languages."""

from dataclasses import replace

import pytest
from said_in import in_both

from blocks.cost.budget_shape import Budget, BudgetKind, Wish, by_attention, by_law, shape_for
from blocks.cost.loss_front import loss_front
from blocks.model.presets import PRESETS
from pages.panels.cost import shape, shape_said
from pages.state.fields import CONFIG, FIELDS

ONE, WISH = Budget(BudgetKind.FLOPS, 1e19, "h100-sxm"), Wish(n=1024)
FOUND = shape_for(ONE, WISH)


def test_each_case_of_the_answer(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, shape_said.says_shape, FOUND)
    for text in said.values():
        assert "1e19" in text and "267 M" in text and "2.96 (2.95–2.96)" in text
    assert "It fits" in said["en"] and "放得下" in said["zh"]
    cramped = replace(FOUND, texts_at_once=0, size=2 * FOUND.size, law=by_law(ONE, WISH)[2].law)
    said = in_both(monkeypatch, shape_said.says_shape, replace(cramped, loss=None))
    assert "It does not fit" in said["en"] and "no GPT comes closer" in said["en"]
    assert "DeepSeek LLM (2024) predicts no loss" in said["en"] and "没有给出" in said["zh"]
    dear = shape_for(Budget(BudgetKind.MONEY, 5000, price=2), WISH)
    said = in_both(monkeypatch, shape_said.says_shape, dear)
    assert "At least 2 devices are needed" in said["en"] and "52.1" in said["zh"]
    far = shape_for(ONE._replace(amount=1.3e24), WISH)
    assert "by a factor of 100" in in_both(monkeypatch, shape_said.says_shape, far)["en"]


def test_what_moves_the_total_is_said(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, shape_said.says_exact, FOUND)
    assert "All n² pairs" in said["en"] and "6.9% more tokens" in said["en"]
    assert (
        "1.13 times" in said["en"] and "of the budget goes into what fused attention" in said["en"]
    )
    latent = by_attention(ONE, WISH)[-1]
    assert "twice" not in in_both(monkeypatch, shape_said.says_exact, latent)["en"]
    kinds = in_both(monkeypatch, shape_said.says_kinds, by_attention(ONE, WISH))
    both = in_both(monkeypatch, shape_said.says_front, loss_front(FOUND))
    assert "as the GPT above does (loss 2.955)" in both["en"] and "2.955" in both["zh"]
    assert "GQA 16.6 kB" in kinds["en"] and "MLA 6.91 kB" in kinds["zh"]


def test_the_link_opens_this_very_model():
    query = shape.query_of(FOUND)
    values = {name: FIELDS[name].read(text) for name, text in query.items()}
    changed = {name: value for name, value in values.items() if name in CONFIG}
    assert PRESETS[query["preset"]].replace(**changed) == FOUND.config
    assert FIELDS["context_len"].default == Wish().n  # as the command line takes it
    assert values["n_training_tokens"] == FOUND.n_tokens and values["context_len"] == 1024

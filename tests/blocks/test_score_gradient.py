"""The backward pass of one softmax, written out, is what autograd finds."""

from typing import Any

import numpy as np
import pytest
from toy import assert_near, scramble, toy

from blocks.inspection import score_gradient
from blocks.inspection.head_steps import attention_steps, head_steps
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.run import Input, Run

IDS = (3, 1, 4, 1, 5)
VARIANTS: list[dict[str, Any]] = [
    {"n_kv_heads": 2, "position_kind": "rope"},
    {"score_softcap": 1.0, "attention_sink": True, "position_kind": "alibi"},
    {"attention_gate": "elementwise", "qk_norm": True},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_each_score_of_a_row_has_the_gradient_that_autograd_finds(changes: dict[str, Any]):
    config = toy(architecture="gpt", n_layers=2, vocab_size=11, **changes)
    tokens = tuple(map(str, IDS))
    mask = MaskConfig(mask_kind=MaskKind.CAUSAL)
    run = Run(config=config, input=Input(tokens=tokens, token_ids=IDS), mask=mask)
    model = scramble(run.build())
    taken = attention_steps(run.record(model), model, config, 0, run.build_mask())
    steps = head_steps(taken, 3)
    assert score_gradient.can_go_back(run)
    for query, target in ((3, IDS[4]), (4, None)):
        found = score_gradient.score_gradient(run, model, steps, 0, 3, query, 1)
        assert_near(found.of_scores, found.autograd)
        assert np.abs(found.autograd).max() > 0
        assert found.is_in_text == (target is not None)
        assert target in (None, found.target)
        assert_near(found.product.total, found.of_weights[1])
        assert_near(found.mean.total, found.weights @ found.of_weights)
        if steps.sink is None:
            assert_near(found.of_scores.sum() + 1, 1.0)
        assert (found.of_scores[query + 1 :] == 0).all()

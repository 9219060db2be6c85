"""Direct logit attribution adds up, and each head is worth what it writes."""

import pytest
import torch

from blocks import ModelConfig, build, record
from blocks.inspection.logit_difference import direct, is_a_sum, swapped
from blocks.model.attention import Attention
from blocks.model.masks import MaskConfig
from blocks.observe.interventions import Part, heads_of
from blocks.observe.run import Input, Run

SMALL = {"architecture": "gpt", "d_model": 16, "n_heads": 4, "n_layers": 3, "vocab_size": 11}
TEXT = Input(tokens=tuple("abcde"), token_ids=(1, 4, 2, 4, 7))


def run_of(**changes) -> Run:
    config = ModelConfig.from_flat({**SMALL, "max_seq_len": 8, **changes})
    return Run(config=config, input=TEXT, mask=MaskConfig(mask_kind="causal"))


@pytest.mark.parametrize(
    "changes",
    [
        {"norm_placement": "pre", "norm_kind": "layernorm", "attention_bias": False},
        {"norm_placement": "sandwich", "norm_kind": "rmsnorm", "n_kv_heads": 2},
        {"norm_placement": "res_post", "norm_kind": "layernorm", "tie_embeddings": False},
        {"norm_placement": "parallel", "norm_kind": "none", "residual_multiplier": 0.5},
        {"norm_placement": "pre", "norm_kind": "batchnorm", "attention_only": True},
    ],
)
def test_the_parts_add_up_to_the_difference_of_the_logits(changes):
    run = run_of(**changes)
    model = build(run.config)
    with torch.no_grad():  # norms and biases that do something
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                random = torch.Generator().manual_seed(len(name))
                weight += 0.3 * torch.randn(weight.shape, generator=random)
    logits = record(model, run.values(), mask=run.build_mask()).output[0, 3]
    found = direct(run, model, 3, 5, 2)
    assert is_a_sum(run.config)
    assert found.difference == pytest.approx(float(logits[5] - logits[2]), rel=1e-4, abs=1e-5)
    if changes.get("attention_bias", True):
        return
    heads, whole = (
        sum(v for v, part in zip(found.parts, heads_of(run.config), strict=True) if part.part is of)
        for of in (Part.HEAD, Part.ATTENTION)
    )
    assert heads == pytest.approx(whole, rel=1e-4)


@pytest.mark.parametrize("placement", ["pre", "sandwich"])
def test_in_a_narrow_format_norms_compute_in_that_of_their_weights(placement: str):
    run = run_of(norm_placement=placement, norm_kind="layernorm")
    model = build(run.config, dtype=torch.bfloat16)
    logits = record(model, run.values(), mask=run.pass_mask(), keep=()).output[0, 3].float()
    found = direct(run, model, 3, 5, 2)
    error = 8 * torch.finfo(torch.bfloat16).eps * logits.abs().max()
    assert found.difference == pytest.approx(float(logits[5] - logits[2]), abs=float(error))


def test_no_attention_weights_are_made_of_a_text(monkeypatch):
    """They grow with the square of its length, and nothing here reads them."""
    run, steps = run_of(), []
    monkeypatch.setattr(Attention, "attend_in_steps", lambda *given: steps.append(given))
    direct(run, build(run.config), 3, 5, 2)
    assert not steps


def test_what_a_part_does_to_each_answer_leaves_the_mean_of_all_logits_as_it_is():
    run = run_of(norm_kind="layernorm", tie_embeddings=False)
    model = build(run.config)
    every = [direct(run, model, 3, token_id, 5) for token_id in range(11)]
    total = sum(found.answers[0] for found in every)
    assert abs(total).max() < 1e-5 * max(abs(found.answers).max() for found in every)
    for found in every:
        assert found.answers[1] == pytest.approx(every[5].answers[0], rel=1e-5)


def test_a_stream_that_is_normalized_on_the_way_is_no_sum():
    assert not is_a_sum(run_of(norm_placement="post").config)
    assert not is_a_sum(run_of(residual=False).config)


def test_two_tokens_change_places():
    assert swapped([5, 1, 2, 5, 2], 5, 2) == [2, 1, 5, 2, 5]

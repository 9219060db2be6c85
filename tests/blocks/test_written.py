"""What is kept of a text that was written."""

import pytest
import torch
from toy import scramble, toy

from blocks import build
from blocks.inspection.cache_growth import cache_growth
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig, filtered
from blocks.text.written import written

PROMPT, WARM = [1, 5, 0], SamplingConfig(temperature=0.7, top_k=4)


def config(**changes):
    return toy(architecture="gpt", n_layers=2, vocab_size=11, max_seq_len=8, **changes)


def grown(model_config, n_tokens: int = 12, sampling=WARM, **more) -> Generation:
    model = scramble(build(model_config))
    generation = Generation(model, model_config, PROMPT, sampling, is_observed=True, **more)
    generation.advance(n_tokens)
    return generation


def test_the_probability_is_that_of_the_draw():
    for token in grown(config()).new_tokens:
        kept = written(token, WARM)
        probs = filtered(token.logits, WARM).softmax(-1)
        assert kept.probability == pytest.approx(probs[token.token_id].item())
        assert kept.model_probability == pytest.approx(
            token.logits.softmax(-1)[token.token_id].item()
        )
        assert 0 < kept.probability <= 1


def test_greedy_is_certain():
    greedy = SamplingConfig(temperature=0)
    kept = [written(token, greedy) for token in grown(config(), sampling=greedy).new_tokens]
    assert {token.probability for token in kept} == {1.0}
    assert all(token.model_probability < 1 for token in kept)


def test_a_token_that_nobody_saw_has_nothing_to_keep():
    generation = Generation(scramble(build(config())), config(), PROMPT, WARM)
    generation.advance(1)
    with pytest.raises(ValueError, match="is_observed"):
        written(generation.new_tokens[0], WARM)


@pytest.mark.parametrize("window_size", [None, 1, 3])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_formula_and_measurement_agree_even_where_the_context_moves(window_size, n_kv_heads, dtype):
    sizes = config(n_kv_heads=n_kv_heads)
    model = build(sizes, dtype=dtype)
    generation = Generation(model, sizes, PROMPT, WARM, window_size=window_size, is_observed=True)
    generation.advance(20)
    tokens = [written(token, WARM) for token in generation.new_tokens]
    table = cache_growth(
        sizes, len(PROMPT), tokens, itemsize=dtype.itemsize, window_size=window_size
    )
    assert table["measured"].tolist() == table["formula"].tolist()
    assert table["n_read"].tolist() == list(range(3, 23))
    assert (table["every_head"] == table["formula"] * (4 // n_kv_heads)).all()
    assert tokens[-1].context_start > 0

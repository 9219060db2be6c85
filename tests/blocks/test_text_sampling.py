"""Sampling agrees with the logits processors of `transformers`, in every number format."""

import pytest
import torch
from torch import Tensor
from toy import assert_near
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from blocks.model.faults import ConfigError
from blocks.model.randomness import generator
from blocks.text.sampling import SamplingConfig, choose, choose_each, filtered, next_tokens

VOCAB_SIZE = 50
LOGITS = 3 * torch.randn(VOCAB_SIZE, generator=generator(0, "logits"))
SAMPLINGS = [
    SamplingConfig(temperature=temperature, top_k=top_k, top_p=top_p)
    for temperature in (0.5, 1.0, 3.0)
    for top_k in (None, 1, 7, VOCAB_SIZE, 1_000)
    for top_p in (0.01, 0.5, 0.9, 1.0)
]


def reference(logits: Tensor, sampling: SamplingConfig) -> Tensor:
    scores = TemperatureLogitsWarper(sampling.temperature)(None, logits)
    if sampling.top_k is not None:
        scores = TopKLogitsWarper(sampling.top_k)(None, scores)
    return TopPLogitsWarper(sampling.top_p)(None, scores) if sampling.top_p < 1 else scores


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_what_is_kept_is_what_transformers_keeps(sampling: SamplingConfig):
    logits = 3 * torch.randn(8, VOCAB_SIZE, generator=generator(1, "logits"))
    assert_near(filtered(logits, sampling), reference(logits, sampling))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_half_formats_are_computed_in_float32_and_double_stays(dtype: torch.dtype):
    left = filtered(LOGITS.to(dtype), SamplingConfig(temperature=0.7, top_k=5, top_p=0.9))
    assert left.dtype is (torch.float64 if dtype is torch.float64 else torch.float32)
    assert 1 <= left.isfinite().sum() <= 5


def test_tokens_as_likely_as_the_last_one_kept_stay_in_top_k():
    left = filtered(torch.tensor([1.0, 2.0, 1.0, 0.0]), SamplingConfig(top_k=2))
    assert left.isfinite().tolist() == [True, True, True, False]


@pytest.mark.parametrize(("top_p", "n_kept"), [(0.25, 1), (0.5, 2), (0.75, 3)])
def test_no_token_more_is_kept_where_the_likeliest_reach_top_p_exactly(top_p: float, n_kept: int):
    logits, sampling = torch.zeros(4), SamplingConfig(top_p=top_p)
    assert filtered(logits, sampling).isfinite().sum() == n_kept
    assert reference(logits[None], sampling).isfinite().sum() == n_kept


def test_temperature_zero_always_takes_the_first_of_the_likeliest():
    logits = torch.tensor([0.0, 5.0, 5.0, 1.0])
    greedy = SamplingConfig(temperature=0)
    assert {choose(logits, greedy, generator(seed)) for seed in range(20)} == {1}
    assert next_tokens(logits, greedy)["probability"].tolist() == [0, 1, 0, 0]


@pytest.mark.usefixtures("process_state_kept")
def test_the_same_generator_makes_the_same_choices():
    sampling = SamplingConfig(top_k=10)
    runs = [[choose(LOGITS, sampling, generator(seed)) for _ in range(5)] for seed in (0, 0, 1)]
    assert runs[0] == runs[1]
    assert len({choose(LOGITS, sampling, generator(seed)) for seed in range(50)}) > 1


def test_choices_come_as_often_as_their_probability():
    n, sampling = 20_000, SamplingConfig(temperature=1.5, top_k=6, top_p=0.95)
    table = next_tokens(LOGITS, sampling)
    chosen = choose_each(LOGITS.expand(n, -1), sampling, generator(0, "choices"))
    share = chosen.bincount(minlength=VOCAB_SIZE).double().numpy() / n
    assert abs(share - table["probability"]).max() < 4 * (0.25 / n) ** 0.5
    assert not share[~table["kept"]].any()


@pytest.mark.parametrize("sampling", SAMPLINGS[::7], ids=str)
def test_the_table_has_one_row_a_token(sampling: SamplingConfig):
    table = next_tokens(LOGITS, sampling)
    assert table["token_id"].tolist() == list(range(VOCAB_SIZE))
    assert_near(torch.tensor(table["logit"]), LOGITS)
    assert_near(torch.tensor(table["scaled"]), LOGITS / sampling.temperature)
    assert table["probability"].sum() == pytest.approx(1)
    assert ((table["probability"] > 0) == table["kept"]).all()
    in_order = table.sort_values("rank")
    assert in_order["rank"].tolist() == list(range(1, VOCAB_SIZE + 1))
    assert in_order["logit"].is_monotonic_decreasing
    assert in_order["kept"].is_monotonic_decreasing


def test_a_forbidden_token_is_never_kept():
    logits = LOGITS.clone()
    logits[::2] = -torch.inf
    table = next_tokens(logits, SamplingConfig())
    assert not table["kept"][::2].any()
    assert table["kept"][1::2].all()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -1.0),
        ("temperature", 1e-9),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("top_k", 0),
        ("top_k", -3),
        ("top_p", 0.0),
        ("top_p", 1.5),
        ("top_p", float("nan")),
    ],
)
def test_what_cannot_be_comes_with_a_mend_that_can(field: str, value: float):
    with pytest.raises(ConfigError, match=f"{field}.*: use") as error:
        SamplingConfig(**{field: value})
    (fault,) = error.value.faults
    SamplingConfig(**fault.mend)

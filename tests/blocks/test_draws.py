"""Weights that are drawn by their place: known words, distribution, and what they depend on."""

import math

import pytest
import torch
from torch import Tensor, nn
from toy import toy

from blocks import build
from blocks.model import draws, initialize
from blocks.model.devices import available_devices
from blocks.model.draws import ByPlace, Key, hashed, normals

N = 2**20
SIGMAS = 4.5  # of the sampling error that theory gives
KS_AT_ONE_IN_A_MILLION = 2.69  # times 1 / √n


def words(start: int, n: int, key: Key) -> Tensor:
    """Of n places, from a multiple of n on, as unsigned numbers."""
    places = torch.arange(n, dtype=torch.int32)
    room = torch.empty_like(places), torch.empty_like(places)
    return hashed(places ^ (places >> 16), start, key, *room).long() % 2**32


def drawn(how: str = "normal_", n: int = N, path: str = "a", seed: int = 0) -> Tensor:
    values = torch.empty(n)
    source = ByPlace(seed, path, "cpu")
    return source.normal_(values, 1.0) if how == "normal_" else source.uniform_(values, 0.0, 1.0)


def correlation(one: Tensor, other: Tensor) -> float:
    return float(torch.corrcoef(torch.stack((one, other)).double())[0, 1])


@pytest.mark.parametrize(("word", "known"), [(0, 0), (1, 0x514E28B7), (2**32 - 1, 0x81F16F39)])
def test_without_a_key_it_is_the_finalizer_of_murmur3(word: int, known: int):
    """Murmur3 of no bytes is its finalizer of the seed: its published test vectors."""
    assert words(word, 1, Key(0, 0)).item() == known


def test_keys_stand_before_the_finalizer_and_after_its_first_product():
    def by_hand(place: int) -> int:
        x = place ^ 0x9E3779B9
        x = ((x ^ x >> 16) * 0x85EBCA6B) % 2**32 ^ 0xDEADBEEF
        x = ((x ^ x >> 13) * 0xC2B2AE35) % 2**32
        return x ^ x >> 16

    found = words(5 * 2**18, 2**10, Key(0x9E3779B9, 0xDEADBEEF))
    assert found.tolist() == [by_hand(5 * 2**18 + i) for i in range(2**10)]


def test_every_bit_of_a_place_changes_half_of_all_bits():
    """In 2¹⁶ places, within what the finalizer's own bias and chance allow."""
    key = Key(0x12345678, 0x9ABCDEF0)
    bits = torch.arange(32)
    before = words(0, 2**20, key)[:: 2**4]
    for bit in range(4, 20):
        after = words(0, 2**20, key)[torch.arange(0, 2**20, 2**4) ^ 2**bit]
        flipped = ((before ^ after)[:, None] >> bits & 1).double().mean(0)
        assert (flipped - 0.5).abs().max() < 0.02


def test_two_weights_share_words_no_more_often_than_chance():
    one, other = (
        words(0, 2**18, ByPlace(0, path, "cpu")._key).tolist() for path in ("a.weight", "b.weight")
    )
    expected = 2**36 / 2**32
    assert len({*one} & {*other}) < expected + 5 * math.sqrt(expected)
    assert len({*one}) == 2**18  # a weight of fewer than 2³² words has none twice


def test_normal_numbers_have_the_moments_and_the_distribution_of_the_normal():
    values = drawn().double()
    assert values.mean().item() == pytest.approx(0, abs=SIGMAS / math.sqrt(N))
    assert values.var().item() == pytest.approx(1, abs=SIGMAS * math.sqrt(2 / N))
    assert (values**3).mean().item() == pytest.approx(0, abs=SIGMAS * math.sqrt(15 / N))
    assert (values**4).mean().item() == pytest.approx(3, abs=SIGMAS * math.sqrt(96 / N))
    assert values.abs().max() == normals().max() == pytest.approx(4.325, abs=1e-3)
    assert_distributed(torch.special.ndtr(values))


def test_uniform_numbers_lie_between_their_bounds():
    values = drawn("uniform_").double()
    assert 0 <= values.min() < 1e-5 and 1 - 1e-5 < values.max() < 1
    assert_distributed(values)
    bounded = ByPlace(0, "a", "cpu").uniform_(torch.empty(N), -0.3, 0.3)
    assert bounded.min() >= -0.3 and bounded.max() < 0.3


def assert_distributed(probabilities: Tensor) -> None:
    """Kolmogorov and Smirnov: as uniform as so many numbers are."""
    expected = (torch.arange(N, dtype=torch.float64) + 0.5) / N
    distance = (probabilities.sort().values - expected).abs().max().item()
    assert distance < KS_AT_ONE_IN_A_MILLION / math.sqrt(N) + 0.5 / 2**16


@pytest.mark.parametrize("how", ["normal_", "uniform_"])
def test_neighbours_rows_and_weights_are_independent(how: str):
    values, most = drawn(how), 5 / math.sqrt(N)
    for lag in (1, 2, 3, 4, 8, 256, 1024, N // 2):
        assert abs(correlation(values[:-lag], values[lag:])) < most * (2 if lag > N // 4 else 1)
    others = (drawn(how, path="b"), drawn(how, seed=1), values.square().roll(1))
    assert all(abs(correlation(values, other)) < most for other in others)


@pytest.mark.parametrize("how", ["normal_", "uniform_"])
@pytest.mark.parametrize("n", [1, 2, 777])
def test_a_number_depends_on_its_place_and_on_no_chunk(
    how: str, n: int, monkeypatch: pytest.MonkeyPatch
):
    at_once = drawn(how, n)
    monkeypatch.setattr(draws, "CHUNK_ON_CPU", 64)
    assert torch.equal(drawn(how, n), at_once)


@pytest.mark.parametrize("scheme", ["normal", "pytorch", "xavier_uniform"])
def test_a_large_model_is_drawn_by_place_and_as_wide_as_a_small_one(
    scheme: str, monkeypatch: pytest.MonkeyPatch
):
    config = toy(initialization=scheme, d_model=128, n_heads=4, d_ff=256)
    small = build(config).state_dict()
    monkeypatch.setattr(initialize, "MOST_IN_TURN", 0)
    large, again = build(config).state_dict(), build(config, dtype=torch.bfloat16).state_dict()
    for name, values in large.items():
        assert torch.equal(again[name], values.bfloat16())
        if values.std() > 0:
            error = 5 * small[name].std() * math.sqrt(2 / values.numel())
            assert abs(values.std() - small[name].std()) < error
            assert not torch.equal(values, small[name])
        else:
            assert torch.equal(values, small[name])


def test_a_small_model_is_drawn_as_torch_draws():
    matrix = build(toy(initialization="xavier_uniform")).layers[0].attention.q_proj.weight
    random = draws.generator(0, "layers.0.attention.q_proj.weight")
    assert torch.equal(matrix, nn.init.xavier_uniform_(torch.empty_like(matrix), generator=random))


@pytest.mark.skipif(len(available_devices()) == 1, reason="needs an accelerator")
def test_an_accelerator_draws_the_same_bits():
    there = available_devices()[0]
    for how in ("normal_", "uniform_"):
        at = (1.0,) if how == "normal_" else (-1.0, 1.0)
        one, other = (
            getattr(ByPlace(0, "a", each), how)(torch.empty(N + 1, device=each), *at).cpu()
            for each in ("cpu", there)
        )
        assert torch.equal(one, other)

"""Rounded KV caches: the grids of KIVI, their bytes, and the score that is read through them."""

import dataclasses
from types import SimpleNamespace

import pytest
import torch
from toy import assert_near, draw, scramble, toy

from blocks import ConfigError, build
from blocks.efficiency.cache_facts import CacheFacts, CacheMeasure, cache_fault, n_in_common
from blocks.efficiency.cache_rounding import CacheAxis, CacheRounding, RoundedCache, RoundedLayer
from blocks.efficiency.cached_reading import CachedReader, written_on
from blocks.efficiency.quantization import Granularity, Quantization, quantize
from blocks.model.kv_cache import KVCache
from blocks.model.source_target import SourceTarget, source_target_mask

KEYS, VALUES = draw(2, 3, 11, 8, seed=1), draw(2, 3, 11, 8, seed=2)
# Whether keys, and values, share a grid by channel: Liu et al. 2024, table 3 and section 3.2.
BY_CHANNEL = {"token": (False, False), "channel": (True, True), "kivi": (True, False)}


@pytest.fixture(scope="module")
def torchao():
    return pytest.importorskip("torchao.quantization.quant_primitives")


def kept(how: CacheRounding, window: int | None = None) -> RoundedLayer:
    """A layer's cache that has read the keys and values one by one."""
    layer = RoundedLayer(how, window)
    for i in range(KEYS.shape[2]):
        layer.extend(KEYS[:, :, i : i + 1], VALUES[:, :, i : i + 1])
    return layer


@pytest.mark.parametrize("axis", CacheAxis)
@pytest.mark.parametrize("n_bits", [2, 8])
def test_each_number_lies_on_the_grid_of_torchao(torchao, axis: CacheAxis, n_bits: int):
    how = CacheRounding(n_bits=n_bits, axis=axis, group_size=4, n_recent=2)
    layer, ends = kept(how), (torch.uint8, 0, 2**n_bits - 1)
    for x, ours, by_channel in zip(
        (KEYS, VALUES), (layer.keys, layer.values), BY_CHANNEL[axis], strict=True
    ):
        n = how.n_rounded(11, by_channel=by_channel)
        assert n == (8 if by_channel else 9)
        assert ours[:, :, n:].equal(x[:, :, n:])
        block = (1, 1, 4, 1) if by_channel else (1, 1, 1, 8)
        kind = torchao.MappingType.ASYMMETRIC
        scale, zero = torchao.choose_qparams_affine(
            x[:, :, :n], kind, block, *ends, scale_dtype=torch.float32
        )
        grid = scale.half().float(), zero
        codes = torchao.quantize_affine(x[:, :, :n], block, *grid, *ends)
        assert ours[:, :, :n].equal(torchao.dequantize_affine(codes, block, *grid, *ends))


@pytest.mark.parametrize("axis", CacheAxis)
def test_what_is_read_at_once_is_kept_as_what_is_read_one_by_one(axis: CacheAxis):
    how = CacheRounding(axis=axis, group_size=4)
    at_once = RoundedLayer(how, None)
    at_once.extend(KEYS, VALUES)
    one_by_one = kept(how)
    assert at_once.keys.equal(one_by_one.keys) and at_once.values.equal(one_by_one.values)


def test_a_window_rounds_what_it_still_holds():
    whole, local = kept(how := CacheRounding(group_size=4)), kept(how, 8)
    assert local.n_kept == 7
    assert local.keys[:, :, 1:].equal(whole.keys[:, :, 5:])


@pytest.mark.parametrize("n_bits", [3, 8])
def test_bytes_are_those_of_the_packed_codes_and_their_grids(n_bits: int):
    how = CacheRounding(n_bits=n_bits, axis=CacheAxis.TOKEN)
    grid = Quantization(n_bits=n_bits, granularity=Granularity.CHANNEL, symmetric=False)
    head = quantize(KEYS[0, 0], grid)
    assert how.n_bytes(11, 11, 8, by_channel=False) == head.n_bytes
    whole_groups = quantize(KEYS[0, 0, :8].unflatten(0, (-1, 4)).mT.flatten(0, 1), grid).n_bytes
    of_channels = dataclasses.replace(how, group_size=4).n_bytes(11, 8, 8, by_channel=True)
    assert of_channels == whole_groups + 3 * 8 * 2


# Codes, grids of 4 bytes, and what is not rounded yet in half precision, of one head of 11 tokens.
BY_TOKEN_BYTES, BY_CHANNEL_BYTES = 11 * 8 * 2 // 8 + 11 * 4, 8 * 8 * 2 // 8 + 2 * 8 * 4 + 3 * 8 * 2


@pytest.mark.parametrize("axis", CacheAxis)
def test_the_bytes_of_a_cache_are_those_of_its_keys_and_of_its_values(axis: CacheAxis):
    config = toy(architecture="gpt", n_layers=1, n_heads=3, d_model=24, max_seq_len=16)
    cache = RoundedCache(config, CacheRounding(n_bits=2, axis=axis, group_size=4))
    cache.layers[0].extend(KEYS, VALUES)
    of = {True: BY_CHANNEL_BYTES, False: BY_TOKEN_BYTES}
    assert cache.nbytes() == 2 * 3 * sum(of[each] for each in BY_CHANNEL[axis])


@pytest.mark.parametrize("architecture", ["gpt", "encoder-decoder"])
@pytest.mark.parametrize("n_bits", [None, 8, 2])
def test_a_reader_through_a_cache_says_what_the_model_says(architecture: str, n_bits: int | None):
    config = toy(architecture=architecture, vocab_size=11, n_layers=2, position_kind="rope")
    model = build(config, seed=1)
    rows = torch.randint(0, 11, (3, 7), generator=torch.Generator().manual_seed(0))
    is_two = architecture == "encoder-decoder"
    is_there = torch.ones(3, 7, dtype=torch.bool)
    mask = source_target_mask(is_there, is_there) if is_two else None
    ids = SourceTarget(rows.flip(1), rows) if is_two else rows
    how = n_bits and CacheRounding(n_bits=n_bits, group_size=2)
    reader = CachedReader(model, lambda: RoundedCache(config, how) if how else KVCache(config))
    exact = model(*([ids, mask] if is_two else [ids])).detach()
    off = (reader(ids, mask) - exact).abs().max() / exact.abs().max()
    low, high = {None: (0, 1e-5), 8: (1e-5, 0.02), 2: (0.02, 2)}[n_bits]
    assert low <= off <= high
    begun = ids._replace(target=rows[:, :2]) if is_two else rows[:, :2]
    written = written_on(reader, begun, mask, 3)
    assert written.shape == (3, 3) and reader.cache.seen == 4


@pytest.mark.parametrize("architecture", ["gpt", "encoder-decoder"])
@pytest.mark.parametrize("n_bits", [None, 8])
def test_a_reader_reads_again_what_outgrows_longrope(architecture: str, n_bits: int | None):
    """What it says after each token is what a model says that has read so many and no more."""
    longrope = {"rope_scaling": "longrope", "rope_factor": 8.0, "rope_trained_len": 4}
    config = toy(
        architecture=architecture, vocab_size=11, n_layers=2, position_kind="rope", **longrope
    )
    model, rows = scramble(build(config)), torch.arange(14).view(2, 7) * 5 % 11
    is_two = architecture == "encoder-decoder"
    texts = [rows[:, : n + 1] for n in range(7)]
    every = [SourceTarget(rows.flip(1)[:, :4], text) if is_two else text for text in texts]
    how = n_bits and CacheRounding(n_bits=n_bits, group_size=2)
    reader = CachedReader(model, lambda: RoundedCache(config, how) if how else KVCache(config))
    with torch.no_grad():
        expected = torch.stack([model(ids)[:, -1] for ids in every], dim=1)
    assert_near(reader(every[-1]), expected, tolerance=0.1 if n_bits else 1e-5)
    assert type(reader.cache) is (RoundedCache if n_bits else KVCache) and reader.cache.seen == 7


def test_a_cache_whose_tokens_are_all_recent_has_the_bytes_of_half_precision():
    config = toy(architecture="encoder-decoder", vocab_size=11, n_layers=2)
    rows = torch.randint(0, 11, (3, 7), generator=torch.Generator().manual_seed(0))
    how, model = CacheRounding(n_recent=64), build(config, seed=1)
    readers = [
        CachedReader(model, lambda: RoundedCache(config, how)),
        CachedReader(model, lambda: KVCache(config)),
    ]
    ours, exact = (reader(SourceTarget(rows, rows)) for reader in readers)
    assert ours.equal(exact)
    assert 2 * readers[0].cache.nbytes() == readers[1].cache.nbytes()


def test_a_recipe_of_a_cache_that_cannot_be_is_refused():
    with pytest.raises(ConfigError, match="n_bits"):
        CacheRounding(n_bits=0)
    with pytest.raises(ConfigError, match="group_size"):
        CacheRounding(group_size=0)


def test_texts_differ_where_their_first_tokens_do():
    def measure(*rows, how=None):
        return CacheMeasure(how, 10, 5, 0.1, (1.0,), rows)

    exact = measure((1, 2, 3), (4, 5))
    rounded = measure((1, 9, 3), (4, 5), how=CacheRounding())
    facts = CacheFacts((exact, rounded), rounded, ("", ""), "exact answers", True)
    assert facts.first_differences(rounded) == (1, 2)
    assert facts.n_same == 1 and facts.earliest == 1
    assert n_in_common((1, 2), (1, 2, 3)) == 2


def test_a_state_has_no_keys_to_round():
    config = toy(architecture="gpt", token_mixer="gru")
    fault = cache_fault(SimpleNamespace(file=SimpleNamespace(config=config), model=None))
    assert fault is not None and "A gru layer keeps a fixed-size state" in str(ConfigError([fault]))

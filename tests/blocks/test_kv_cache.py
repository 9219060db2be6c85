"""Reading token by token with a cache gives what reading all at once gives."""

from itertools import product

import pytest
import torch
from toy import assert_near, scramble, toy

from blocks import PRESETS, ModelConfig, build
from blocks.model.kinds import PositionKind
from blocks.model.kv_cache import KVCache, kv_cache_bytes, kv_cache_bytes_per_token, layer_windows
from blocks.model.masks import causal, sliding_window
from blocks.observe.recording import record

LENGTH, WINDOW = 7, 3
TOKEN_IDS = torch.randint(11, (2, LENGTH), generator=torch.Generator().manual_seed(0))


def small_gpt(**changes) -> ModelConfig:
    return toy(architecture="gpt", n_layers=2, vocab_size=11, **changes)


def read_in_chunks(model, cache: KVCache, sizes: tuple[int, ...]) -> torch.Tensor:
    chunks = TOKEN_IDS.split(list(sizes), dim=1)
    return torch.cat([model(chunk, cache=cache) for chunk in chunks], dim=1)


@pytest.mark.parametrize("sizes", [(1,) * LENGTH, (4, 1, 1, 1), (2, 3, 2), (LENGTH,)])
@pytest.mark.parametrize(
    ("position_kind", "n_kv_heads", "window"),
    list(product(PositionKind, [4, 2, 1], [None, WINDOW, 1])),
)
@pytest.mark.thinned
def test_cached_is_uncached(position_kind, n_kv_heads, window, sizes):
    config = small_gpt(position_kind=position_kind, n_kv_heads=n_kv_heads, qk_norm=True)
    model = scramble(build(config))
    mask = causal(LENGTH) if window is None else sliding_window(LENGTH, window)
    cache = KVCache(config, window_size=window)
    with torch.no_grad():
        assert_near(read_in_chunks(model, cache, sizes), model(TOKEN_IDS, mask))
    assert cache.seen == LENGTH
    assert cache.n_kept == (LENGTH if window is None else window - 1)


@pytest.mark.parametrize("placement", ["post", "sandwich", "parallel"])
def test_cached_is_uncached_wherever_the_norm_sits(placement: str):
    config = small_gpt(norm_placement=placement)
    model = scramble(build(config))
    with torch.no_grad():
        assert_near(read_in_chunks(model, KVCache(config), (3, 1, 1, 1, 1)), model(TOKEN_IDS))


def test_experts_with_little_room_find_more_of_it_where_a_cache_is_read_on():
    """Their room is a share of the tokens of a pass: of one token none is turned away."""
    config = small_gpt(n_experts=3, n_active_experts=1, expert_capacity=0.5)
    model = scramble(build(config))
    with torch.no_grad():
        whole = model(TOKEN_IDS)
        cached = read_in_chunks(model, KVCache(config), (1,) * LENGTH)
        free = scramble(build(config.replace(expert_capacity=0.0)))(TOKEN_IDS)
    assert not torch.allclose(cached, whole)
    assert_near(cached[:1], free[:1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_its_bytes_are_those_of_the_formula(dtype: torch.dtype):
    config = small_gpt(n_kv_heads=2)
    cache = KVCache(config)
    assert cache.nbytes() == 0
    with torch.no_grad():
        build(config, dtype=dtype)(TOKEN_IDS[:1], cache=cache)
    assert cache.nbytes() == LENGTH * kv_cache_bytes_per_token(config, dtype.itemsize)
    assert kv_cache_bytes_per_token(config, 4) == 2 * 2 * 2 * 4 * 4


def test_a_cached_step_can_be_seen():
    config = small_gpt()
    model, cache = build(config), KVCache(config)
    with torch.no_grad():
        model(TOKEN_IDS[:1, :-1], cache=cache)
    last = record(lambda ids, _mask: model(ids, cache=cache), TOKEN_IDS[:1, -1:])
    whole = record(model, TOKEN_IDS[:1])
    assert last.pattern(1).shape == (1, config.n_heads, 1, LENGTH)
    assert_near(last.pattern(1), whole.pattern(1)[:, :, -1:])


@pytest.mark.parametrize("n_layers", [1, 3, 7])
@pytest.mark.parametrize("global_every", [0, 1, 3])
@pytest.mark.parametrize("global_first", [False, True])
@pytest.mark.parametrize("local_window", [0, 1, 4])
def test_bytes_of_local_layers_are_counted_by_formula(
    n_layers: int,
    global_every: int,
    local_window: int,
    global_first: bool,
    monkeypatch: pytest.MonkeyPatch,
):
    local = {"global_every": global_every, "local_window": local_window}
    config = PRESETS["gpt2-small"].replace(n_layers=n_layers, global_first=global_first, **local)
    cases = [(n, size) for n in (1, 3, 9) for size in (None, 2, 6)]
    each = [
        sum(n if window is None else min(n, window - 1) for window in layer_windows(config, size))
        for n, size in cases
    ]
    n_local = sum(config.window_of(layer) > 0 for layer in range(n_layers))
    monkeypatch.delattr(type(config), "window_of")  # a million layers are not asked one by one
    assert config.n_local(n_layers) == n_local
    of_one = kv_cache_bytes_per_token(config, 4) // n_layers
    found = [kv_cache_bytes(config, 4, n, window_size=size) for n, size in cases]
    assert found == [n_kept * of_one for n_kept in each]

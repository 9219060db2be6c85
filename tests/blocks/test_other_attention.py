"""One head attending in other ways, and heads that share."""

from functools import partial

import pytest
import torch
from toy import assert_near, draw

from blocks import ModelConfig, build, record
from blocks.inspection.other_attention import errors, maps
from blocks.inspection.sharing import likeness, pooled
from blocks.model.attention_kinds import AttentionKind, Reach
from blocks.model.kinds import PositionKind

Q, K, V = (draw(12, 8, seed=seed) for seed in range(3))


def test_what_sees_everything_has_no_error():
    table = errors(Q, K, V, Reach(window=12, stride=12)).set_index("kind")
    for kind in ("full", "fused", "window", "strided"):
        assert table["error"][kind] < 1e-5 and table["moved"][kind] < 1e-5
    assert table["error"]["linear"] > 0.01 and 0 < table["moved"]["linear"] < 1


def test_a_narrower_window_is_further_off():
    found = [errors(Q, K, V, Reach(window=w, stride=4)).set_index("kind") for w in (12, 6, 1)]
    window = [table.loc["window", "moved"] for table in found]
    assert window == sorted(window)


def test_there_is_a_map_for_each_kind():
    codes = maps(Q, K, Reach(window=4, stride=4))
    assert codes.shape[1] == len(AttentionKind) * 13 - 1


def test_heads_of_one_group_that_are_alike():
    one, other = torch.eye(6), torch.ones(6, 6).tril(-1)
    pattern = torch.stack([one, one, other, other])[None]
    assert likeness([pattern], 2) == pytest.approx((1.0, 0.0))
    assert likeness(pattern.split(1, dim=2), 4).within is None
    assert likeness([pattern], 1).across is None
    drawn = torch.rand(1, 4, 6, 6, generator=torch.Generator().manual_seed(0))
    some = drawn.split([1, 2, 3], dim=2)
    assert likeness(some, 2) == pytest.approx(likeness([drawn], 2), rel=1e-5)


@pytest.mark.parametrize("position_kind", PositionKind)
@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
def test_averaged_keys_and_values_are_a_model_with_fewer(position_kind: str, n_kv_heads: int):
    sizes = {"d_model": 16, "n_heads": 4, "n_layers": 2, "position_kind": position_kind}
    config = ModelConfig.from_flat(sizes)
    model, fewer = build(config), build(config.replace(n_kv_heads=n_kv_heads))
    weights = dict(model.state_dict())
    for name, value in weights.items():
        if "k_proj" in name or "v_proj" in name:
            weights[name] = value.unflatten(0, (n_kv_heads, -1, 4)).mean(dim=1).flatten(0, 1)
    fewer.load_state_dict(weights)
    places = [f"layers.{layer}.{name}" for layer in range(2) for name in "kv"]
    mean = partial(pooled, n_kv_heads=n_kv_heads)
    x = draw(1, 6, 16, seed=3)
    seen, expected = record(model, x, replace=dict.fromkeys(places, mean)), record(fewer, x)
    assert_near(seen.output, expected.output)
    assert_near(seen.pattern(1), expected.pattern(1))

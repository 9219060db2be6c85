"""Two models beside each other: distances, settings, predictions, fronts, time, in known cases."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from toy import assert_near, toy

from blocks import ModelConfig, build
from blocks.cost.paired_time import measure_round
from blocks.cost.pareto import pareto_front
from blocks.cost.summary import summarise
from blocks.cost.two_models import pair_counts
from blocks.inspection.pattern_distance import (
    all_distances,
    comparable_queries,
    head_distances,
    total_variation,
)
from blocks.inspection.settings import differing, moved_along, settings_in_use
from blocks.inspection.two_predictions import two_predictions
from blocks.inspection.two_runs import over_layers
from blocks.model.in_use import settable
from blocks.model.kinds import Architecture
from blocks.model.kv_cache import kv_cache_bytes
from blocks.model.masks import MaskConfig, causal
from blocks.model.models import count_built
from blocks.model.presets import PRESETS
from blocks.observe.run import Input, Run

N = 4


def one_hot_pattern(*keys: int) -> torch.Tensor:
    """(1, query, key): each query reads one key."""
    return torch.nn.functional.one_hot(torch.tensor(keys), N).float()[None]


def random_pattern(n_heads: int, seed: int) -> torch.Tensor:
    scores = torch.randn(n_heads, N, N, generator=torch.Generator().manual_seed(seed))
    return scores.masked_fill(~causal(N), -torch.inf).softmax(dim=-1)


def test_distance_is_the_weight_that_has_to_move():
    a = torch.tensor([[[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.25] * 4]])
    b = torch.tensor([[[1.0, 0, 0, 0], [0.0, 1.0, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]]])
    assert total_variation(a, b).tolist() == [[0.0, 0.5, 1.0, 0.75]]
    counts = comparable_queries(causal(N), causal(N), N)
    assert counts.tolist() == [False, True, True, True]
    assert head_distances(a, b, counts).item() == pytest.approx((0.5 + 1 + 0.75) / 3)


def test_distance_is_half_of_the_distance_that_torch_measures():
    a, b = random_pattern(1, 0), random_pattern(1, 1)
    expected = torch.cdist(a, b, p=1)[0].diagonal() / 2
    assert_near(total_variation(a, b)[0], expected)


def test_queries_without_a_choice_are_not_averaged():
    blind = causal(N).clone()
    blind[2] = False
    assert comparable_queries(blind, causal(N), N).tolist() == [False, True, False, True]
    assert comparable_queries(None, causal(N), N).tolist() == [True] * N
    nobody = torch.zeros(N, dtype=torch.bool)
    assert head_distances(one_hot_pattern(0, 0, 0, 0), one_hot_pattern(0, 1, 2, 3), nobody) == 0


def test_every_head_is_compared_with_every_head():
    a, b = random_pattern(3, 0), random_pattern(2, 1)
    counts = comparable_queries(causal(N), causal(N), N)
    matrix = all_distances(a, b, counts)
    assert matrix.shape == (3, 2)
    assert_near(matrix.diagonal(), head_distances(a, b, counts))
    assert_near(matrix.mT, all_distances(b, a, counts))
    assert all_distances(a, a, counts).diagonal().max() == 0
    assert matrix.min() >= 0 and matrix.max() <= 1


def test_half_precision_is_compared_in_float32():
    a, b = random_pattern(2, 0), random_pattern(2, 0).bfloat16()
    counts = comparable_queries(causal(N), causal(N), N)
    assert head_distances(a, b, counts).dtype == torch.float32


def test_only_what_does_something_differs():
    a, b = toy(), toy(rope_base=500.0, rotary_share=0.5, n_active_experts=3, parallel_norms=2)
    assert differing(a, b) == {}
    assert differing(a, toy(d_ff=None)) == {"d_ff": (32, 64)}
    assert differing(toy(n_kv_heads=None), toy(n_kv_heads=4)) == {}
    assert moved_along(a, toy(d_ff=64)) == {}
    assert moved_along(a, toy(d_ff=None)) == {"d_ff": (32, 64)}
    rope = toy(position_kind="rope")
    assert differing(a, rope) == {
        "position_kind": ("sinusoidal", "rope"),
        "rope_base": (None, 10_000.0),
        "rotary_share": (None, 1.0),
    }


def test_without_a_norm_its_place_differs_where_it_makes_another_layer():
    bare = toy(norm_kind="none")
    parallel = bare.replace(norm_placement="parallel")
    assert differing(bare, parallel) == {"norm_placement": (None, "parallel")}
    assert differing(bare, bare.replace(norm_placement="post")) == {}
    narrow = bare.replace(attention_only=True)
    assert "norm_placement" in settable(bare) and "norm_placement" not in settable(narrow)


@pytest.mark.parametrize(
    ("name", "changes", "usual"),
    [
        ("norm_affine", {"norm_kind": "none"}, {}),
        ("embedding_norm", {"norm_kind": "none"}, {}),
        (
            "parallel_norms",
            {"norm_kind": "none", "norm_placement": "parallel"},
            {"norm_placement": "parallel"},
        ),
        ("feed_forward_bias", {"attention_only": True}, {}),
    ],
)
def test_a_setting_of_a_part_that_is_not_there_cannot_be_set(name: str, changes, usual):
    config = toy(architecture="encoder", vocab_size=16)
    assert name in settable(config.replace(**usual))
    assert name not in settable(config.replace(**changes))


def test_the_layer_before_the_logits_of_an_encoder_is_made_as_the_feed_forward_layers_are():
    config = toy(architecture="encoder", vocab_size=16, attention_only=True)
    of_both = {"activation", "feed_forward_bias"}
    assert not of_both & settable(config)
    assert of_both <= settable(config.replace(prediction_head=True))


@given(some.data())
@settings(max_examples=30)
def test_a_setting_left_out_changes_no_parameter(data):
    architecture = data.draw(some.sampled_from(Architecture))
    norm, position = data.draw(some.sampled_from([("none", "none"), ("layernorm", "rope")]))
    config = toy(
        architecture=architecture,
        norm_kind=norm,
        position_kind=position,
        attention_only=data.draw(some.booleans()),
        vocab_size=16,
    )
    idle = config.flat().keys() - settings_in_use(config).keys()
    other = {"n_segments": 2, "pooler": True, "parallel_norms": 2, "rope_base": 99.0, "d_ff": 8}
    changes = {name: value for name, value in other.items() if name in idle}
    changed = config.replace(**changes)
    assert count_built(changed) == count_built(config)
    assert differing(config, changed) == {}


def test_predictions_of_two_vocabularies():
    a = torch.tensor([[0.0, 0, 0], [9, 0, 0]])
    b = torch.tensor([[0.0, 0, 0, 0], [9, 0, 0, 0]])
    found = two_predictions(a, b, 0, n_likeliest=4)
    assert sorted(found.table["token_id"]) == [0, 1, 2, 3]
    assert found.table.set_index("token_id").loc[3].tolist() == [0, 0.25]
    assert found.distance == pytest.approx(0.25)
    assert found.agreement == 1
    same = two_predictions(a, a, 1, n_likeliest=1)
    assert same.distance == 0 and same.table["token_id"].tolist() == [0]


def test_the_front_of_a_known_case():
    points = np.array([[1.0, 4], [2, 3], [2, 5], [3, 3], [4, 1], [4, 1]])
    assert pareto_front(points, (False, False)).tolist() == [True, True, False, False, True, True]
    assert pareto_front(points, (True, False)).tolist() == [False] * 4 + [True, True]
    assert pareto_front(points, (False, True)).tolist() == [True, False, True, False, False, False]
    assert pareto_front(points[:0], (False, False)).tolist() == []


@given(
    some.lists(some.tuples(some.integers(0, 6), some.integers(0, 6)), min_size=1, max_size=12),
    some.tuples(some.booleans(), some.booleans()),
)
def test_what_is_off_the_front_is_beaten_by_one_on_it(found, more):
    points = np.array(found, dtype=float)
    front = pareto_front(points, more)
    assert front.any()
    signed = np.where(more, points, -points)

    def beats(i: int, j: int) -> bool:
        return bool((signed[i] >= signed[j]).all() and (signed[i] > signed[j]).any())

    for j in range(len(points)):
        beaten_by = [i for i in range(len(points)) if beats(i, j)]
        assert front[j] == (not beaten_by)
        assert front[j] or any(front[i] for i in beaten_by)


def test_a_summary_counts_what_was_published():
    found = summarise(PRESETS["gpt2-small"], n=1024, dtype="bfloat16")
    assert found.parameters == found.active_parameters == 124_439_808
    assert found.weight_bytes == 2 * 124_439_808
    assert found.cache_bytes == 2 * 12 * 768 * 2
    n_matrix = 12 * 12 * 768**2 + 50257 * 768
    assert found.decode_flops == 2 * n_matrix + 12 * 4 * 768 * 1024
    for dtype, itemsize in {"float16": 2, "float32": 4, "float64": 8}.items():
        exact = summarise(PRESETS["gpt2-small"], n=1, dtype=dtype)
        assert exact.weight_bytes == itemsize * 124_439_808
        assert exact.cache_bytes == 2 * 12 * 768 * itemsize
    encoder = summarise(PRESETS["bert-base"], n=16, dtype="bfloat16")
    assert encoder.decode_flops == encoder.cache_bytes == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"token_mixer": "gru"},
        {"token_mixer": "gated_delta", "attention_every": 2},
        {"d_kv_latent": 16},
    ],
)
def test_the_cache_of_a_token_is_what_one_more_adds(changes: dict):
    config = ModelConfig(architecture="gpt", n_layers=4, **changes)
    found = summarise(config, n=16, dtype="bfloat16").cache_bytes
    assert found == kv_cache_bytes(config, 2, 11) - kv_cache_bytes(config, 2, 10)


def run_of(config: ModelConfig) -> Run:
    ids = tuple(range(3))
    text = Input(tokens=("a", "b", "c"), token_ids=ids)
    return Run(config=config, input=text, mask=MaskConfig(mask_kind="causal"))


def test_both_are_timed():
    small = toy(architecture="gpt", vocab_size=8)
    a, b = run_of(small), run_of(small.replace(n_layers=2))
    models = build(a.config, seed=0), build(b.config, seed=0)
    seconds = measure_round(a, models[0], b, models[1])
    assert len(seconds) == 2 and min(seconds) > 0


def test_both_are_counted_and_what_does_most_is_named():
    a = toy(architecture="gpt", vocab_size=8)
    facts = pair_counts(a, a.replace(n_experts=4, n_active_experts=2), n=8, weight_format="float32")
    for side, summary in (("a", facts.a), ("b", facts.b)):
        assert facts.kinds[side].sum() == summary.parameters
        assert facts.operations[side].sum() == pytest.approx(summary.read_flops)
    assert facts.parameter_change[0] == "feed_forward"
    assert facts.flops_ratio > 1 and not facts.same_flops
    gated = pair_counts(a, a.replace(activation="swiglu"), n=8, weight_format="float32")
    assert gated.flops_change[0] == ("gate_proj",) and gated.flops_group_change is None
    wide = pair_counts(a, a.replace(activation="swiglu", d_ff=999), n=8, weight_format="float32")
    group, change = wide.flops_group_change
    assert group == "feed_forward"
    assert change == pytest.approx(wide.b.read_flops - wide.a.read_flops)
    back = pair_counts(a.replace(n_experts=4), a, n=8, weight_format="float32")
    assert back.parameter_change[1] < 0 and list(back.kinds["b"][back.kinds["name"] == "router"])


def test_a_statistic_is_followed_through_the_layers_of_one_half():
    rows = [("decoder", 0, "resid_post", 9.0), ("encoder", 0, "resid_post", 2.0)]
    rows += [("encoder", 0, "resid_pre", 1.0), ("encoder", 1, "resid_post", 4.0)]
    flow = pd.DataFrame(rows, columns=["stack", "layer", "stage", "rms"])
    found = over_layers(flow, "resid_post", "rms", "encoder")
    assert found.to_numpy().tolist() == [[0, 1], [1, 2], [2, 4]]
    assert over_layers(flow, "resid_pre", "rms", "encoder")["layer"].tolist() == [1]

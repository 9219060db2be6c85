"""Where parameters are, what changes their number, and where they go: pieces add up exactly."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from steps import steps
from test_cost_parameters import ANYWHERE
from toy import toy

from blocks import ModelConfig, count_parameters
from blocks.cost.breakdown import (
    MOST_LAYERS,
    Kind,
    Node,
    by_kind,
    by_layer,
    count_facts,
    count_kinds,
    opened_facts,
    path_to,
    pieces_along,
)
from blocks.cost.growth import Share, over_depth, over_width, shares
from blocks.cost.parameters import active_parameters, total_parameters
from blocks.cost.published import PublishedFacts, published_facts
from blocks.cost.variations import variations
from blocks.model.config import DEFAULTS
from blocks.model.models import count_built
from blocks.model.presets import ENCODER_DECODER_TABLE, PRESET_TABLE, PUBLISHED_TABLE

TABLE = PRESET_TABLE | ENCODER_DECODER_TABLE | PUBLISHED_TABLE
GPT2 = PRESET_TABLE["gpt2-small"].config


def every(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from every(child)


@settings(max_examples=60)
@given(ANYWHERE)
def test_all_pieces_add_up_in_the_whole_space(values: dict[str, Any]):
    config, _ = ModelConfig().nearest(**values)
    total = total_parameters(config)
    assert total == count_built(config) == sum(count_parameters(config)["count"])
    assert total == sum(count_kinds(config).values()) == sum(shares(config).values())
    facts = count_facts(config)
    assert total == facts.total == facts.built and facts.kinds == count_kinds(config)
    for root in (by_kind(config), by_layer(config)):
        assert root.count == total
        for node in every(root):
            inside = [child.count for child in node.children]
            assert not inside or sum(inside) == node.count
            assert len({child.name for child in node.children}) == len(inside)


def test_it_is_the_first_layer_that_lacks_its_norm():
    config = ModelConfig(architecture="encoder", n_layers=3, d_model=8, n_heads=2, first_norm=False)
    layers = next(node for node in by_layer(config).children if node.name == "layers")
    first, *others = (layer.count for layer in layers.children)
    assert [count - first for count in others] == [16, 16]


@settings(max_examples=100)
@given(ANYWHERE, st.integers(0, 10**6))
def test_every_change_is_counted_as_it_is_built(values: dict[str, Any], which: int):
    """One of the changes of each configuration: all of them would be built again and again."""
    config, _ = ModelConfig().nearest(**values)
    changes = variations(config)
    change = changes[which % len(changes)]
    changed = config.replace(**change.changes)
    assert changed != config
    assert change.total == count_built(changed)
    assert change.active <= change.total


def deltas(config: ModelConfig) -> dict[str, int]:
    return {change.name: change.total - total_parameters(config) for change in variations(config)}


def test_what_people_say_about_gpt2_is_true():
    found = deltas(GPT2)
    assert found["twice_the_heads"] == found["half_the_heads"] == 0
    assert found["untied"] == 50257 * 768
    assert found["rope"] == -1024 * 768
    assert found["no_biases"] == -12 * (4 * 768 + 3072 + 768)
    assert found["no_norms"] == 2 * found["rmsnorm"] == -(12 * 2 + 1) * 2 * 768
    assert found["twice_d_ff"] == 12 * (2 * 768 * 3072 + 3072)
    assert found["gated_narrower"] == 12 * (2048 * 2 - 3072)  # biases alone


def test_heads_that_share_keys_stay_shared():
    config = TABLE["llama-3-8b"].config
    twice = next(c for c in variations(config) if c.name == "twice_the_heads")
    assert (twice.changes["n_heads"], twice.changes["n_kv_heads"]) == (64, 16)
    assert twice.total == total_parameters(config)


def test_experts_grow_the_model_and_less_of_it_is_met():
    config = toy(activation="swiglu")
    more = next(c for c in variations(config) if c.name == "experts")
    assert more.total > more.active > total_parameters(config)
    dense = next(c for c in variations(toy(n_experts=4)) if c.name == "dense")
    assert dense.total == dense.active


def test_kinds_of_gpt2():
    found = count_kinds(GPT2)
    assert found[Kind.EMBEDDING] == 50257 * 768
    assert found[Kind.POSITION] == 1024 * 768
    assert found[Kind.ATTENTION] == 12 * (4 * 768 * 768 + 4 * 768)
    assert Kind.OUTPUT not in found
    assert count_kinds(GPT2.replace(tie_embeddings=False))[Kind.OUTPUT] == 50257 * 768


def test_every_layer_is_there_and_the_rest_of_very_many_is_one_piece():
    layers = next(node for node in by_layer(GPT2).children if node.name == "layers")
    assert [node.name for node in layers.children] == [str(i + 1) for i in range(12)]
    assert len({node.count for node in layers.children}) == 1
    deep = by_layer(GPT2.replace(n_layers=10_000))
    layers = next(node for node in deep.children if node.name == "layers")
    assert len(layers.children) == MOST_LAYERS
    assert layers.children[-1].name == "160–10000"


def test_a_path_is_followed_as_far_as_it_goes():
    root = by_kind(GPT2)
    assert [node.name for node in pieces_along(root, ("attention", "q_proj"))] == [
        "",
        "attention",
        "q_proj",
    ]
    assert pieces_along(root, ("attention", "nowhere", "q_proj"))[-1].name == "attention"
    assert pieces_along(root, ()) == (root,)


def test_rows_of_pieces_lie_under_what_they_are_part_of():
    facts = opened_facts(GPT2, "by_layer", "layers/3")
    assert [node.name for node in facts.along] == ["", "layers", "3"]
    assert facts.path == path_to(facts.along) == "layers/3"
    for above, below in zip(facts.rows, facts.rows[1:], strict=False):
        parents = [piece for piece in above if piece.node.children]
        assert sum(piece.node.count for piece in below) == sum(p.node.count for p in parents)
        for parent in parents:
            inside = [piece for piece in below if piece.path.rpartition("/")[0] == parent.path]
            assert min(piece.start for piece in inside) == parent.start
    assert [len(row) for row in facts.rows] == [1, 3, len(facts.rows[2])]
    deep = opened_facts(GPT2.replace(n_layers=1000), "by_layer", "layers")
    assert [len(row) for row in deep.rows] == [1, MOST_LAYERS]  # their parts are too many


def test_the_facts_of_gpt2():
    facts = count_facts(GPT2)
    assert facts.largest is Kind.FEED_FORWARD and facts.ends == 50257 * 768
    assert facts.biases == 12 * (4 * 768 + 3072 + 768)
    assert facts.tied_otherwise == facts.total + 50257 * 768
    assert sum(facts.share(part.count) for part in facts.parts) == pytest.approx(1)
    assert count_facts(toy(architecture="block")).tied_otherwise is None
    assert count_facts(TABLE["mixtral-8x7b"].config.replace(n_layers=400)).built is None


@pytest.mark.parametrize("name", ["gpt2-small", "t5-base", "qwen3-0.6b", "falcon-7b", "course"])
def test_shares_over_size_are_of_real_configurations(name: str):
    config = TABLE[name].config
    own = {str(share): count / total_parameters(config) for share, count in shares(config).items()}
    for table, size in ((over_width(config), "d_model"), (over_depth(config), "n_layers")):
        assert table[size].is_monotonic_increasing and table[size].is_unique
        assert table[list(Share)].sum(axis=1).to_numpy() == pytest.approx(1)
        (row,) = table[table[size] == getattr(config, size)].to_dict("records")
        assert row["total"] == total_parameters(config)
        assert {share: row[share] for share in own} == pytest.approx(own)


def test_embeddings_fade_as_a_model_grows():
    assert over_width(GPT2)["embeddings"].is_monotonic_decreasing
    assert over_depth(GPT2)["embeddings"].is_monotonic_decreasing


# One size at the end of what a configuration may be, in every direction.
HUGE = {
    "architecture": "gpt",
    "d_model": 10**6,
    "n_heads": 10**6,
    "d_ff": 10**6,
    "n_layers": 10**6,
    "n_experts": 64,
    "vocab_size": 10**6,
}


def test_sums_do_not_overflow():
    huge = ModelConfig.from_flat(HUGE)
    total = total_parameters(huge)
    assert type(total) is int
    assert total > 2**63
    assert total == by_kind(huge).count == by_layer(huge).count
    assert active_parameters(huge) < total
    assert over_depth(huge)["total"].max() == pytest.approx(total)
    assert variations(huge)


def test_a_trillion_parameters_take_no_more_steps_than_one_layer_and_nothing_is_allocated():
    config = TABLE["llama-3-405b"].config.replace(n_layers=310)
    assert total_parameters(config) > 0.99e12
    tracemalloc.start()
    total_parameters(config)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000
    one_layer = config.replace(n_layers=1)
    least = steps(lambda: total_parameters(one_layer))
    assert steps(lambda: total_parameters(config)) < 1.1 * least


@pytest.mark.parametrize(
    ("own", "below", "above"), [(0, None, 0), (1, 0, 1), (10**15, -1, None)], ids=str
)
def test_a_model_is_placed_among_the_published(own: int, below: int | None, above: int | None):
    models = published_facts(GPT2).models
    assert [each.total for each in models] == sorted(each.total for each in models)
    facts = PublishedFacts(models, own and models[0].total + own)
    assert facts.below is (None if below is None else models[below])
    assert facts.above is (None if above is None else models[above])
    assert facts.nearest in models and facts.ratio == facts.own / facts.nearest.total
    same = PublishedFacts(models, models[2].total).same
    assert same is not None and same.total == models[2].total


def test_defaults_are_counted():
    assert total_parameters(ModelConfig()) == total_parameters(ModelConfig.from_flat(DEFAULTS))

"""One set of weights, the norm in every place."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from toy import toy

from blocks.inspection.placements import (
    LARGEST_WHOLE,
    Placed,
    PlacementFacts,
    measure_placed,
    placement_run,
)
from blocks.inspection.tiles import MASKED
from blocks.model.masks import MaskConfig, MaskKind
from blocks.model.placements import PLACEMENTS, own_placement, placed, possible_placements
from blocks.observe.run import Input, Run


def toy_run(**changes) -> Run:
    config = toy(n_layers=2, **changes)
    return Run(config=config, input=Input(seq_len=5), mask=MaskConfig(mask_kind=MaskKind.CAUSAL))


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("architecture", ["block", "gpt", "encoder"])
def test_weights_that_two_placements_share_are_equal(placement: str, architecture: str):
    run = toy_run(architecture=architecture)
    mine = dict(run.build().named_parameters())
    there = replace(run, config=placed(run.config, placement))
    theirs = dict(there.build().named_parameters())
    shared = mine.keys() & theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in shared)
    matrices = {name for name, parameter in mine.items() if parameter.dim() == 2}
    assert matrices <= shared


def test_parallel_needs_two_parts():
    assert possible_placements(toy()) == PLACEMENTS
    assert "parallel" not in possible_placements(toy(attention_only=True))


def test_the_readers_own_is_left_as_it_is_and_a_norm_comes_where_none_was():
    for placement in PLACEMENTS:
        config = placed(toy(norm_kind="rmsnorm"), placement)
        assert own_placement(config) == placement
        assert placed(config, placement) is config
    without = toy(norm_kind="none", norm_placement="parallel")
    assert own_placement(without) == "none" and placed(without, "none") is without
    assert placed(without, "post").norm.norm_kind == "layernorm"


def test_what_is_measured_is_what_the_model_does():
    run = toy_run()
    for placement in PLACEMENTS:
        found = measure_placed(run, placement, 1, 2)
        there = replace(run, config=placed(run.config, placement))
        seen = there.record(there.build())
        stream = seen.tensor("resid_post", 1)
        assert found.moments["std"] == pytest.approx(float(stream.std(correction=0)), rel=1e-5)
        width = found.spread["value"].diff().iloc[1]
        assert found.spread["density"].sum() * width == pytest.approx(1, rel=1e-4)
        weights = seen.pattern(1)[0, 2].numpy()
        above = np.triu(np.ones((5, 5), dtype=bool), 1)
        assert (found.codes[above] == MASKED).all()
        assert np.abs((found.codes[~above] - 2.0) / 248 - weights[~above]).max() < 0.003


def test_post_leaves_one_scale_and_pre_does_not():
    run = toy_run()
    post, pre = (measure_placed(run, name, 1, 0).moments for name in ("post", "pre"))
    assert post["rms"] == pytest.approx(1, abs=1e-3) and abs(pre["rms"] - 1) > 0.05


def test_what_is_not_finite_or_all_alike_has_no_spread():
    run = replace(toy_run(norm_kind="none"), dtype="float16")
    huge = replace(run, config=run.config.replace(residual=False, initialization="zero_writes"))
    found = measure_placed(huge, "none", 1, 0)
    assert found.moments["std"] == 0 and found.spread is None and found.sizes is None


def test_a_large_model_is_represented_by_one_layer():
    run = replace(toy_run(architecture="gpt"), weights="trained")
    assert placement_run(run).weights == "" and placement_run(run).config == run.config
    large = replace(run, config=run.config.replace(d_model=64, vocab_size=LARGEST_WHOLE // 60))
    assert placement_run(large).config == large.config.one_block()


def test_the_facts_of_several_placements_name_the_widest_first():
    sizes = {"pre": 2.0, "post": 1.0, "sandwich": 9.0, "none": float("inf")}
    found = {
        name: Placed({"rms": rms, "std": rms}, None, None, np.zeros(0))
        for name, rms in sizes.items()
    }
    facts = PlacementFacts(layer=0, head=0, own="post", placed=found)
    assert list(facts.sizes) == ["sandwich", "pre", "post"]
    assert facts.overflowing == ("none",) and not facts.is_far_apart and facts.spreads == {}
    assert facts.differences["rms"].to_list()[:3] == [1.0, 0.0, 8.0]
    assert replace(facts, own="parallel").differences is None


def test_placements_that_lie_far_apart_are_drawn_by_their_sizes():
    run = toy_run()
    narrow = measure_placed(run, "post", 1, 0)
    wide = replace(narrow, moments={**narrow.moments, "std": 100 * narrow.moments["std"]})
    facts = PlacementFacts(layer=1, head=0, own="pre", placed={"post": narrow, "none": wide})
    assert facts.is_far_apart and facts.spreads["none"] is wide.sizes

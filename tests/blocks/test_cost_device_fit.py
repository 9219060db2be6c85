"""Facts about memory: a setup beside its variants, and the devices that hold it."""

import pytest
from toy import toy

from blocks.cost.device_fit import Fits, fit_facts
from blocks.cost.fit import cache_bytes, inference_need, largest, training_need
from blocks.cost.flops import Pass
from blocks.cost.hardware import HARDWARE, told_apart
from blocks.cost.need import memory_facts
from blocks.cost.setup import Layout, OptimizerStates, Setup, WeightFormat
from blocks.cost.speed import writing
from blocks.cost.step import Shape
from blocks.model.config import ModelConfig
from blocks.model.faults import ConfigError
from blocks.model.presets import PUBLISHED_TABLE

GPT = toy(architecture="gpt", n_heads=4)
SHAPE = Shape(8, 2)


def test_the_first_variant_is_what_was_chosen():
    facts = memory_facts(GPT, Setup(), SHAPE, True, "cpu", 0.9)
    assert facts.need == training_need(GPT, Setup(), batch=2, n=8)
    assert facts.state_per_parameter == 16
    assert [each.name for each in facts.variants] == [
        *("chosen", "checkpointing", "fused", "format"),
        *(kind for kind in OptimizerStates if kind is not OptimizerStates.ADAM),
    ]
    assert sum(term.n_bytes for term in facts.activations.terms) == facts.need.activations
    assert getattr(facts.need, facts.largest) == max(vars(facts.need).values())


def test_a_device_that_nobody_knows_gets_the_nearest_names():
    with pytest.raises(ConfigError, match="h200-sxm"):
        writing(GPT, Setup(), SHAPE, "h200")


@pytest.mark.parametrize("sizes", [(10, 5), (-1, 5)])
def test_a_pass_that_cannot_be_is_not_counted(sizes: tuple[int, int]):
    with pytest.raises(ConfigError, match="n_new"):
        Pass(*sizes)


def wide_config(**changes: int) -> ModelConfig:
    return GPT.replace(d_model=256, n_heads=32, **changes)


def test_what_is_used_has_a_cache_and_fewer_heads_shrink_it():
    facts = memory_facts(GPT, Setup(), SHAPE, False, "cpu", 0.9)
    assert facts.need == inference_need(GPT, Setup(), batch=2, n=8)
    assert facts.need.cache == 16 * facts.cache_per_token
    (fewer,) = (each for each in facts.variants if each.name == "one_kv_head")
    assert fewer.need.cache * 4 == facts.need.cache
    wide = memory_facts(wide_config(), Setup(), SHAPE, False, "cpu", 0.9)
    grouped, single = (each for each in wide.variants if each.n_kv_heads)
    assert (grouped.n_kv_heads, single.n_kv_heads) == (8, 1)
    assert grouped.need.cache * 4 == single.need.cache * 32 == wide.need.cache
    assert single.need.weights < grouped.need.weights < wide.need.weights
    shared = memory_facts(wide_config(n_kv_heads=8), Setup(), SHAPE, False, "cpu", 0.9)
    alone, single = (each for each in shared.variants if each.n_kv_heads)
    assert (alone.name, alone.n_kv_heads, single.n_kv_heads) == ("all_heads", 32, 1)
    assert alone.need.cache == wide.need.cache == 4 * shared.need.cache
    encoder = memory_facts(toy(architecture="encoder"), Setup(), SHAPE, False, "cpu", 0.9)
    assert encoder.cache_per_token == 0 and encoder.variants[-1].name != "one_kv_head"


def test_what_needs_all_that_may_be_used_fits_and_a_byte_more_does_not():
    assert Fits("device", usable=10, needed=10, batch=1, n=1).is_enough
    assert not Fits("device", usable=10, needed=11, batch=1, n=1).is_enough
    for budget, most in ((29, 2), (30, 3), (31, 3), (9, 0), (1000, 50)):
        assert largest(lambda n: 10 * n, budget, 50) == most


def test_the_largest_batch_fits_and_one_more_does_not():
    config = GPT.replace(d_model=1024, n_layers=200, d_ff=4096, n_heads=4)
    facts = fit_facts(config, Setup(), Shape(1024, 1), True, "cpu", 0.5)
    for each in facts.devices[1:]:
        usable = HARDWARE[each.device].memory // 2
        assert each.usable == usable and each.is_enough == (each in facts.enough)
        needs = [training_need(config, Setup(), batch=each.batch + i, n=1024) for i in (0, 1)]
        assert needs[1].total > usable and (each.batch == 0 or needs[0].total <= usable)
    assert facts.smallest.usable == min(each.usable for each in facts.enough)
    assert facts.growth.set_index("n").loc[1024, "total"] == facts.needed
    assert facts.growth_of_twice == pytest.approx(facts.twice / facts.needed)


def test_of_several_devices_none_is_the_one_here():
    facts = fit_facts(GPT, Setup(n_devices=8), SHAPE, True, "cpu", 0.9)
    assert [each.device for each in facts.devices] == [*HARDWARE]
    assert facts.whole_batch == 8 * facts.smallest.batch


def test_of_several_with_as_much_memory_the_first_is_named():
    assert told_apart({"a": 24, "b": 16, "c": 24}) == (("b", 16), ("a", 24))


LLAMA = PUBLISHED_TABLE["llama-3-8b"].config


def test_a_small_batch_waits_for_its_weights_and_caches():
    """By hand: 7.5 · 10⁹ weights (no table) and 128 KiB of cache a token, over 1008 GB/s."""
    n_read = 8_030_261_248 - 128_256 * 4096
    for batch in (1, 4):
        n_bytes = 2 * n_read + batch * 8192 * 2**17
        found = writing(LLAMA, Setup(), Shape(8192, batch), "rtx-4090").all
        assert found == pytest.approx(batch * 1008e9 / n_bytes)


def test_a_large_batch_of_short_texts_waits_for_the_products():
    found = writing(LLAMA, Setup(), Shape(16, 4096), "rtx-4090").all
    assert found == pytest.approx(165.2e12 / (2 * (8_030_261_248 - 128_256 * 4096)), rel=0.01)


@pytest.mark.parametrize("changes", [{"architecture": "encoder"}, {"architecture": "block"}])
def test_what_does_not_write_alone_has_no_speed(changes: dict[str, str]):
    assert writing(toy(**changes), Setup(), SHAPE, "h100-sxm") is None


def test_a_device_without_the_number_format_has_no_speed():
    speeds = {name: writing(GPT, Setup(), SHAPE, name) for name in HARDWARE}
    assert speeds["t4"] is None  # it has no bfloat16
    assert speeds["h100-sxm"].all > speeds["a100-sxm-80gb"].all > speeds["l4"].all > 0
    facts = fit_facts(GPT, Setup(), SHAPE, False, "cpu", 0.9)
    assert sum(facts.parts.values()) == facts.needed


def test_several_devices_share_one_batch_where_they_write_and_have_their_own_where_they_train():
    facts = fit_facts(GPT, Setup(n_devices=8), SHAPE, False, "cpu", 0.9)
    assert facts.whole_batch == facts.smallest.batch
    assert sum(facts.parts.values()) == facts.needed


def test_eight_h100_hold_llama_70b_with_eight_long_texts_and_seven_do_not():
    config = PUBLISHED_TABLE["llama-3-70b"].config
    shape = Shape(131_072, 8)
    enough = {
        n: {
            each.device
            for each in fit_facts(config, Setup(n_devices=n), shape, False, "cpu", 0.9).enough
        }
        for n in (4, 7, 8)
    }
    assert "h100-sxm" in enough[8] and "h100-sxm" not in enough[7]
    assert "l40s" not in enough[8]
    assert "h100-sxm" not in enough[4] and "h200-sxm" in enough[4]


def test_what_cannot_be_served_is_refused_with_its_mend():
    with pytest.raises(ConfigError, match="expert"):
        Layout(tensor=4, expert=3)
    with pytest.raises(ConfigError, match="pipeline"):
        Layout(pipeline=0)
    for call in (cache_bytes, inference_need):
        own = 2 if call is cache_bytes else Setup()
        with pytest.raises(ConfigError, match="negative"):
            call(LLAMA, own, batch=-1, n=5)


def test_a_format_may_be_named_and_a_slip_gets_the_nearest():
    assert Setup(weight_format="fp8") == Setup(weight_format=WeightFormat.FP8)
    with pytest.raises(ConfigError, match="int4"):
        Setup(weight_format="int5")

"""Facts of a feed-forward layer of a run, beside what torch says of the same tensors."""

import pytest
import torch
from toy import toy

from blocks.inspection import activations, permuted, ratios, routing, units, wide
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.run import Input, Run

CAUSAL = MaskConfig(mask_kind=MaskKind.CAUSAL)
WORDS = ("a", "b", "c", "d", "e")
EXPERTS = {"n_experts": 4, "n_active_experts": 2}


def seen(layer: int = 0, seed: int = 3, **changes) -> wide.SeenLayer:
    config = toy(n_layers=2, **changes)
    run = Run(config=config, input=Input(tokens=WORDS), mask=CAUSAL, seed=seed)
    model = run.build()
    return wide.see_layer(run, model, run.record(model), layer)


def test_a_layer_is_seen_as_it_ran():
    found = seen(1)
    assert torch.equal(found.block.feed_forward(found.x), found.feed_forward_out)
    assert found.place() == wide.Place(layer=1, expert=None, n_tokens=5, seed=3)
    assert found.given() == (0, 1, 2, 3, 4)


def test_a_layer_that_is_not_there_is_none_and_one_of_attention_has_no_units():
    with pytest.raises(IndexError):
        seen(2)
    with pytest.raises(KeyError):
        seen(attention_only=True)


def test_the_activation():
    found = seen(activation="relu")
    z = found.inside[0].pre
    facts = activations.activation_facts(found, 0)
    assert facts.standing.off == pytest.approx((z <= 0).float().mean().item())
    assert facts.chosen == "relu" and facts.curves["z"].max() == facts.standing.reach
    assert facts.spread["share"].sum() == pytest.approx(1 - facts.standing.outside)


def test_the_units():
    found = seen(activation="relu")
    z = found.inside[0].pre
    facts = units.unit_facts(found, 0, token=2, unit=7)
    assert facts.off_is_zero and facts.selected == 7
    assert facts.n_dead == facts.n_silent == int((z <= 0).all(dim=0).sum())
    assert facts.dead_share == facts.n_dead / z.shape[1]
    median = (z > 0).float().mean(dim=0).quantile(0.5).item()
    assert facts.median_active == pytest.approx(median)
    assert facts.shown[0] == found.inside[0].hidden[2].abs().argmax()
    shares = units.units_of_layer(found)
    assert shares.dead == pytest.approx(facts.dead_share) and shares.layer == 0


def test_one_unit_at_the_tokens():
    found = seen(activation="relu")
    hidden = found.inside[0].hidden
    weak = int(hidden[0].abs().argmin())
    facts = units.unit_tokens(found, 0, token=0, unit=weak)
    assert facts.units[-1] == weak and facts.labels == WORDS
    assert facts.hidden[-1] == pytest.approx(hidden[:, weak].numpy())
    assert facts.strongest["number"][0] == int(hidden[:, weak].argmax())
    first = units.unit_tokens(found, 0, token=0, unit=facts.units[0])
    assert first.units == facts.units[:-1]


def test_what_multiplies_and_how_much_is_off():
    found = seen(activation="reglu")
    facts = units.gate_facts(found, 0, token=1, unit=0)
    off = (found.inside[0].pre <= 0).float()
    assert facts.is_gated and facts.token_label == "b"
    assert facts.off == pytest.approx(off.mean().item())
    assert facts.off_shares == pytest.approx(off.mean(dim=1).tolist())


def test_a_token_that_went_elsewhere_has_no_units_and_the_busiest_are_shown():
    found = seen(**EXPERTS)
    expert = next(i for i in range(4) if 0 < len(found.given(i)) < 5)
    elsewhere = next(token for token in range(5) if token not in found.given(expert))
    facts = units.gate_facts(found, expert, elsewhere, 0)
    assert facts.strongest.empty and facts.place.expert == expert
    busiest = found.inside[expert].hidden.abs().mean(dim=0).argmax()
    assert units.shown_units(found, expert, elsewhere)[0] == busiest


def test_the_widths_start_from_the_layer_itself():
    found = seen(1)
    rows = tuple(ratios.measure_width(found, ratio) for ratio in (1, 2, 4))
    facts = ratios.width_facts(found, rows)
    assert [row.ratio for row in rows] == [1, 2, 4] and facts.own_ratio == 2
    assert rows[1].write_rms == facts.own_write  # the same weights
    assert facts.growth == rows[2].parameters / rows[0].parameters
    assert rows[0].parameters == ratios.count_wide(ratios.at_ratio(found.run.config, 1))


def test_ratios_that_do_not_fit_are_left_out():
    config = toy()
    budget = 8 * ratios.count_wide(ratios.at_ratio(config, 3))
    assert ratios.affordable_ratios(config, torch.float32, budget) == (1, 2, 3)


def test_the_routes_of_a_mixture_are_its_own():
    found = seen(**EXPERTS)
    facts = routing.routing_facts(found, routing.route(found), 1, 4)
    index = found.seen.tensor("expert_index", 0)[0]
    assert facts.is_own and facts.expert == 1 and facts.seed == 3 and facts.n_active == 2
    assert facts.of_token["expert"].tolist() == index[4].tolist()
    assert facts.of_token["weight"].sum() == pytest.approx(1)
    assert facts.even_share == 5 * 2 / 4 and facts.n_dropped == facts.n_passed == 0


def test_a_dense_layer_is_shown_the_experts_it_might_have():
    found = seen()
    facts = routing.routing_facts(found, routing.route(found), 0, 0)
    assert not facts.is_own and facts.expert is None
    assert facts.probs.shape == (5, 8) and len(facts.choices) == 5 * 2


def test_the_layouts_are_counted():
    facts = routing.layout_facts(toy(**EXPERTS))
    assert [each.n_experts for each in facts.layouts] == [4, 1, 1]
    assert facts.wide is not None and facts.wide.d_ff == 4 * facts.dense.d_ff
    assert facts.growth == facts.mixture.total / facts.dense.total
    assert facts.active_share < 1 and facts.flops_growth > 2  # two experts and a router
    assert routing.layout_facts(toy(d_ff=500_000, **EXPERTS)).wide is None


def test_shuffled_tokens():
    facts = permuted.shuffle_facts(seen(position_kind="none"))
    assert facts.feed_forward.is_rounding and facts.unmasked.is_rounding
    assert not facts.masked.is_rounding and facts.n_tokens == 5


def test_without_a_mask_there_is_no_masked_attention():
    run = Run(config=toy(), input=Input(tokens=WORDS), mask=MaskConfig(mask_kind=MaskKind.NONE))
    model = run.build()
    found = wide.see_layer(run, model, run.record(model), 0)
    assert permuted.shuffle_facts(found).masked is None


def test_the_reach_of_a_token():
    facts = permuted.reach_facts(seen(), 2)
    assert (facts.changed, facts.n_moved("feed_forward"), facts.n_moved("attention")) == (2, 1, 3)
    last = permuted.reach_facts(seen(), 4)  # which no other token sees
    assert (last.pinned, last.changed) == (4, 0) and not last.has_experts

"""The largest values of the stream: planted, found, followed to the unit that writes them."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F  # noqa: N812
from toy import scramble, toy

from blocks.inspection.massive import (
    Generation,
    as_it_was,
    can_rerun,
    massive_facts,
    rerun,
    usual_value,
    without_unit,
    writers,
)
from blocks.inspection.sinks import Sink, Sinks
from blocks.inspection.wide import see_layer
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run

IDS = (3, 1, 4, 1, 5, 9, 2, 6)
CHANNEL, UNIT, LAYER = 5, 2, 1


def planted(**changes):
    """A GPT of three layers: one unit of the second writes a lot into one channel."""
    config = toy(architecture="gpt", vocab_size=13, n_layers=3, **changes)
    text = Input(tokens=tuple(map(str, IDS)), token_ids=IDS)
    run = Run(config=config, input=text, mask=MaskConfig(mask_kind="causal"), seed=3)
    model = scramble(run.build())
    with torch.no_grad():
        model.layers[LAYER].feed_forward.down_proj.weight[CHANNEL, UNIT] = 5000
    return run, model, run.record(model)


@pytest.fixture(scope="module")
def shouting():
    return planted()


def test_the_largest_value_stands_where_it_was_planted(shouting):
    run, _model, seen = shouting
    facts = massive_facts(run, seen)
    after = torch.stack([seen.tensor("resid_post", layer)[0] for layer in range(3)])
    at = facts.largest
    assert at.channel == CHANNEL and abs(at.value) == after.abs().max()
    assert after[at.layer, at.token, CHANNEL] == at.value
    assert facts.birth == LAYER and facts.is_massive and facts.is_fed
    assert facts.born.value == after[LAYER, at.token, CHANNEL]
    sizes = after[at.layer].abs()
    assert facts.times == pytest.approx(float(sizes.max() / sizes.flatten().median()))
    steps = torch.tensor(facts.written).sum(1)
    gained = torch.tensor(facts.traces[0]).diff()
    torch.testing.assert_close(steps, gained, rtol=1e-4, atol=1e-2)
    assert facts.table()["channel"].tolist()[LAYER:] == [CHANNEL, CHANNEL]


def test_the_unit_that_was_planted_writes_it(shouting):
    run, model, seen = shouting
    token = massive_facts(run, seen).largest.token
    found = writers(see_layer(run, model, seen, LAYER), token, CHANNEL)
    assert found.first["unit"] == UNIT and found.share == pytest.approx(1, abs=0.01)
    assert found.total == pytest.approx(float(seen.tensor("feed_forward_out", LAYER)[0, token, 5]))
    wide = see_layer(run, model, seen, LAYER).inside[0].hidden[:, UNIT]
    others = torch.cat((wide[:token], wide[token + 1 :]))
    assert found.first["hidden"] == pytest.approx(float(wide[token]))
    assert found.first["elsewhere"] == pytest.approx(float(others.abs().max()))


def test_a_mixture_has_no_single_list_of_units():
    run, model, seen = planted_mixture()
    assert writers(see_layer(run, model, seen, LAYER), 0, 0) is None


def planted_mixture():
    config = toy(architecture="gpt", vocab_size=13, n_layers=2, n_experts=2, n_active_experts=1)
    run = Run(
        config=config,
        input=Input(tokens=tuple(map(str, IDS)), token_ids=IDS),
        mask=MaskConfig(mask_kind="causal"),
    )
    model = run.build()
    return run, model, run.record(model)


def hooked(run, model, hook):
    """The logits and the bits per token of one pass with this hook of torch, which is then gone."""
    try:
        logits = model(run.values(), run.build_mask())[0]
    finally:
        hook.remove()
    nats = F.cross_entropy(logits[:-1], torch.tensor(IDS[1:]))
    return logits, float(nats.detach()) / 0.6931472


def test_a_value_that_is_set_passes_on_as_a_hook_of_torch_would_pass_it(shouting):
    run, model, seen = shouting
    born = massive_facts(run, seen).born

    def zeroed(_module, _inputs, x):
        x = x.clone()
        x[:, born.token, CHANNEL] = 0
        return x

    logits, bits = hooked(run, model, model.layers[LAYER].register_forward_hook(zeroed))
    found = rerun(run, model, born, 0.0)
    assert found.bits == pytest.approx(bits, rel=1e-5)
    assert found.token_id == int(logits[-1].argmax())
    measured = as_it_was(run, seen, born)
    assert rerun(run, model, born, born.value) == pytest.approx(measured, rel=1e-5)
    assert can_rerun(run) and found.bits != pytest.approx(measured.bits)
    assert not can_rerun(replace(run, config=toy()))


def test_without_a_unit_the_layer_is_that_of_a_zeroed_input_of_its_last_matrix(shouting):
    run, model, seen = shouting
    born = massive_facts(run, seen).born

    def zeroed(_module, args):
        (x,) = args
        x[..., 3] = 0
        return (x,)

    down = model.layers[LAYER].feed_forward.down_proj
    _logits, bits = hooked(run, model, down.register_forward_pre_hook(zeroed))
    found = without_unit(run, model, born, 3)
    assert found.bits == pytest.approx(bits, rel=1e-5)
    assert found.value != born.value


def test_the_usual_value_is_the_mean_over_texts_of_other_beginnings(shouting):
    run, model, seen = shouting
    born = massive_facts(run, seen).born
    found = []
    for shift in (1, 2, 3):
        ids = IDS[shift:] + IDS[:shift]
        moved = replace(run, input=Input(tokens=tuple(map(str, ids)), token_ids=ids))
        stream = moved.record(model).tensor("resid_post", LAYER)
        found.append(float(stream[0, born.token, CHANNEL]))
    assert usual_value(run, model, born) == pytest.approx(sum(found) / 3, rel=1e-4)


def test_generations_are_stretches_of_layers_without_a_gap(shouting):
    run, _model, seen = shouting
    sinks = Sinks((Sink(0, (0, 2), ()), Sink(4, (0,), (1,))))
    facts = replace(massive_facts(run, seen), sinks=sinks)
    assert facts.generations == (Generation((0, 4), 0, 0), Generation((0,), 2, 2))
    together = replace(facts, sinks=Sinks((Sink(0, (0, 2), ()), Sink(4, (1,), ()))))
    assert together.generations == (Generation((0, 4), 0, 2),)
    assert facts.shown(3) == sorted(facts.shown(3)) and facts.largest.token in facts.shown(1)

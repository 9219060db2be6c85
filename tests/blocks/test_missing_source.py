"""What a decoder expects without its source."""

from dataclasses import replace

import pytest
import torch
from toy import assert_near, scramble, toy

from blocks.inspection.missing_source import (
    Missing,
    changed_runs,
    hidden_in_turn,
    logits,
    moved_bits,
    moved_by_hiding,
    ways_facts,
    without_layer,
    without_source,
)
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run

SOURCE = Input(tokens=("a", "b", "c"), token_ids=(3, 4, 5))
TARGET = Input(tokens=("s", "x", "y"), token_ids=(1, 7, 8))


def run(**changes) -> Run:
    sizes = {"architecture": "encoder-decoder", "n_layers": 2, "vocab_size": 9, **changes}
    mask = MaskConfig(mask_kind="causal")
    return Run(config=toy(**sizes), input=SOURCE, target=TARGET, mask=mask)


def of(a_run: Run):
    return scramble(a_run.build())


@pytest.mark.parametrize("missing", Missing)
def test_without_its_source_a_decoder_says_the_same_for_every_source(missing: Missing):
    ours = run()
    other = replace(ours, input=replace(SOURCE, token_ids=(6, 6, 2)))
    model = of(ours)
    assert not torch.equal(logits(ours, model), logits(other, model))
    ours, other = (without_source(each, missing) for each in (ours, other))
    assert torch.equal(logits(ours, model), logits(other, model))
    assert sum(moved_bits(logits(run(), model), ours, model)) > 0


def test_a_hidden_source_is_cross_attention_that_writes_its_bias_alone():
    ours = run(attention_bias=False)
    model = of(ours)
    hidden, off = (without_source(ours, each) for each in (Missing.HIDDEN, Missing.CROSS_OFF))
    assert_near(logits(hidden, model), logits(off, model))


def test_nothing_moves_where_nothing_is_missing():
    ours = run()
    model = of(ours)
    before = logits(ours, model)
    assert max(moved_bits(before, ours, model)) == 0
    assert max(moved_bits(before, without_layer(ours, 1), model)) > 0


def test_hiding_a_token_is_having_it_as_padding():
    ours = replace(run(), input=replace(SOURCE, n_padding=1))
    model = of(ours)
    before = logits(run(), model)
    at_once = moved_by_hiding(ours, (3, 2), model, before)
    assert max(at_once[0]) < 1e-4 * max(at_once[1])  # it was hidden before
    last = replace(ours, input=replace(SOURCE, tokens=("a", "b"), token_ids=(3, 4), n_padding=1))
    expected = moved_bits(before, last, model)
    assert moved_by_hiding(run(), (2,), model, before)[0] == pytest.approx(
        expected, rel=1e-3, abs=1e-4 * max(expected)
    )
    assert at_once[1] == pytest.approx(expected, rel=1e-3, abs=1e-4 * max(expected))


def test_the_source_goes_missing_in_every_way_and_layer_by_layer():
    ours = run()
    model, ways = of(ours), changed_runs(ours)
    assert [*ways] == [*Missing, 0, 1] and [*changed_runs(run(n_decoder_layers=1))] == [*Missing]
    before = logits(ours, model)
    bits = tuple(moved_bits(before, each, model) for each in [*ways.values()][:2])
    facts = ways_facts(ours, bits, ("x", "y", "z"), 1)
    assert facts.ways == (Missing.CROSS_OFF, Missing.HIDDEN) and facts.seed == ours.seed
    assert facts.mean == pytest.approx(sum(bits[0]) / 3)
    assert facts.most[1] == pytest.approx(max(bits[0]))
    assert facts.least[1] == pytest.approx(min(bits[0]))


def test_tokens_are_hidden_each_once():
    (batch,) = hidden_in_turn(run())
    assert batch == (0, 1, 2)
    long = replace(run(), input=Input(tokens=("a",) * 99, token_ids=(3,) * 99))
    assert [place for batch in hidden_in_turn(long) for place in batch] == [*range(64)]

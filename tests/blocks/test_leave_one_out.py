"""What is predicted without one token, beside a mask of `transformers`."""

import pytest
import torch
from toy import toy
from transformers import GPT2LMHeadModel

from blocks import PRESETS, build
from blocks.cost.parameters import total_parameters
from blocks.inspection.leave_one_out import (
    LITTLE,
    MOST_HIDDEN,
    MOST_WORK,
    LeftOut,
    Without,
    in_turn,
    log2_probabilities,
    places_before,
    without_each,
)
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, PaddingSide, Run
from blocks.weights import save_published

GPT = toy(architecture="gpt", vocab_size=50, norm_kind="layernorm", position_kind="learned")
IDS = (3, 14, 15, 9, 26, 5)


def run_of(ids: tuple[int, ...] = IDS, config=GPT, **padding: object) -> Run:
    text = Input(tokens=tuple(map(str, ids)), token_ids=ids, **padding)
    return Run(config=config, input=text, mask=MaskConfig(mask_kind="causal"))


def strong(config, seed: int):
    """With weights so large that what one token says is heard by those after the next."""
    model = build(config, seed=seed)
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(12 if weights.ndim > 1 else 1)
    return model


def test_a_hidden_token_is_one_that_transformers_masks(tmp_path):
    sizes = {"n_layers": 2, "d_model": 24, "n_heads": 4, "d_ff": 48, "vocab_size": 50}
    config = PRESETS["gpt2-small"].replace(**sizes, max_seq_len=16, dropout=0.0)
    model = strong(config, seed=1)
    save_published(tmp_path, config, model)
    theirs = GPT2LMHeadModel.from_pretrained(tmp_path).eval()
    ids, places = torch.tensor([IDS]), (0, 2, 3)
    found = without_each(run_of(config=config), places, 5, 7, model)
    for place, without in zip(places, found, strict=True):
        seen = torch.ones_like(ids)
        seen[0, place] = 0
        with torch.no_grad():
            logits = theirs(ids, attention_mask=seen, position_ids=torch.arange(6)[None]).logits
        expected = log2_probabilities(logits[0, 5])
        assert without.bits == pytest.approx(float(expected[7]), rel=1e-3)
        assert without.first == int(expected.argmax())


def test_what_is_hidden_can_be_anything():
    model = strong(GPT, seed=0)
    (one,) = without_each(run_of(), (2,), 5, 7, model)
    (other,) = without_each(run_of((3, 14, 40, 9, 26, 5)), (2,), 5, 7, model)
    assert one.bits == pytest.approx(other.bits, rel=1e-4) and one.first == other.first
    (shown,) = without_each(run_of((3, 14, 40, 9, 26, 5)), (1,), 5, 7, model)
    assert shown.bits != pytest.approx(one.bits, rel=1e-5)


def test_one_batch_is_as_many_passes():
    model, run = build(GPT, seed=0), run_of()
    together = without_each(run, (0, 1, 4), 5, 7, model)
    alone = [without_each(run, (place,), 5, 7, model)[0] for place in (0, 1, 4)]
    assert [each.first for each in together] == [each.first for each in alone]
    bits = [each.bits for each in alone]
    assert [each.bits for each in together] == pytest.approx(bits, rel=1e-5)


def test_only_what_comes_before_and_no_padding_is_hidden():
    assert places_before(run_of(), 0) == () and in_turn(run_of(), 0) == []
    assert places_before(run_of(), 3) == (0, 1, 2)
    padded = run_of(n_padding=2, padding_side=PaddingSide.LEFT)
    assert places_before(padded, 4) == (2, 3)
    long = run_of(tuple(range(40)) * 2, config=GPT.replace(max_seq_len=128))
    assert places_before(long, 79) == tuple(range(79 - MOST_HIDDEN, 79))
    assert sum(map(len, in_turn(long, 79))) == MOST_HIDDEN


def test_the_newest_is_hidden_first():
    config = GPT.replace(max_seq_len=1024, n_heads=4)
    batches = in_turn(run_of(tuple(range(40)) * 20, config=config), 799)
    assert len(batches) > 1
    assert [place for batch in batches for place in batch] == list(
        range(798, 798 - MOST_HIDDEN, -1)
    )


def test_of_a_large_vocabulary_only_what_is_asked_is_read_off(monkeypatch):
    config = GPT.replace(vocab_size=50_000, max_seq_len=128)
    run, model = run_of(tuple(range(40)) * 3, config=config), build(config, seed=0)
    assert len(in_turn(run, 119)) == 3
    shapes = []
    unembed = type(model).unembed_logits
    monkeypatch.setattr(
        type(model), "unembed_logits", lambda self, x: shapes.append(x.shape) or unembed(self, x)
    )
    without_each(run, (3, 5), 119, 7, model)
    assert [shape[:2] for shape in shapes] == [(2, 1)]


def test_a_batch_of_a_large_model_is_small():
    config = GPT.replace(d_model=1024, n_layers=4, n_heads=4, max_seq_len=64)
    batches = in_turn(run_of(tuple(range(40)), config=config), 39)
    n_parameters = total_parameters(config)
    work = [len(batch) * (39 - batch[-1]) * n_parameters for batch in batches]
    assert max(work) <= MOST_WORK and len(batches[0]) == int((MOST_WORK / n_parameters) ** 0.5)


def test_what_was_not_tried_is_counted_and_what_was_stands_in_order():
    found = {4: Without(-3.0, 7), 3: Without(-1.0, 7)}
    facts = LeftOut.of(run_of(), 5, (7, -1.0), found)
    assert facts.places == (3, 4) and facts.effects.tolist() == [0.0, 2.0]
    assert (facts.n_before, facts.is_whole) == (5, False)
    assert LeftOut.of(run_of(), 2, (7, -1.0), {1: found[3], 0: found[4]}).is_whole


def test_what_does_most_and_what_speaks_against_it():
    without = (Without(-3.0, 7), Without(-1.0, 7), Without(-0.25, 9))
    facts = LeftOut(run_of(), 3, 7, -1.0, (0, 1, 2), without)
    assert facts.effects.tolist() == [2.0, 0.0, -0.75]
    assert facts.most(2) == [0, 2] and facts.most(1) == [0]  # 0.0 bits are no effect
    assert (facts.strongest, facts.against) == (0, 2)
    assert (facts.probability, facts.left(0)) == (0.5, 0.125)
    even = LeftOut(run_of(), 3, 7, -1.0, (0,), (Without(-1.0 - LITTLE / 2, 7),))
    assert (even.strongest, even.against) == (None, None)

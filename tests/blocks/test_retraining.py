"""Training on with a mask: what is 0 stays 0, and the shares grow as they should."""

from dataclasses import replace

import pytest
import torch
from toy import assert_near
from training_toy import toy_spec

from blocks.efficiency.compression import Compression, compress
from blocks.efficiency.distillation import calibrated_teacher
from blocks.efficiency.recorded_retraining import recorded_retraining
from blocks.efficiency.retraining import (
    SHARES,
    Repair,
    Repaired,
    Retraining,
    going_on,
    mask_smallest,
    masked_share,
)
from blocks.training.checkpoint import load, save
from blocks.training.loop import Training
from blocks.training.spec import TrainingSpec
from blocks.training.teaching import Teacher, shipped_teacher
from blocks.weights.pocket import pocket_names
from blocks.weights.tensors import read_weights
from blocks.work.plain import from_line, to_line

ORIGIN = shipped_teacher("sort")
SORT = calibrated_teacher(ORIGIN)


@pytest.fixture(scope="module")
def pruned(tmp_path_factory) -> Teacher:
    """The sorter with seven of ten weights masked, in a file."""
    file = compress(SORT, Compression(sparsity=0.7))
    place = tmp_path_factory.mktemp("origins") / "pruned.safetensors"
    place.write_bytes(file.to_bytes(torch.float32))
    return Teacher(name="sort~sparse70", config=file.config, file=place)


def test_the_smallest_weights_are_masked_as_the_recipe_masks_them():
    training = Training(going_on(SORT, ORIGIN, 10))
    before = read_weights(training.model)
    for name, each in SORT.file.tensors.items():
        assert_near(before[name], each.float())
    mask_smallest(training, 0.7)
    ours, theirs = read_weights(training.model), compress(SORT, Compression(sparsity=0.7)).tensors
    for name, each in theirs.items():
        assert_near(ours[name], each)


@pytest.mark.parametrize("optimizer", ["adamw", "muon", "sgd"])
def test_what_is_zero_at_the_origin_stays_zero_and_the_rest_learns(pruned, optimizer):
    spec = going_on(SORT, pruned, 3)
    spec = replace(spec, recipe=spec.recipe.replace(optimizer=optimizer, weight_decay=0.1))
    training, before = Training(spec), pruned.opened().tensors
    for _ in range(3):
        training.update()
    after = read_weights(training.model)
    for name in training.masks:
        assert (before[name] == 0).float().mean() == pytest.approx(0.7, abs=0.01)
        assert after[name][before[name] == 0].count_nonzero() == 0
        assert not after[name].equal(before[name])
    assert len(training.masks) == 13


def test_a_training_with_masks_goes_on_to_the_last_bit(pruned, tmp_path):
    whole = Training(going_on(SORT, pruned, 4))
    for _ in range(2):
        whole.update()
    save(whole.checkpoint(), tmp_path / "checkpoint")
    rest = [whole.update() for _ in range(2)]
    found = load(tmp_path / "checkpoint")
    assert found.spec.origin == Teacher(name="sort~sparse70", config=pruned.config)
    again = Training(whole.spec, start=found)
    assert [again.update() for _ in range(2)] == rest
    assert all(again.masks[name].equal(each) for name, each in whole.masks.items())


def test_a_spec_of_before_has_no_origin():
    spec = toy_spec()
    assert "origin" not in spec.plain() and TrainingSpec.from_plain(spec.plain()) == spec


def test_most_weights_go_early_and_all_in_the_first_half():
    shares = [masked_share(0.8, update, 100) for update in range(0, 100, 10)]
    assert shares[:2] == pytest.approx([0.8 * (1 - 0.8**3), 0.8 * (1 - 0.6**3)])
    assert shares[4:] == [0.8] * 6 and shares == sorted(shares)


def test_a_series_has_its_control_first_and_goes_on_where_it_was_left():
    series = Retraining(origin=ORIGIN, shares=(0.5,), n_updates=2)
    assert from_line(to_line(series)) == series and series.n_steps == 5
    found = [*series.results(())]
    assert [(each.repair, each.share) for each in found] == [*series.cases]
    assert found[0] == replace(found[0], repair=Repair.NONE, share=0.0)
    assert [*series.results(found[:3])] == found[3:]
    assert found[0].loss < found[2].loss and len({each.loss for each in found[:4]}) == 4
    assert found[4].loss == found[3].loss  # in two updates there is no little by little
    assert from_line(to_line(found[4])) == found[4]


@pytest.mark.parametrize("name", [*filter(recorded_retraining, pocket_names())])
def test_recorded_retraining_is_that_of_now(name: str):
    origin = shipped_teacher(name)
    found, series = recorded_retraining(name), Retraining(origin=origin)
    assert [(each.repair, each.share) for each in found] == [*series.cases]
    masked = found[2]
    assert masked == Repaired(Repair.NONE, SHARES[0], masked.score, masked.loss)
    model = calibrated_teacher(origin)
    training = Training(going_on(model, origin, 10))
    mask_smallest(training, SHARES[0])
    loss = model.examiner.held_out_loss(training.model, 2)
    assert masked.loss == pytest.approx(loss, rel=1e-3)

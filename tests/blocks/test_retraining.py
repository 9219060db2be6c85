"""Training on after pruning: what is gone stays gone, and the shares grow as they should."""

from dataclasses import replace

import pytest
import torch
from daily import some_daily
from toy import assert_near
from training_toy import toy_spec

from blocks.efficiency.compression import Compression, compress
from blocks.efficiency.distillation import calibrated_teacher
from blocks.efficiency.recorded_retraining import recorded_retraining
from blocks.efficiency.removal import (
    WEIGHT_SHARES,
    Removed,
    config_without,
    left_of,
    n_parts,
    recipe_without,
    removal_fault,
    shares_of,
)
from blocks.efficiency.retraining import (
    Repair,
    Repaired,
    Retraining,
    going_on,
    mask_smallest,
    removed_share,
    take_out,
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
    shares = [removed_share(0.8, update, 100) for update in range(0, 100, 10)]
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


PARTS = [each for each in Removed if each is not Removed.WEIGHTS]


@pytest.mark.parametrize("optimizer", ["adamw", "muon", "sgd"])
@pytest.mark.parametrize("removed", PARTS)
@pytest.mark.thinned
def test_with_parts_taken_out_it_is_the_training_of_the_small_model(
    removed: Removed, optimizer: str, tmp_path
):
    file = compress(SORT, recipe_without(SORT, removed, 0.5))
    (tmp_path / "small").write_bytes(file.to_bytes(torch.float32))
    small = Teacher(name="small", config=file.config, file=tmp_path / "small")
    theirs, ours = (with_optimizer(going_on(SORT, each, 4), optimizer) for each in (small, ORIGIN))
    ours = take_out(ours, SORT, removed, 0.5)
    assert ours.spec.config == file.config == config_without(SORT.file.config, removed, 0.5)
    assert [ours.update() for _ in range(2)] == [theirs.update() for _ in range(2)]
    for name, each in read_weights(theirs.model).items():
        assert_near(read_weights(ours.model)[name], each)


def with_optimizer(spec: TrainingSpec, optimizer: str) -> Training:
    recipe = spec.recipe.replace(optimizer=optimizer, weight_decay=0.1)
    return Training(replace(spec, recipe=recipe))


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("removed", PARTS)
def test_what_the_optimizers_remember_of_the_rest_goes_on(removed: Removed, optimizer: str):
    before = with_optimizer(going_on(SORT, ORIGIN, 4), optimizer)
    before.update()
    found = before.checkpoint()
    left = left_of(
        SORT, ORIGIN.config, found.weights, removed, n_parts(ORIGIN.config, removed) // 2
    )
    after = take_out(before, SORT, removed, 0.5).checkpoint()
    assert after.step == 1 and len(after.optimizer) >= len(after.weights)
    for key, each in after.optimizer.items():
        path, _, state = key.rpartition(".")
        assert each.equal(
            left.pieces[path].of(found.optimizer[f"{left.pieces[path].name}.{state}"])
        )
        assert each.shape in ((), after.weights[path].shape)


@pytest.mark.parametrize("removed", PARTS)
def test_little_by_little_it_ends_without_the_share_that_was_asked_for(removed: Removed):
    training = Training(going_on(SORT, ORIGIN, 100))
    sizes = [config_without(ORIGIN.config, removed, 0.0)]
    for update in range(0, 100, 10):
        training = take_out(training, SORT, removed, removed_share(0.5, update, 100))
        sizes.append(training.spec.config)
    counts = [n_parts(each, removed) for each in sizes]
    assert counts == sorted(counts, reverse=True) and counts[-1] == counts[0] // 2
    assert sizes[-1] == config_without(ORIGIN.config, removed, 0.5)
    assert take_out(training, SORT, removed, 0.5) is training  # nothing more to go


def test_a_series_without_heads_goes_on_from_the_same_control():
    series = Retraining(origin=ORIGIN, removed=Removed.HEADS, shares=(0.5,), n_updates=2)
    control = Repaired(Repair.NONE, 0.0, 1.0, 0.0)
    none, after, gradual = series.results([control, control])
    assert [each.repair for each in (none, after, gradual)] == [*Repair]
    assert none.loss > after.loss == gradual.loss  # in two updates there is no little by little
    small = compress(SORT, recipe_without(SORT, Removed.HEADS, 0.5)).build()
    assert none.loss == SORT.examiner.held_out_loss(small, 2)


def test_masked_weights_stay_masked_where_parts_go_too(pruned):
    training = take_out(Training(going_on(SORT, pruned, 4)), SORT, Removed.HIDDEN_UNITS, 0.5)
    training.update()
    weights = read_weights(training.model)
    assert {*training.masks} and all(
        not weights[name][~kept].any() for name, kept in training.masks.items()
    )


def test_the_shares_are_whole_parts_and_what_cannot_go_says_why():
    config = ORIGIN.config
    assert shares_of(config, Removed.WEIGHTS) == WEIGHT_SHARES
    assert shares_of(config, Removed.HEADS) == (0.25, 0.5, 0.75)
    assert shares_of(config, Removed.LAYERS) == (0.5,)
    assert shares_of(config.replace(n_layers=1), Removed.LAYERS) == ()
    alibi = config.replace(position_kind="alibi")
    assert "keep all heads" in str(removal_fault(alibi, Removed.HEADS))
    assert shares_of(alibi, Removed.HEADS) == () and shares_of(alibi, Removed.HIDDEN_UNITS)
    assert "keep all units" in str(removal_fault(config.replace(n_experts=4), Removed.HIDDEN_UNITS))


RECORDED = [
    (name, removed)
    for name in pocket_names()
    for removed in Removed
    if recorded_retraining(name, removed)
]


@pytest.mark.parametrize(("name", "removed"), RECORDED)
def test_recorded_retraining_has_the_cases_of_now(name: str, removed: Removed):
    found = recorded_retraining(name, removed)
    series = Retraining(origin=shipped_teacher(name), removed=removed)
    assert [(each.repair, each.share) for each in found] == [*series.cases]
    assert found[:2] == recorded_retraining(name, Removed.WEIGHTS)[:2]


@pytest.mark.parametrize(
    ("name", "removed"),
    some_daily(
        [each for each in RECORDED if each[0] == "sort" or each[1] is Removed.WEIGHTS],
        daily=[("sort", Removed.HIDDEN_UNITS)],
    ),
)
def test_recorded_retraining_begins_with_the_losses_of_now(name: str, removed: Removed):
    first = recorded_retraining(name, removed)[2]
    assert first.repair is Repair.NONE
    model = calibrated_teacher(shipped_teacher(name))
    small = compress(model, recipe_without(model, removed, first.share)).build()
    assert first.loss == pytest.approx(model.examiner.held_out_loss(small, 2), rel=1e-3)

"""What is saved is whole, and goes on as if nothing had been."""

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from training_toy import evaluations, losses, toy_spec

from blocks import ConfigError
from blocks.model.kinds import Architecture
from blocks.training.checkpoint import MODEL, OPTIMIZER, STATE, Checkpoint, load, save
from blocks.training.events import Step
from blocks.training.loop import Training, train
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind

VARIANTS = [
    {"optimizer": "adamw"},
    {"optimizer": "muon", "schedule": "trapezoid"},
    {"optimizer": "sgd", "momentum": 0.0},
    {"optimizer": "sgd"},
    {"optimizer": "muon", "dtype": "bfloat16"},
    {"norm_kind": "batchnorm"},
    {"tie_embeddings": False, "position_kind": "learned"},
]


def halfway(spec: TrainingSpec, step: int = 5) -> Checkpoint:
    training = Training(spec)
    for event in training.events():
        if isinstance(event, Step) and event.step == step:
            training.stop()
    return training.checkpoint()


def assert_same(ours: Checkpoint, theirs: Checkpoint) -> None:
    assert (ours.spec, ours.step) == (theirs.spec, theirs.step)
    for mine, other in ((ours.weights, theirs.weights), (ours.optimizer, theirs.optimizer)):
        assert mine.keys() == other.keys()
        for name, tensor in mine.items():
            assert tensor.dtype is other[name].dtype
            assert torch.equal(tensor, other[name])


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
@pytest.mark.thinned
def test_ten_steps_are_five_saved_loaded_and_five_more(tmp_path: Path, changes: dict[str, Any]):
    spec = toy_spec(**changes)
    whole = Training(spec)
    expected = [*whole.events()]
    save(halfway(spec), tmp_path / "saved")
    resumed = Training(spec, start=load(tmp_path / "saved"))
    events = [*resumed.events()]
    assert losses(events) == losses(expected)[5:]
    assert evaluations(events)[-1].held_out_loss == evaluations(expected)[-1].held_out_loss
    assert_same(resumed.checkpoint(), whole.checkpoint())


def test_what_is_loaded_is_what_was_saved(tmp_path: Path):
    for step in (5, 3):
        checkpoint = halfway(toy_spec(optimizer="muon", seed=step), step)
        save(checkpoint, tmp_path / "deep" / "saved")
        assert_same(load(tmp_path / "deep" / "saved"), checkpoint)
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"saved"}
    names = {path.name for path in (tmp_path / "deep" / "saved").iterdir()}
    assert names == {MODEL, OPTIMIZER, STATE}


def test_seconds_add_up():
    first = halfway(toy_spec())
    events = [event for event in train(toy_spec(), start=first) if isinstance(event, Step)]
    assert first.seconds > 0
    assert all(event.seconds > first.seconds for event in events)


def test_a_checkpoint_stays_what_it_was_while_training_goes_on():
    training = Training(toy_spec(optimizer="muon"))
    events = training.events()
    next(event for event in events if isinstance(event, Step) and event.step == 3)
    checkpoint = training.checkpoint()
    kept = {name: tensor.clone() for name, tensor in checkpoint.optimizer.items()}
    assert kept
    assert len(losses([*events])) == 7
    assert all(torch.equal(kept[name], each) for name, each in checkpoint.optimizer.items())


@pytest.mark.parametrize("failing", ["mkdir", "write_bytes", "write_text"])
@pytest.mark.parametrize(
    ("code", "said"), [(errno.ENOSPC, "disk is full"), (errno.EACCES, "another folder")]
)
def test_where_nothing_can_be_written_the_checkpoint_of_before_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, code: int, said: str
):
    before = halfway(toy_spec(), 3)
    save(before, tmp_path / "saved")

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, "no")

    with monkeypatch.context() as patched:
        patched.setattr(Path, failing, fail)
        with pytest.raises(ConfigError, match=said):
            save(halfway(toy_spec()), tmp_path / "saved")
    assert_same(load(tmp_path / "saved"), before)
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_a_process_that_dies_between_the_renames_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = halfway(toy_spec(), 3)
    save(before, tmp_path / "saved")
    renames: list[Path] = []

    def dies(self: Path, target: Path) -> Path:
        renames.append(self)
        if len(renames) == 2:
            raise KeyboardInterrupt
        self.rename(target)
        return target

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            save(halfway(toy_spec()), tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    assert_same(load(tmp_path / "saved"), before)
    save(before, tmp_path / "saved")
    assert_same(load(tmp_path / "saved"), before)


def without(name: str) -> Any:
    return lambda folder: (folder / name).unlink()


def cut(name: str) -> Any:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-9])


def state(**changes: object) -> Any:
    def change(folder: Path) -> None:
        values = json.loads((folder / STATE).read_text())
        (folder / STATE).write_text(json.dumps(values | changes))

    return change


DAMAGES = {
    "no weights": without(MODEL),
    "no optimizer": without(OPTIMIZER),
    "no state": without(STATE),
    "cut weights": cut(MODEL),
    "cut state": cut(STATE),
    "a list": lambda folder: (folder / STATE).write_text("[]"),
    "no number": state(step="many"),
    "no spec": state(spec=None),
    "half a spec": state(spec={"config": {}}),
    "another task": state(spec=toy_spec().plain() | {"task": {"kind": "flying"}}),
    "another recipe": state(spec=toy_spec().plain() | {"recipe": {"n_steps": -1}}),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_a_sentence(tmp_path: Path, damage: str):
    save(halfway(toy_spec(), 1), tmp_path / "saved")
    DAMAGES[damage](tmp_path / "saved")
    with pytest.raises(ConfigError):
        load(tmp_path / "saved")


def test_no_checkpoint_is_a_sentence_with_the_folder(tmp_path: Path):
    with pytest.raises(ConfigError, match="start a new run") as error:
        load(tmp_path / "nothing")
    assert "nothing" in str(error.value)


def test_a_checkpoint_of_another_model_is_refused():
    checkpoint = halfway(toy_spec(), 1)
    for other in (toy_spec(d_model=32), toy_spec(n_layers=1)):
        with pytest.raises(ConfigError, match="another model"):
            train(other, start=checkpoint)


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_a_spec_is_plain_values_and_back(changes: dict[str, Any]):
    spec = toy_spec(seed=3, **changes)
    assert TrainingSpec.from_plain(json.loads(json.dumps(spec.plain()))) == spec


def test_what_was_plain_is_of_its_kind_again():
    task = TaskConfig(kind=TaskKind.SORT, architecture=Architecture.ENCODER)
    back = TrainingSpec.from_plain(replace(toy_spec(), task=task).plain())
    assert back.task.architecture is Architecture.ENCODER
    assert back.task.kind is TaskKind.SORT

"""Training from the command line, as a person would use it."""

import errno
import json
import math
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from blocks.model import devices
from blocks.model.faults import Fault
from blocks.training import checkpoint as checkpoint_module
from blocks.training.checkpoint import load
from blocks.training.command import as_value, main
from blocks.training.events import Ended, Event, Reason, SnapshotTaken, Step
from blocks.training.fast_model import fast_config
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from blocks.training.watch import Bar, json_line

SMALL = ["--set", "d_model=16", "--set", "n_layers=1", "--set", "n_eval_batches=1"]
SORT = ["--task", "sort", "--seq-len", "8", *SMALL]


@pytest.fixture(autouse=True)
def threads_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "prepare_process", lambda: None)


def events_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def losses_of(log: Path) -> list[float]:
    return [event["loss"] for event in events_of(log) if event["event"] == "step"]


def interrupted_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C while this step is shown."""
    show = Bar.show

    def show_and_press(bar: Bar, event: Event) -> None:
        show(bar, event)
        if isinstance(event, Step) and event.step == step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Bar, "show", show_and_press)


def test_a_training_finishes_with_a_checkpoint_and_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    log = tmp_path / "log.jsonl"
    code = main([*SORT, "--steps", "6", "--out", str(tmp_path / "out"), "--log", str(log)])
    assert code == 0
    events = events_of(log)
    assert [event["step"] for event in events if event["event"] == "step"] == [*range(1, 7)]
    assert events[-1] == {"event": "ended", "reason": "finished", "fault": None}
    saved = load(tmp_path / "out" / "checkpoint")
    assert (saved.step, saved.spec.config.d_model, saved.spec.task.kind) == (6, 16, "sort")
    out, err = capsys.readouterr()
    assert "held-out loss" in out
    assert "exact answers" in out
    assert "warmup_steps (10) exceeds n_steps (6): use 0" in err


@pytest.mark.usefixtures("process_state_kept")
def test_ctrl_c_saves_and_a_resume_goes_on_as_if_nothing_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def command(name: str) -> list[str]:
        log, out = tmp_path / f"{name}.jsonl", tmp_path / name
        return ["--steps", "12", "--out", str(out), "--log", str(log)]

    before = signal.getsignal(signal.SIGINT)
    assert main([*SORT, *command("whole")]) == 0
    with monkeypatch.context() as patched:
        interrupted_at(5, patched)
        assert main([*SORT, *command("parts")]) == 130
    assert f"--resume --out {tmp_path / 'parts'}" in capsys.readouterr().out
    assert load(tmp_path / "parts" / "checkpoint").step == 5
    assert main([*command("parts"), "--resume"]) == 0
    assert losses_of(tmp_path / "parts.jsonl") == losses_of(tmp_path / "whole.jsonl")
    whole, parts = (load(tmp_path / name / "checkpoint") for name in ("whole", "parts"))
    assert all(torch.equal(parts.weights[name], each) for name, each in whole.weights.items())
    assert signal.getsignal(signal.SIGINT) is before


def test_a_finished_training_goes_on_with_more_steps(tmp_path: Path):
    out = str(tmp_path / "out")
    assert main([*SORT, "--steps", "3", "--out", out]) == 0
    assert main(["--resume", "--steps", "5", "--out", out]) == 0
    assert load(tmp_path / "out" / "checkpoint").step == 5


def test_a_text_from_a_file(tmp_path: Path):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat. " * 100)
    code = main(["--text", str(text), *SMALL, "--steps", "2", "--out", str(tmp_path / "out")])
    assert code == 0
    spec = load(tmp_path / "out" / "checkpoint").spec
    assert spec.task.kind is TaskKind.TEXT
    assert spec.config.vocab_size == len(set(text.read_text()))


def test_a_divergence_is_said_and_what_was_good_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    wild = [*SORT, "--preset", "plain", "--steps", "50", "--out", str(tmp_path / "out")]
    for setting in ("learning_rate=1e6", "norm_kind=none", "qk_norm=false", "clip_norm=0.0"):
        wild += ["--set", setting]
    assert main([*wild, "--set", "initialization=pytorch"]) == 1
    assert "use learning_rate 0.1" in capsys.readouterr().err
    saved = load(tmp_path / "out" / "checkpoint")
    assert all(tensor.isfinite().all() for tensor in saved.weights.values())


def test_a_full_disk_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(checkpoint_module, "_write", full)
    assert main([*SORT, "--steps", "2", "--out", str(tmp_path / "out")]) == 1
    assert "disk is full" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--set", "speed=3"], "speed is not a field"),
        (["--set", "speed"], "NAME=VALUE"),
        (["--set", "n_heads=3"], "n_heads (3) does not divide"),
        (["--set", "optimizer=lion"], "optimizer cannot be 'lion'"),
        (["--text", "nowhere.txt"], "nowhere.txt cannot be read"),
        (["--seq-len", "-1"], "seq_len (-1) must be from"),
        (["--resume"], "No checkpoint can be read"),
    ],
)
def test_what_cannot_be_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: list[str], said: str
):
    assert main(["--task", "sort", "--steps", "1", *wrong, *SMALL, "--out", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_a_checkpoint_is_not_overwritten_by_accident(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    command = [*SORT, "--steps", "2", "--out", str(tmp_path)]
    assert (main(command), main(command)) == (0, 2)
    assert "--resume" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--task", "fly", "--out", "x"], ["--steps", "x"]])
def test_wrong_usage_is_2(arguments: list[str]):
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2


@pytest.mark.parametrize("kind", TaskKind)
def test_the_pocket_model_fits_every_task(kind: TaskKind):
    task = build_task(TaskConfig(kind=kind, seq_len=kind.usual_seq_len))
    config = fast_config(task, d_model=64)
    assert config.architecture in task.architectures
    assert (config.d_model, config.vocab_size) == (64, task.vocab_size)


def test_a_log_line_is_strict_json():
    step = json_line(Step(3, math.nan, 0.1, math.inf, 10.0, 0.5))
    assert json.loads(step)["loss"] is None
    assert json.loads(step)["event"] == "step"
    assert json.loads(json_line(SnapshotTaken(4))) == {"event": "snapshot_taken", "step": 4}
    ended = json_line(Ended(Reason.FAILED, Fault("no {thing}", {"thing": Path("x")})))
    assert json.loads(ended) == {"event": "ended", "reason": "failed", "fault": "no x"}


def test_values_are_what_they_look_like():
    texts = ["3", "3.5", "1e-3", "true", "False", "none"]
    assert [as_value(text) for text in texts] == [3, 3.5, 1e-3, True, False, "none"]

"""What the page says to type trains the same."""

import dataclasses
import shlex
from pathlib import Path

import pytest
from training_toy import toy_spec

from blocks.model.kinds import Architecture
from blocks.training import command
from blocks.training.command import begun, parser
from blocks.training.command_line import command_line
from blocks.training.comparison import differences
from blocks.training.fast_model import fast_config
from blocks.training.recipe import RECIPES
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import Language, TaskConfig, TaskKind, TokenKind, build_task

TASKS = {
    "sort": TaskConfig(kind=TaskKind.SORT, seq_len=8),
    "encoder": TaskConfig(kind=TaskKind.COPY, seq_len=8, architecture=Architecture.ENCODER),
    "encoder–decoder": TaskConfig(
        kind=TaskKind.ADDITION, seq_len=8, architecture=Architecture.ENCODER_DECODER
    ),
    "translation": TaskConfig(kind=TaskKind.TRANSLATION, seq_len=12),
    "stories": TaskConfig(kind=TaskKind.STORIES, language=Language.CHINESE),
    "masked": TaskConfig(kind=TaskKind.MASKED_WORDS),
    "pairs": TaskConfig(kind=TaskKind.TEXT, token_kind=TokenKind.BYTE_PAIRS),
}


@pytest.fixture(autouse=True)
def fast_in_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed on another device trains the same."""
    monkeypatch.setattr(command, "fast_format", lambda *_: "bfloat16")


def typed(spec: TrainingSpec) -> TrainingSpec:
    _python, _m, _module, *words = shlex.split(command_line(spec))
    return begun(parser().parse_args(words)).spec


@pytest.mark.parametrize(
    ("name", "recipe"),
    [*((name, "fast") for name in TASKS), *(("sort", name) for name in RECIPES if name != "fast")],
)
@pytest.mark.thinned
def test_the_command_trains_what_the_spec_says(name: str, recipe: str):
    task = TASKS[name]
    config = fast_config(build_task(task), d_model=16, n_layers=1, norm_placement="post")
    changed = RECIPES[recipe].replace(n_steps=300, batch_size=2, n_eval_batches=1, warmup_steps=3)
    spec = TrainingSpec(config=config, task=task, recipe=changed, seed=7)
    assert not differences(typed(spec), spec)


def test_a_text_is_read_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    text = "It was a dark and stormy night. " * 100
    Path("text.txt").write_text(text, encoding="utf-8")
    task = TaskConfig(kind=TaskKind.TEXT, text=text, seq_len=16)
    config = fast_config(build_task(task), d_model=16, n_layers=1)
    spec = TrainingSpec(config=config, task=task, recipe=RECIPES["fast"])
    assert typed(spec).task == task


def test_the_fast_recipe_is_trained_in_what_the_device_is_fast_in_and_says_so(
    capsys: pytest.CaptureFixture[str],
):
    words = ["--task", "sort", "--out", "runs/sort"]
    spec = begun(parser().parse_args(words)).spec
    assert spec.recipe == RECIPES["fast"].replace(dtype="bfloat16")
    assert "--set dtype=bfloat16" in capsys.readouterr().err
    assert "--set dtype=bfloat16" in command_line(spec)


@pytest.mark.parametrize("words", [["--set", "dtype=float32"], ["--preset", "baseline"]])
def test_another_format_is_used_where_it_is_asked_for(
    words: list[str], capsys: pytest.CaptureFixture[str]
):
    spec = begun(parser().parse_args(["--task", "sort", "--out", "runs/sort", *words])).spec
    assert spec.recipe.dtype == "float32"
    assert "is fast in" not in capsys.readouterr().err


def test_what_differs_is_told_with_both_values():
    spec = toy_spec()
    other = dataclasses.replace(toy_spec(learning_rate=0.5, d_model=32), seed=3)
    assert differences(spec, spec) == {}
    assert differences(spec, other) == {
        "d_model": (16, 32),
        "learning_rate": (1e-3, 0.5),
        "seed": (0, 3),
    }


def test_a_long_text_stands_as_its_length():
    texts = ["a " * 1000, "b " * 2000]
    specs = [
        dataclasses.replace(toy_spec(), task=TaskConfig(kind=TaskKind.TEXT, text=text))
        for text in texts
    ]
    assert differences(*specs)["text"] == (2000, 4000)

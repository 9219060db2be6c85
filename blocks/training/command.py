"""Training from the command line: what is asked for, and what it answers."""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from blocks.corpora.texts import corpus_from_bytes
from blocks.cost.fast_format import fast_format
from blocks.model import devices
from blocks.model.config import FIELDS
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture
from blocks.training.checkpoint import STATE, Checkpoint, load
from blocks.training.fast_model import fast_config
from blocks.training.loop import Training
from blocks.training.recipe import DEFAULTS, RECIPE_TABLE, RECIPES
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import LEARNERS, Language, TaskConfig, TaskKind, TokenKind, build_task
from blocks.training.watch import watched

MOST_CHARACTERS = 50_000_000
FAILED, WRONG_USAGE = 1, 2
EPILOG = """\
examples:
  python -m blocks.training --task sort --preset fast --steps 200 --out runs/sort
  python -m blocks.training --text novel.txt --set n_layers=2 --set d_model=64 --out runs/novel
  python -m blocks.training --resume --out runs/sort --steps 400

exit codes:
  0 finished   1 failed, diverged or out of memory   2 wrong usage   130 stopped by Ctrl-C
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the arguments say; returns the exit code."""
    options = parser().parse_args(arguments)
    devices.prepare_process()
    code = WRONG_USAGE
    try:
        training = resumed(options) if options.resume else begun(options)
        code = FAILED
        return watched(training, folder=checkpoint_folder(options), log=options.log)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return code


def parser() -> argparse.ArgumentParser:
    """The options and their help."""
    options = argparse.ArgumentParser(
        prog="python -m blocks.training",
        description="Train a small Transformer and watch it learn.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = options.add_argument
    add("--task", choices=[*TaskKind], default=TaskKind.TEXT, help="what is learned (%(default)s)")
    add("--text", type=Path, metavar="FILE", help="learn from this text (implies --task text)")
    add("--tokens", choices=[*TokenKind], default=TokenKind.CHARACTERS, help="of a text")
    add("--language", choices=[*Language], default=Language.ENGLISH, help="of stories")
    add("--learner", choices=[*LEARNERS], help="where several can learn")
    add("--seq-len", type=int, metavar="N", help="tokens in a row (as the task is usually posed)")
    add("--preset", choices=[*RECIPES], default="fast", help="the recipe (%(default)s)")
    add("--steps", type=int, metavar="N", help="how many updates (as the recipe says)")
    add("--seed", type=int, default=0, metavar="N", help="of all random numbers (%(default)s)")
    add("--device", default="cpu", choices=devices.available_devices(), help="(%(default)s)")
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other field of the model or the recipe; may be given many times",
    )
    add("--out", type=Path, required=True, metavar="FOLDER", help="where the checkpoint goes")
    add("--resume", action="store_true", help="go on with the checkpoint in --out")
    add("--log", type=Path, metavar="FILE", help="write every event there, a JSON object a line")
    return options


def checkpoint_folder(options: argparse.Namespace) -> Path:
    """A folder of its own: what else lies in --out is not ours to replace."""
    return options.out / "checkpoint"


def resumed(options: argparse.Namespace) -> Training:
    """The training in --out, with as many steps as asked for now."""
    checkpoint = load(checkpoint_folder(options))
    if options.steps is not None:
        checkpoint = with_steps(checkpoint, options.steps)
    return Training(checkpoint.spec, start=checkpoint)


def with_steps(checkpoint: Checkpoint, n_steps: int) -> Checkpoint:
    """Continue this state to another last step."""
    recipe = checkpoint.spec.recipe.replace(n_steps=n_steps)
    return dataclasses.replace(checkpoint, spec=dataclasses.replace(checkpoint.spec, recipe=recipe))


def begun(options: argparse.Namespace) -> Training:
    """A new training; what the recipe has to give up for it is said."""
    folder = checkpoint_folder(options)
    if (folder / STATE).exists():
        text = N_("There is a checkpoint in {folder}: use --resume or another --out")
        raise ConfigError([Fault(text, {"folder": folder})])
    values = dict(map(assignment, options.set))
    if unknown := values.keys() - DEFAULTS.keys() - FIELDS.keys():
        text = N_("{name} is not a field of a model or a recipe: remove it")
        raise ConfigError([Fault(text, {"name": name}) for name in sorted(unknown)])
    steps = {} if options.steps is None else {"n_steps": options.steps}
    recipe, mended = RECIPES[options.preset].nearest(**steps)
    recipe = recipe.replace(**{name: each for name, each in values.items() if name in DEFAULTS})
    for fault in mended:
        print(fault, file=sys.stderr)
    task = task_config(options)
    shape = {name: each for name, each in values.items() if name in FIELDS}
    config = fast_config(build_task(task), **shape)
    if RECIPE_TABLE[options.preset].in_fast_format and "dtype" not in values:
        product = recipe.batch_size * task.seq_len, config.d_model, config.d_ff
        recipe = recipe.replace(dtype=said_format(options.device, product))
    spec = TrainingSpec(
        config=config, task=task, recipe=recipe, seed=options.seed, device=options.device
    )
    return Training(spec)


def said_format(device: str, product: tuple[int, int, int]) -> str:
    """The number format that the device is fast in; said, so that the run can be repeated."""
    chosen = fast_format(device, product)
    print(f"{device} is fast in {chosen}: the same again by --set dtype={chosen}", file=sys.stderr)
    return chosen


def task_config(options: argparse.Namespace) -> TaskConfig:
    """The task asked for; its text is read here."""
    kind = TaskKind(options.task) if options.text is None else TaskKind.TEXT
    return TaskConfig(
        kind=kind,
        seq_len=kind.usual_seq_len if options.seq_len is None else options.seq_len,
        architecture=options.learner and Architecture(options.learner),
        text=None if options.text is None else text_of(options.text),
        token_kind=TokenKind(options.tokens),
        language=Language(options.language),
    )


def text_of(file: Path) -> str:
    """The text in a file; what should be known about how it was read is said."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        text = N_("{file} cannot be read ({error}): choose another file")
        values = {"file": file, "error": error.strerror}
        raise ConfigError([Fault(text, values)]) from error
    corpus = corpus_from_bytes(raw, most_characters=MOST_CHARACTERS)
    for note in corpus.notes:
        print(note, file=sys.stderr)
    return corpus.text


def assignment(text: str) -> tuple[str, Any]:
    """`name=value`; numbers, true and false are what they look like."""
    name, equals, value = text.partition("=")
    if not equals:
        said = N_("{text} is not a setting: write NAME=VALUE")
        raise ConfigError([Fault(said, {"text": text})])
    return name, as_value(value)


def as_value(text: str) -> Any:
    """A number or a truth value where the text is one."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text

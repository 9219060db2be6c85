"""How fast a model learns, and what the loop around the step costs."""

import statistics
import time
from pathlib import Path

import torch

from blocks import ModelConfig
from blocks.cost.fast_format import fast_format
from blocks.training.events import Evaluation, Step
from blocks.training.fast_model import fast_config
from blocks.training.loop import Training
from blocks.training.loss import cross_entropy
from blocks.training.recipe import RECIPES, Recipe
from blocks.training.shipped_models import POCKET
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from tests.bench.report import report

AIM_LOSS = 1.8857
AIM_SHARE = {"bfloat16": "≤ 0.12", "float32": "≤ 0.15"}
USUAL = {
    "architecture": "gpt",
    "n_layers": 4,
    "d_model": 128,
    "n_heads": 4,
    "max_seq_len": 64,
    "position_kind": "learned",
    "initialization": "normal",
    "dropout": 0.0,
    "attention_bias": False,
    "feed_forward_bias": False,
}


def measure(text: Path | None) -> None:
    """Print (f), (h) and (i)."""
    if text is None:
        report("(f) time to the loss of the usual recipe", "not measured: pass --text FILE", "")
    else:
        time_to_loss(text.read_text(encoding="utf-8"))
    overhead()
    induction()


def time_to_loss(text: str) -> None:
    """The usual recipe of 2,000 steps against the fast one, both at batch 12, context 64.

    The fast one in the number format that this device is fast in, as the command trains it.
    """
    dtype = fast_format("cpu")
    task = TaskConfig(kind=TaskKind.TEXT, text=text, seq_len=64)
    built = build_task(task)
    usual = ModelConfig.from_flat({**USUAL, "vocab_size": built.vocab_size})
    recipes = (
        (fast_config(built), RECIPES["fast"].replace(dtype=dtype)),
        (usual, RECIPES["baseline"]),
    )
    fast, slow = (
        _timed(TrainingSpec(config=config, task=task, recipe=_quiet(recipe)))
        for config, recipe in recipes
    )
    found = f"{fast[0] / slow[0]:.3f}  ({fast[0]:.1f} / {slow[0]:.1f} s)"
    name = f"(f) fast in {dtype} (loss {fast[1]:.4f}) / usual recipe (loss {slow[1]:.4f})"
    report(name, found, AIM_SHARE[dtype])
    report("    loss reached by the fast recipe", f"{fast[1]:.4f}", f"≤ {AIM_LOSS}")


def _quiet(recipe: Recipe) -> Recipe:
    """Evaluated at the end only, on many batches."""
    return recipe.replace(eval_every=recipe.n_steps, n_eval_batches=200)


def _timed(spec: TrainingSpec) -> tuple[float, float]:
    """Seconds of all steps, and the held-out loss after the last."""
    times, loss = [], float("nan")
    for event in Training(spec).events():
        if isinstance(event, Step):
            times.append(event.seconds)
        if isinstance(event, Evaluation):
            loss = event.held_out_loss
    n = len(times)
    return (times[-1] - times[0]) * n / (n - 1), loss


def overhead(n_steps: int = 60) -> None:
    """The loop with its reports against forward, backward and optimizer step alone, in turn."""
    task = TaskConfig(kind=TaskKind.TEXT, seq_len=64)
    built = build_task(task)
    config = ModelConfig.from_flat({**USUAL, "vocab_size": built.vocab_size})
    recipe = RECIPES["baseline"].replace(n_steps=10 * n_steps, eval_every=10 * n_steps, clip_norm=0)
    looped, bare = (Training(TrainingSpec(config=config, task=task, recipe=recipe)) for _ in "ab")
    events, pairs = (event for event in looped.events() if isinstance(event, Step)), []
    batch = built.batch(recipe.batch_size, torch.Generator().manual_seed(0))
    for _ in range(n_steps):
        pairs.append((_seconds(lambda: next(events)), _seconds(lambda: _bare_step(bare, batch))))
    found = statistics.median(a / b for a, b in pairs[5:])
    times = [1000 * statistics.median(column) for column in zip(*pairs[5:], strict=True)]
    name = "(h) training step in the loop / bare step"
    report(name, f"{found:.3f}  ({times[0]:.1f} / {times[1]:.1f} ms)", "≤ 1.05")


def _bare_step(training: Training, batch) -> None:
    loss = cross_entropy(training.model(batch.token_ids), batch.targets)
    loss.backward()
    for optimizer in training.optimizers:
        optimizer.step()
        optimizer.zero_grad()


def _seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def induction(seeds: int = 5, aim: float = 0.8) -> None:
    """Seconds until the induction score passes 0.8, for each seed."""
    spec = POCKET["induction"].spec
    recipe = spec.recipe.replace(eval_every=25, n_eval_batches=1)
    times = [_seconds_to_score(spec, recipe, seed, aim) for seed in range(seeds)]
    found = ", ".join(f"{seconds:.1f}" for seconds in times)
    report(f"(i) seconds to an induction score of {aim}, {seeds} seeds", found, "< 5 each")


def _seconds_to_score(spec: TrainingSpec, recipe: Recipe, seed: int, aim: float) -> float:
    training = Training(TrainingSpec(config=spec.config, task=spec.task, recipe=recipe, seed=seed))
    for event in training.events():
        if isinstance(event, Evaluation) and event.score > aim:
            return event.seconds
    return float("inf")

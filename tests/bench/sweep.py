"""What a sweep costs beside its trainings: the same points bare, and through engine and store."""

import tempfile
import time
from pathlib import Path

import torch

from blocks.sweep import LocalEngine, Store, Sweep, trained
from blocks.sweep.job import N_THREADS, Done
from blocks.training.fast_model import fast_config
from blocks.training.loop import Training
from blocks.training.recipe import RECIPES
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from tests.bench.report import report

N_ROUNDS = 2


def measure() -> None:
    """One process, one thread: seconds of each point in it and here, in turn."""
    before = torch.get_num_threads()
    torch.set_num_threads(N_THREADS)
    task = TaskConfig(kind=TaskKind.STORIES)
    config = fast_config(build_task(task), n_layers=2, d_model=64)
    recipe = RECIPES["fast"].replace(n_steps=150, n_eval_batches=8)
    base = TrainingSpec(config=config, task=task, recipe=recipe)
    with tempfile.TemporaryDirectory() as name:
        store = Store(Path(name))
        engine = LocalEngine(store.unfinished, Path(name), n_at_once=1)
        swept = bare = 0.0
        for seed in range(N_ROUNDS):
            sweep = Sweep(base=base, seeds=(2 * seed, 2 * seed + 1))
            told = trained(sweep, engine, store)
            next(told)  # the process has started
            began = time.perf_counter()
            n_done = sum(isinstance(each.event, Done) for each in told)
            swept += time.perf_counter() - began
            assert n_done == len(sweep.seeds)
            bare += sum(_bare(point.spec) for point in sweep.points({}))
    torch.set_num_threads(before)
    found = f"{swept / bare:.3f}  ({swept:.1f} / {bare:.1f} s)"
    report("(t) trainings of a sweep / the same bare", found, "≤ 1.05")


def _bare(spec: TrainingSpec) -> float:
    training = Training(spec, is_scored=False)
    began = time.perf_counter()
    for _event in training.events():
        pass
    return time.perf_counter() - began

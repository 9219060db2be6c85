"""What a sweep costs beside its trainings, and how two readers' sweeps share the machine."""

import tempfile
import threading
import time
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import torch

from blocks.sweep import LocalEngine, Store, Sweep, trained
from blocks.sweep.engine import Began
from blocks.sweep.job import N_THREADS, Done
from blocks.training.fast_model import fast_config
from blocks.training.loop import Training
from blocks.training.recipe import RECIPES
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from blocks.work.queue import Queue
from tests.bench.report import report

N_ROUNDS, N_POINTS = 2, 4


def measure() -> None:
    """One process, one thread: seconds of each point in it and here, in turn; then whose turn."""
    before = torch.get_num_threads()
    torch.set_num_threads(N_THREADS)
    task = TaskConfig(kind=TaskKind.STORIES)
    config = fast_config(build_task(task), n_layers=2, d_model=64)
    recipe = RECIPES["fast"].replace(n_steps=150, n_eval_batches=8)
    base = TrainingSpec(config=config, task=task, recipe=recipe)
    _measure_overhead(base)
    _measure_turns(replace(base, recipe=recipe.replace(n_steps=60)))
    torch.set_num_threads(before)


def _measure_overhead(base: TrainingSpec) -> None:
    with tempfile.TemporaryDirectory() as name:
        store = Store(Path(name))
        engine = LocalEngine(store.unfinished, Path(name), n_at_once=1)
        swept = bare = 0.0
        for seed in range(N_ROUNDS):
            sweep = Sweep(base=base, seeds=(2 * seed, 2 * seed + 1))
            told = trained(sweep, engine, store)
            while not isinstance(next(told).event, Began):
                pass  # the process starts
            began = time.perf_counter()
            n_done = sum(isinstance(each.event, Done) for each in told)
            swept += time.perf_counter() - began
            assert n_done == len(sweep.seeds)
            bare += sum(_bare(point.spec) for point in sweep.points({}))
    found = f"{swept / bare:.3f}  ({swept:.1f} / {bare:.1f} s)"
    report("(t) trainings of a sweep / the same bare", found, "≤ 1.05")


def _measure_turns(base: TrainingSpec) -> None:
    """Two sweeps in one queue, the second begun when the first trains; counted, not timed."""
    ended: list[int] = []
    with tempfile.TemporaryDirectory() as name:
        store, queue = Store(Path(name)), Queue()
        begun = threading.Event()

        def read(reader: int) -> None:
            seeds = tuple(range(reader * N_POINTS, (reader + 1) * N_POINTS))
            engine = LocalEngine(store.unfinished, Path(name), n_at_once=1, queue=queue)
            for told in trained(Sweep(base=base, seeds=seeds), engine, store):
                begun.set()
                if isinstance(told.event, Done):
                    ended.append(-1 if reader else 1)

        readers = [threading.Thread(target=read, args=(i,)) for i in range(2)]
        readers[0].start()
        begun.wait()
        readers[1].start()
        for reader in readers:
            reader.join()
        queue.close()
    lead = max(abs(n) for n in accumulate(ended))
    text = "(u) points by which one of two readers' sweeps is ahead, at most"
    report(text, f"{lead}  ({N_POINTS} each)", "≤ 1")


def _bare(spec: TrainingSpec) -> float:
    training = Training(spec, is_scored=False)
    began = time.perf_counter()
    for _event in training.events():
        pass
    return time.perf_counter() - began

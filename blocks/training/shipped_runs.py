"""Train the finished runs that ship with us, and write them down: `make runs`.

The same processor, thread count and version of PyTorch give the same losses; elsewhere they differ
in the last digits, and so may what is written.
"""

import json
from collections.abc import Iterator

import torch

from blocks.model.presets import PRESETS
from blocks.training import peeking, race
from blocks.training.peeking import learned, learner, peeking_spec
from blocks.training.race import race_spec
from blocks.training.racer import Racer, evaluation
from blocks.training.recorded import FILE, Learned, plain
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskKind

N_THREADS = 1  # sums then do not depend on how many cores there are


def specs() -> Iterator[TrainingSpec]:
    """What is trained: both models of each language, and pre-norm against post-norm."""
    for language in peeking.PROMPTS:
        yield peeking_spec(language, sees_ahead=False)
        yield peeking_spec(language, sees_ahead=True)
    for placement in ("pre", "post"):
        yield race_spec(
            PRESETS["course"], placement, n_layers=12, learning_rate=1e-3, warmup_steps=0, seed=0
        )


def trained(spec: TrainingSpec) -> Learned:
    """One of them, from its first update to its last."""
    if spec.task.kind is TaskKind.STORIES:
        return learned(learner(spec), spec.recipe.n_steps)
    return Learned(Racer(spec, evaluation).losses(race.N_UPDATES))


def main() -> None:
    """Train all, and put them into one file."""
    torch.set_num_threads(N_THREADS)
    rows = [plain(spec, trained(spec)) for spec in specs()]
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()

"""Train the finished runs that ship with us, and write them down: `make runs`.

The same processor, thread count and version of PyTorch give the same losses; elsewhere they differ
in the last digits, and so may what is written.
"""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import torch

from blocks.model.kinds import NormKind
from blocks.model.presets import PRESETS
from blocks.training.peeking import PROMPTS, learned, learner, peeking_spec
from blocks.training.race import DEEP, N_UPDATES, SHALLOW, race_spec
from blocks.training.racer import Racer, evaluation
from blocks.training.recorded import FILE, Learned, plain
from blocks.training.spec import TrainingSpec

N_THREADS = 1  # sums then do not depend on how many cores there are
RACED, RACE_SEEDS = "course", {NormKind.LAYER_NORM: range(5), NormKind.RMS_NORM: range(1)}
DEPTHS_AND_WARMUPS = ((SHALLOW, 0), (8, 0), (DEEP, 0), (DEEP, 30), (DEEP, 60))


def peeking_specs() -> Iterator[TrainingSpec]:
    """A GPT with its mask and one without, in each language."""
    for language in PROMPTS:
        yield peeking_spec(language, sees_ahead=False)
        yield peeking_spec(language, sees_ahead=True)


def race_specs() -> Iterator[TrainingSpec]:
    """The course's block, shallow and deep, with its norm before and after, of several seeds."""
    raced = product(RACE_SEEDS, DEPTHS_AND_WARMUPS, ("pre", "post"))
    for norm_kind, (depth, warmup), placement in raced:
        for seed in RACE_SEEDS[norm_kind]:
            yield race_spec(
                PRESETS[RACED].replace(norm_kind=norm_kind),
                placement,
                n_layers=depth,
                learning_rate=0.001,
                warmup_steps=warmup,
                seed=seed,
            )


def specs() -> tuple[TrainingSpec, ...]:
    """All that are trained."""
    return (*peeking_specs(), *race_specs())


def rows() -> Iterator[dict[str, Any]]:
    """All trainings, one after the other."""
    for spec in peeking_specs():
        yield plain(spec, learned(learner(spec), spec.recipe.n_steps))
    for spec in race_specs():
        yield plain(spec, Learned(Racer(spec, evaluation).losses(N_UPDATES), ()))


def main() -> None:
    """Train all, and put them into one file."""
    torch.set_num_threads(N_THREADS)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(
        json.dumps([*rows()], ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main()

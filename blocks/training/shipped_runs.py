"""Train the finished runs that ship with us, and write them down: `make runs`.

The same processor, thread count and version of PyTorch give the same losses; elsewhere they differ
in the last digits, and so may what is written.
"""

import json
from collections.abc import Iterator

import torch

from blocks.training.peeking import PROMPTS, learned, learner, peeking_spec
from blocks.training.recorded import FILE, plain
from blocks.training.spec import TrainingSpec

N_THREADS = 1  # sums then do not depend on how many cores there are


def specs() -> Iterator[TrainingSpec]:
    """What is trained: a GPT with its mask and one without, in each language."""
    for language in PROMPTS:
        yield peeking_spec(language, sees_ahead=False)
        yield peeking_spec(language, sees_ahead=True)


def main() -> None:
    """Train all, and put them into one file."""
    torch.set_num_threads(N_THREADS)
    rows = [plain(spec, learned(learner(spec), spec.recipe.n_steps)) for spec in specs()]
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(rows, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()

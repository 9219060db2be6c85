"""Train each idea from GPT-2 to a model of today, and write the losses down: `make runs`."""

import json

import torch

from blocks.training.ideas import FILE, trained
from blocks.training.shipped_runs import N_THREADS


def main() -> None:
    """Train all, and put them into one file."""
    torch.set_num_threads(N_THREADS)
    rows = []
    for row in trained():
        print(row["idea"], row["spec"]["seed"], row["held_out_loss"], flush=True)
        rows.append(json.dumps(row, separators=(",", ":")))
    FILE.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf-8")


if __name__ == "__main__":
    main()

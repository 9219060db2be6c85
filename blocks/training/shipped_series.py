"""Train the series that ship with us, or those that are named, and write them down: `make runs`."""

import sys

import torch

from blocks.training import ideas, lengths, staircase
from blocks.training.shipped_runs import N_THREADS

SERIES = {"ideas": ideas.SERIES, "staircase": staircase.SERIES, "lengths": lengths.SERIES}


def main() -> None:
    """Train each model of them from each seed."""
    torch.set_num_threads(N_THREADS)
    for name in sys.argv[1:] or SERIES:
        SERIES[name].write()


if __name__ == "__main__":
    main()

"""How what ships as measured before is made: a row for each shipped model, all in one file."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from blocks.model.shipped import rows_in, write_rows
from blocks.weights.pocket import pocket_names

N_THREADS = 1


def record_models(file: Path, measured: Callable[[str], Any]) -> None:
    """Measure the models that the command line names, or all, and put their rows into the file.

    Each is kept as soon as it is there; None leaves a model out.
    """
    torch.set_num_threads(N_THREADS)
    rows = rows_in(file)
    named = [each for each in sys.argv[1:] if not each.startswith("--")]
    for name in named or pocket_names():
        row = measured(name)
        if row is not None:
            rows[name] = row
            write_rows(file, rows)

"""What is quick and what is not: `make bench`, or a part: `python -m tests.bench training`."""

import argparse
from pathlib import Path

from blocks.model import devices
from tests.bench.report import report_machine

PARTS = (
    *("tensors", "generation", "seq2seq", "training", "depth", "parameters", "text", "reruns"),
    *("real", "browser", "gpu", "scaling", "sweep"),
)

options = argparse.ArgumentParser()
options.add_argument("parts", nargs="*", choices=PARTS, default=PARTS)
options.add_argument("--text", type=Path, help="a text to learn, for the time to a known loss")
chosen = options.parse_args()
devices.prepare_process()  # as many threads as a reader gets
report_machine()

if "tensors" in chosen.parts:
    from tests.bench import tensors

    tensors.measure()
if "generation" in chosen.parts:
    from tests.bench import generation

    generation.measure()
if "seq2seq" in chosen.parts:
    from tests.bench import seq2seq

    seq2seq.measure()
if "training" in chosen.parts:
    from tests.bench import training

    training.measure(chosen.text)
if "depth" in chosen.parts:
    from tests.bench import depth

    depth.measure()
if "parameters" in chosen.parts:
    from tests.bench import parameters

    parameters.measure()
if "text" in chosen.parts:
    from tests.bench import text

    text.measure()
if "reruns" in chosen.parts:
    from tests.bench import reruns

    reruns.measure()
if "real" in chosen.parts:
    from tests.bench import real

    real.measure()
if "browser" in chosen.parts:
    from tests.bench import browser

    browser.measure()
if "gpu" in chosen.parts:
    from tests.bench import gpu

    gpu.measure()
if "scaling" in chosen.parts:
    from tests.bench import scaling

    scaling.measure()
if "sweep" in chosen.parts:
    from tests.bench import sweep

    sweep.measure()

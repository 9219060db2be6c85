"""What ways to attend cost: measured at toy size, and fitted."""

import pandas as pd
import pytest
import torch

from blocks.cost.attention_time import estimate_peak, measure_attention, slopes
from blocks.model.attention_kinds import AttentionKind

SIZES = {"n_heads": 2, "d_head": 16}


def measured(kind: AttentionKind, n: int):
    return measure_attention(kind, n, **SIZES, device="cpu", dtype=torch.float32)


@pytest.mark.parametrize("kind", AttentionKind)
def test_every_kind_is_measured_and_stays_below_its_estimate(kind: AttentionKind):
    found = measured(kind, 256)
    assert found.milliseconds > 0
    assert 0 < found.peak_bytes <= 2 * estimate_peak(kind, 256, **SIZES, itemsize=4)


def test_memory_grows_as_theory_says():
    rows = [measured(kind, n) for kind in AttentionKind for n in (512, 1024, 2048)]
    table = pd.DataFrame(
        [(str(each.kind), each.seq_len, each.peak_bytes) for each in rows],
        columns=["kind", "seq_len", "peak_bytes"],
    )
    found = slopes(table, "peak_bytes")
    theory = {"full": 2, "fused": 1, "window": 1, "strided": 1.5, "linear": 1}
    assert found == pytest.approx(theory, abs=0.15)


def test_a_known_power_is_found():
    n = [8, 16, 32, 64]
    table = pd.DataFrame({"kind": "full", "seq_len": n, "ms": [0.5 * x**1.5 for x in n]})
    one = pd.DataFrame({"kind": ["linear"], "seq_len": [8], "ms": [1.0]})
    assert slopes(pd.concat([table, one]), "ms") == pytest.approx({"full": 1.5})

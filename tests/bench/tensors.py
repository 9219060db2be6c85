"""What the blocks themselves cost: observing them, and counting them."""

import statistics
import time
import tracemalloc
from collections.abc import Callable

import torch

from blocks import PRESETS, ModelConfig, build, count_parameters, devices, record
from blocks.inspection.wiring import wiring
from blocks.masks import causal
from tests.bench.report import report

ROUNDS = 15


def measure() -> None:
    """Print (a) and (d)."""
    for device in devices.available_devices():
        recorded_against_fused(device)
    counting()


def milliseconds(work: Callable[[], object], device: str) -> float:
    """Wall time of one call."""
    devices.synchronize(torch.device(device))
    start = time.perf_counter()
    work()
    devices.synchronize(torch.device(device))
    return 1000 * (time.perf_counter() - start)


def recorded_against_fused(device: str) -> None:
    """All stages and all heads, against the same block unobserved; in turn, pair by pair."""
    config = PRESETS["gpt2-small"].one_block()
    model, mask = build(config, device=device), causal(512, device)
    x = torch.randn(1, 512, config.d_model, device=device)
    keep = {"pattern", *(step.stage for step in wiring(config))}
    pairs = []
    with torch.no_grad():
        for _ in range(ROUNDS):
            fused = milliseconds(lambda: model(x, mask), device)
            pairs.append(
                (milliseconds(lambda: record(model, x, mask=mask, keep=keep), device), fused)
            )
    ratio = statistics.median(a / b for a, b in pairs[2:])
    recorded, fused = (statistics.median(column) for column in zip(*pairs[2:], strict=True))
    name = f"(a) recorded / fused pass, 768/12, 512 tokens, {device}"
    report(name, f"{ratio:.2f}  ({recorded:.1f} / {fused:.1f} ms)", "≤ 1.15")


def counting() -> None:
    """Parameters of a configuration that no machine holds."""
    config = ModelConfig.from_flat({"d_model": 184_320, "n_heads": 1440})
    count_parameters(config)
    times = [milliseconds(lambda: count_parameters(config), "cpu") for _ in range(50)]
    tracemalloc.start()
    total = count_parameters(config)["count"].sum()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    found = f"{statistics.median(times):.2f} ms, {peak / 1024:.0f} KiB"
    report(f"(d) counting {total / 1e9:.0f} billion parameters", found, "< 5 ms, nothing allocated")

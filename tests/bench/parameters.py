"""What counting a model costs, against building it without memory; and looking at its weights."""

import statistics
import time
from collections.abc import Callable

import torch

from blocks import PRESETS, build
from blocks.cost import held
from blocks.cost.device_fit import device_fits
from blocks.cost.fit import inference_memory
from blocks.cost.hardware import HARDWARE
from blocks.cost.parameters import count_parameters, total_parameters
from blocks.cost.peak_memory import peak_memory
from blocks.cost.setup import Setup
from blocks.cost.step import Shape
from blocks.inspection.weight_values import weight_values
from blocks.model import devices
from blocks.model.presets import PUBLISHED_TABLE
from tests.bench.report import report
from tests.bench.tensors import milliseconds
from tests.blocks.published import CONFIGS

ROUNDS = 7
SMALL = ("gpt2-small", "smollm2-135m", "tinyllama-1.1b")
COUNTED = ("gpt2-small", "llama-3-8b", "mixtral-8x7b", "llama-3-405b")


def measure() -> None:
    """Print each ratio, and the weights of GPT-2 small on every device here."""
    for name in COUNTED:
        counted_against_built(name)
    a_trillion()
    where_all_fit()
    for device in devices.available_devices():
        weights_of_gpt2(device)


def where_all_fit() -> None:
    """Thirty models on ten devices: what fits, and how large a batch and how long a text."""
    configs = [*PUBLISHED_TABLE.values()][:27]
    models = [*(each.config for each in configs), *(PRESETS[name] for name in SMALL)]
    budgets = {name: int(0.9 * each.memory) for name, each in [*HARDWARE.items()][:10]}

    def fits() -> None:
        held.holdings.cache_clear()
        for config in models:
            needs = inference_memory(config, Setup())
            list(device_fits(needs, Shape(8192, 16), budgets))

    print(f"{len(models)} models on {len(budgets)} devices: {milliseconds(fits, 'cpu'):.1f} ms")


def counted_against_built(name: str) -> None:
    """The table of formulas, against the modules of `transformers` on the meta device."""
    config = PRESETS[name] if name in PRESETS else PUBLISHED_TABLE[name].config
    kind, theirs = CONFIGS[name]

    def built() -> None:
        with torch.device("meta"):
            model = kind.from_config(theirs)
        model.tie_weights()
        sum(parameter.numel() for parameter in model.parameters())

    ours = median_milliseconds(lambda: count_parameters(config))
    other = median_milliseconds(built)
    found = f"{other / ours:,.0f} ×  ({ours:.2f} / {other:.0f} ms)"
    report(f"(o) counting / building with transformers, {name}", found, "≥ 50 ×")


def a_trillion() -> None:
    """10¹² parameters, the table and the total."""
    config = PUBLISHED_TABLE["llama-3-405b"].config.replace(n_layers=313)
    ours = median_milliseconds(lambda: (count_parameters(config), total_parameters(config)))
    found = f"{ours:.2f} ms"
    report(f"(o) counting {total_parameters(config):,} parameters", found, "≤ 5 ms")


def weights_of_gpt2(device: str) -> None:
    """All weights of GPT-2 small by kind, and what that needs beyond them."""
    model = build(PRESETS["gpt2-small"], device=device)
    with peak_memory(torch.device(device)) as memory:
        weight_values(model)
    times = [milliseconds(lambda: weight_values(model), device) / 1000 for _ in range(3)]
    found = f"{min(times):.2f} s, {memory.peak_bytes / 2**20:.1f} MiB"
    report(f"(o) values of GPT-2 small by kind, {device}", found, "≤ 2 s, ≤ 50 MiB")


def median_milliseconds(work: Callable[[], object]) -> float:
    """The median of some rounds."""
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - begun))
    return statistics.median(times)

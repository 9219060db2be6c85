"""Which number format this device multiplies matrices fast in: a race, once per process."""

from collections.abc import Mapping
from functools import cache

import torch
from torch.nn import functional as F  # noqa: N812

from blocks import devices
from blocks.cost.operands import Operands
from blocks.cost.timing import measure_times

RACERS = ("float32", "bfloat16")
ROWS, D_IN, D_OUT = 768, 128, 512  # twelve rows of 64 tokens, widened: half a step is such products
CLEARLY = 2
"""How many times faster products in two bytes must be: the rest of a step is slower in them."""


@cache
def fast_format(device: str) -> str:
    """The number format to train in here, where nobody asks for another one.

    Measured once per process, in some milliseconds. What it says depends on the device, so whoever
    uses it keeps the answer with the result.
    """
    formats = [name for name in RACERS if name in devices.available_dtypes(device)]
    return faster({name: product_seconds(device, devices.DTYPES[name]) for name in formats})


def faster(seconds: Mapping[str, float]) -> str:
    """bfloat16 where its products are clearly faster than those in float32, else float32."""
    half = seconds.get("bfloat16", float("inf"))
    return "bfloat16" if CLEARLY * half <= seconds["float32"] else "float32"


def product_seconds(device: str, dtype: torch.dtype) -> float:
    """Seconds of one product of matrices, as a small model's feed-forward layer has it."""
    draw = Operands(device, dtype)
    x, weight = draw.tensor(ROWS, D_IN), draw.tensor(D_OUT, D_IN)
    with torch.inference_mode():
        return measure_times(lambda: F.linear(x, weight), device).fast

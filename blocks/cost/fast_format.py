"""Which number format this device multiplies a model's matrices fast in: a race, once for each."""

import math
import time
from collections.abc import Callable, Mapping
from functools import cache, partial

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from blocks.cost.operands import Operands
from blocks.model import devices

RACERS, RACE_SECONDS = ("float32", "bfloat16"), 0.2
SMALL = 768, 128, 128  # tokens of a batch, d_model, d_ff: twelve texts of 64 tokens
CLEARLY = 2
"""How many times faster products in two bytes must be: the rest of a step is slower in them."""


@cache
def fast_format(device: str, product: tuple[int, int, int] = SMALL) -> str:
    """The number format to train in here, where nobody asks for another one.

    Measured once per process for a `product`, (tokens of a batch, d_model, d_ff). What it says
    depends on the device, so whoever uses it keeps the answer with the result. On CUDA it is
    bfloat16 where the card multiplies in it: a race of small
    products would tell how fast they are asked for.
    """
    if torch.device(device).type == "cuda":
        has_products = torch.cuda.is_bf16_supported(including_emulation=False)
        return "bfloat16" if has_products else "float32"
    return faster(product_seconds(device, product))


def faster(seconds: Mapping[str, float]) -> str:
    """bfloat16 where its products are clearly faster, else (or too busy to tell) float32."""
    is_clear = CLEARLY * seconds.get("bfloat16", math.inf) <= seconds["float32"]
    return "bfloat16" if is_clear else "float32"


def product_seconds(device: str, product: tuple[int, int, int] = SMALL) -> dict[str, float]:
    """Seconds of one product of matrices by number format, as a layer of the model has it.

    In turn, and the fastest of each: whatever else the machine does only adds time.
    """
    formats = [name for name in RACERS if name in devices.available_dtypes(device)]
    works = {name: _product(device, devices.DTYPES[name], product) for name in formats}
    for work in works.values():
        _seconds(work, device)  # pays for first times
    best, start = dict.fromkeys(formats, math.inf), time.perf_counter()
    while time.perf_counter() - start < RACE_SECONDS:
        for name, work in works.items():
            best[name] = min(best[name], _seconds(work, device))
    return best


def _product(
    device: str, dtype: torch.dtype, product: tuple[int, int, int]
) -> Callable[[], Tensor]:
    draw, (n_tokens, d_in, d_out) = Operands(device, dtype), product
    return partial(F.linear, draw.tensor(n_tokens, d_in), draw.tensor(d_out, d_in))


def _seconds(work: Callable[[], Tensor], device: str) -> float:
    place = torch.device(device)
    devices.synchronize(place)
    start = time.perf_counter()
    with torch.inference_mode():
        work()
    devices.synchronize(place)
    return time.perf_counter() - start

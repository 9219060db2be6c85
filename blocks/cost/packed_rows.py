"""Whether text is written faster by packed copies of the weights here, and fits beside them."""

from functools import cache, partial

import torch
from torch.nn import functional as F  # noqa: N812

from blocks.cost.memory import run_memory
from blocks.cost.timing import measure_in_rounds
from blocks.model.models import Encoder, EncoderDecoder
from blocks.model.packed_rows import PackedProduct, packed_bytes
from blocks.observe.run import Run

D_OUT, D_IN, ROUNDS = 8192, 2048, 7  # 32 MiB: not from a cache
CLEARLY = 1.1


def can_pack(run: Run, model: Encoder | EncoderDecoder, budget: int) -> bool:
    """Whether text of this run is to be written by packed copies: where they are clearly faster.

    The copies and all that the run needs itself have to fit into `budget` bytes.
    """
    copies = packed_bytes(model)
    return 0 < copies <= budget - run_memory(run).total and is_faster_packed()


@cache
def is_faster_packed() -> bool:
    """Whether a row passes a packed bfloat16 matrix clearly faster: a race, once per process.

    False too where torch has no such kernel, or the processor none for bfloat16.
    """
    try:
        plain, packed = product_seconds()
    except (AttributeError, RuntimeError):
        return False
    return packed * CLEARLY <= plain


@torch.inference_mode()
def product_seconds() -> tuple[float, float]:
    """Seconds of a row times a matrix, plain and packed, in turn."""
    weight = torch.ones(D_OUT, D_IN, dtype=torch.bfloat16)
    row = weight[:1]
    works = [partial(product, row, weight) for product in (F.linear, PackedProduct(weight))]
    plain, packed = measure_in_rounds(works, "cpu", rounds=ROUNDS)
    return plain.fast, packed.fast

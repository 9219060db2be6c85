"""How near one pass came to what the data sheet of its device promises."""

from typing import NamedTuple

from blocks.cost.hardware import Hardware
from blocks.cost.held import looked_up
from blocks.cost.parameters import active_parameters
from blocks.cost.passes import PassKind, operations, total_flops
from blocks.cost.roofline import Bound
from blocks.model.config import ModelConfig
from blocks.model.devices import DTYPES


class SheetShare(NamedTuple):
    """What limits a pass by the sheet, how much of that it reached, and how much there is.

    `rate`: the FLOP/s of the sheet where arithmetic limits it, else its bytes per second.
    """

    bound: Bound
    share: float
    rate: float


def sheet_share(
    config: ModelConfig, sheet: Hardware, *, batch: int, n: int, dtype: str, seconds: float
) -> SheetShare | None:
    """The larger of two shares: of the FLOP/s for all products, of the bandwidth for the weights.

    Weights are read at least once; nothing else is counted, so the share is one from below. None
    where the sheet has no such number format.
    """
    if not (peak := sheet.peak.get(dtype)):
        return None
    flops = total_flops(operations(config, PassKind.FORWARD, n=n, batch=batch))
    n_bytes = (active_parameters(config) - looked_up(config)) * DTYPES[dtype].itemsize
    return max(
        SheetShare(Bound.COMPUTE, flops / peak / seconds, peak),
        SheetShare(Bound.MEMORY, n_bytes / sheet.bandwidth / seconds, sheet.bandwidth),
        key=lambda found: found.share,
    )

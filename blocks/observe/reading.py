"""Numbers that come from a device without making it wait."""

import torch
from torch import Tensor


class Reading:
    """Scalars on their way from the device; read them when the next step is under way.

    On the CPU they are there at once. An accelerator works ahead of us: asking for a number of
    now would wait for all that is queued, so it is copied in the queue, behind a flag.
    """

    def __init__(self, *scalars: Tensor):
        values = torch.stack([scalar.detach().float() for scalar in scalars])
        self._values = values.to("cpu", non_blocking=True)
        self._arrived: torch.Event | None = None
        if values.device.type != "cpu":
            self._arrived = torch.Event(values.device)
            self._arrived.record()

    def read(self) -> list[float]:
        """The numbers, in the order given."""
        if self._arrived is not None:
            self._arrived.synchronize()
        return self._values.tolist()

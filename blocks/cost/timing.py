"""How long a piece of work takes here: warmed up, repeated, with its median and its spread."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import NamedTuple

import torch

from blocks.model import devices

REPEATS, LEAST_REPEATS = 9, 3
LEAST_SECONDS = 2e-3
"""A sample lasts at least as long: shorter ones measure the clock and the call."""
LONGEST_SECONDS = 0.4
MOST_CALLS, WARM_UPS = 500, 3


class Place(NamedTuple):
    """The device and number format of a measurement, and which repeat it is."""

    device: str
    dtype: str
    attempt: int = 1

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return self.torch_dtype.itemsize

    @property
    def torch_dtype(self) -> torch.dtype:
        """The number format as torch names it."""
        return devices.DTYPES[self.dtype]


@dataclass(frozen=True)
class Times:
    """Seconds of one call, one value a sample, in the order in which they were taken."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Half of the samples took longer."""
        return median(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """A quarter of the samples took less than the first, a quarter more than the second."""
        if len(self.seconds) == 1:
            return self.seconds[0], self.seconds[0]
        low, _half, high = quantiles(self.seconds, n=4, method="inclusive")
        return low, high

    @property
    def fast(self) -> float:
        """The second fastest: whatever else the machine does only adds time.

        Not the fastest, which may be an error of the clock.
        """
        return sorted(self.seconds)[min(1, len(self.seconds) - 1)]


def measure_times(
    work: Callable[[], object],
    device: torch.device | str,
    *,
    repeats: int = REPEATS,
    longest: float = LONGEST_SECONDS,
) -> Times:
    """Call `work` until `repeats` samples are there, or (after three) `longest` seconds are over.

    The first call pays for first times; a few more say how many calls make a sample that is long
    enough to be measured. Where one call takes longer than `longest`, it is the only sample. The
    device is waited for around each sample.
    """
    place = torch.device(device)
    _sample(work, place, 1)
    once = _sample(work, place, 1)
    if once > longest:
        return Times((once,))
    if once < LEAST_SECONDS:
        once = min(_sample(work, place, 1) for _ in range(WARM_UPS))
    n_calls = min(MOST_CALLS, math.ceil(LEAST_SECONDS / max(once, 1e-6)))
    seconds: list[float] = []
    while len(seconds) < repeats:
        if len(seconds) >= LEAST_REPEATS and n_calls * sum(seconds) > longest:
            break
        seconds.append(_sample(work, place, n_calls))
    return Times(tuple(seconds))


def measure_in_rounds(
    works: Sequence[Callable[[], object]], device: torch.device | str, *, rounds: int = REPEATS
) -> tuple[Times, ...]:
    """A sample of each, round after round: what slows the machine for a while slows all alike."""
    samples = [
        [measure_times(work, device, repeats=1).seconds[0] for work in works] for _ in range(rounds)
    ]
    return tuple(map(Times, zip(*samples, strict=True)))


def _sample(work: Callable[[], object], device: torch.device, n_calls: int) -> float:
    """Seconds of one call, as the mean of several in a row."""
    devices.synchronize(device)
    start = time.perf_counter()
    for _ in range(n_calls):
        work()
    devices.synchronize(device)
    return (time.perf_counter() - start) / n_calls

"""What this device can do, measured in steps and kept."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from blocks.cost import device_peak as peaks
from blocks.cost.device_peak import Bandwidth, DevicePeak, MatmulRate, Traffic
from blocks.cost.timing import Times
from blocks.model import devices
from pages.ui import cached

GIGA = 1e9


class Place(NamedTuple):
    """Where something is measured, in which number format, and for the how-many-th time."""

    device: str
    dtype: str
    attempt: int


class Speed(NamedTuple):
    """All that was measured of the device."""

    products: tuple[MatmulRate, ...]
    moved: tuple[Bandwidth, ...]
    start: Times | None  # None: stopped before
    load: float

    @property
    def peak(self) -> DevicePeak:
        """The roof that they make."""
        return peaks.device_peak(self.products, self.moved, self.start)


def so_far(found: Sequence[object]) -> Speed:
    """What the steps found before the reader stopped them: no roof yet."""
    return Speed(
        products=tuple(each for each in found if isinstance(each, MatmulRate)),
        moved=tuple(each for each in found if isinstance(each, Bandwidth)),
        start=None,
        load=math.nan,
    )


def steps(place: Place) -> list[Callable[[], object]]:
    """Products of growing squares, arrays of growing size, and the start of an operation."""
    sizes = peaks.matrix_sizes(place.device)
    return [
        *(lambda size=size: product(size, place) for size in sizes),
        *(lambda way=way: traffic(*way, place) for way in peaks.traffics()),
        lambda: start(place),
    ]


def speed(place: Place) -> Speed:
    """What the steps found, once all are done."""
    sizes = peaks.matrix_sizes(place.device)
    products = (product(size, place) for size in sizes)
    return Speed(
        products=tuple(each for each in products if each is not None),
        moved=tuple(traffic(*way, place) for way in peaks.traffics()),
        start=start(place),
        load=load(place),
    )


@lru_cache(maxsize=128)
def product(size: int, place: Place) -> MatmulRate | None:
    """One square; None where a smaller one says that it would take too long."""
    before = [each for each in peaks.matrix_sizes(place.device) if each < size]
    smaller = product(before[-1], place) if before else None
    if before and smaller is None:
        return None
    with cached.turn(place.device):
        dtype = devices.DTYPES[place.dtype]
        return peaks.measure_matmul(size, device=place.device, dtype=dtype, smaller=smaller)


@lru_cache(maxsize=128)
def traffic(way: Traffic, array_bytes: int, place: Place) -> Bandwidth:
    """Bytes moved in one way."""
    with cached.turn(place.device):
        return peaks.measure_bandwidth(way, array_bytes, device=place.device)


@lru_cache(maxsize=32)
def start(place: Place) -> Times:
    """The smallest operation there is."""
    with cached.turn(place.device):
        return peaks.measure_start(device=place.device, dtype=devices.DTYPES[place.dtype])


@lru_cache(maxsize=32)
def load(place: Place) -> float:
    """How busy the machine was then, for each of its CPUs."""
    return peaks.load()


def products_table(found: Speed) -> pd.DataFrame:
    """One row a square: size, gflops."""
    rows = [(each.size, each.flops_per_s / GIGA) for each in found.products]
    return pd.DataFrame(rows, columns=["size", "gflops"])


def moved_table(found: Speed) -> pd.DataFrame:
    """One row a way and size: traffic, mib, gigabytes (a second)."""
    rows = [
        (str(each.traffic), each.array_bytes / peaks.MIB, each.bytes_per_s / GIGA)
        for each in found.moved
    ]
    return pd.DataFrame(rows, columns=["traffic", "mib", "gigabytes"])


def best(found: Speed) -> tuple[float, float] | None:
    """What the roof is made of, in the units of the tables; None before all is measured."""
    if found.start is None:
        return None
    return found.peak.flops_per_s / GIGA, found.peak.bytes_per_s / GIGA

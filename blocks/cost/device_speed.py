"""All that was measured of a device, and the roof that it makes once it is complete."""

from collections.abc import Iterable
from dataclasses import dataclass

from blocks.cost.device_peak import (
    Bandwidth,
    DevicePeak,
    MatmulRate,
    device_peak,
    load,
    matrix_sizes,
)
from blocks.cost.timing import Place, Times


@dataclass(frozen=True)
class DeviceSpeed:
    """Squares and arrays of growing size, and a launch (None: it was stopped before).

    `load`: programs that wanted to compute meanwhile, for each CPU.
    """

    place: Place
    products: tuple[MatmulRate, ...]
    moved: tuple[Bandwidth, ...]
    start: Times | None
    load: float

    @property
    def peak(self) -> DevicePeak | None:
        """The roof; None before all is measured."""
        return device_peak(self.products, self.moved, self.start) if self.start else None

    @property
    def best(self) -> MatmulRate:
        """The fastest product."""
        return max(self.products, key=lambda each: each.flops_per_s)

    @property
    def largest_array(self) -> int:
        """Bytes of the largest array, beyond the caches."""
        return max(each.array_bytes for each in self.moved)

    @property
    def repeats(self) -> int:
        """How often a product was repeated at most."""
        return max(len(each.times.seconds) for each in self.products)

    @property
    def has_all_sizes(self) -> bool:
        """Whether the largest of all squares was quick enough to be tried."""
        return self.products[-1].size >= matrix_sizes(self.place.device)[-1]


def device_speed(place: Place, found: Iterable[object]) -> DeviceSpeed:
    """Sort what the steps of a measurement found, in their order."""
    known = tuple(found)
    return DeviceSpeed(
        place=place,
        products=tuple(each for each in known if isinstance(each, MatmulRate)),
        moved=tuple(each for each in known if isinstance(each, Bandwidth)),
        start=next((each for each in known if isinstance(each, Times)), None),
        load=load(),
    )

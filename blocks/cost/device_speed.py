"""All that was measured of a device, and the roof that it makes once it is complete."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from blocks.cost.device_peak import (
    Bandwidth,
    DevicePeak,
    MatmulRate,
    device_peak,
    load,
    matrix_sizes,
    measure_bandwidth,
    measure_matmul,
    measure_start,
    traffics,
)
from blocks.cost.timing import Place, Times

Speed = MatmulRate | Bandwidth | Times | None


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
        """Most repetitions of a product."""
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


@dataclass(frozen=True)
class SpeedSeries:
    """Products of growing squares, arrays of growing size, and the start of an operation.

    A product is None where a smaller one says that it would take too long.
    """

    place: Place
    is_timed: ClassVar[bool] = True

    @property
    def device(self) -> str:
        """Which is measured."""
        return self.place.device

    @property
    def n_steps(self) -> int:
        """Number of measurements."""
        return len(matrix_sizes(self.device)) + len(traffics()) + 1

    def results(self, done: Sequence[Speed]) -> Iterator[Speed]:
        """Yield the measurements one after the other."""
        sizes, ways = matrix_sizes(self.device), traffics()
        n_moved = max(0, len(done) - len(sizes))
        products = [*done[: len(sizes)]]
        for size in sizes[len(products) :]:
            products.append(self._product(size, products))
            yield products[-1]
        for way, array_bytes in ways[n_moved:]:
            yield measure_bandwidth(way, array_bytes, device=self.device)
        if n_moved <= len(ways):
            yield measure_start(device=self.device, dtype=self.place.torch_dtype)

    def _product(self, size: int, before: Sequence[Speed]) -> MatmulRate | None:
        smaller = before[-1] if before else None
        if before and smaller is None:
            return None
        assert smaller is None or isinstance(smaller, MatmulRate)
        dtype = self.place.torch_dtype
        return measure_matmul(size, device=self.device, dtype=dtype, smaller=smaller)

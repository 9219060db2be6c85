"""Which devices hold a model with what passes through it, and how far each of them goes."""

from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from blocks.cost.decode_speed import decode_step
from blocks.cost.fit import Setup, cache_bytes, chunk_tokens, largest
from blocks.cost.hardware import HARDWARE, told_apart, usable_memories
from blocks.cost.need import need
from blocks.cost.step import Shape
from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind

LONGEST, LARGEST_BATCH = 2**20, 2**16
LENGTHS = tuple(2**i for i in range(6, 21))


class Fits(NamedTuple):
    """What a device has to give, and the largest batch and the longest text that fit into it.

    `best`: new tokens a second that it writes at most, None where that is no question.
    """

    device: str
    usable: int
    needed: int
    batch: int
    n: int
    best: float | None = None

    @property
    def is_enough(self) -> bool:
        """Whether what is asked for fits."""
        return self.needed <= self.usable

    @property
    def share(self) -> float:
        """Share of the usable memory that is taken."""
        return self.needed / self.usable


@dataclass(frozen=True, eq=False)
class FitFacts:
    """Every device, and how the memory on each grows with the length.

    `n_devices` share a model: to train it each has a batch of its own, to use it they have one
    together; of the memory of each the share `usable` may be taken. `here`: the device that is
    called `HERE`; `lines`: devices and memories, told apart; `growth`: n, weights (all that does
    not grow), activations, cache, total; `most_positions`: 0 where the length has no limit;
    `chunk`: tokens of a prompt that are read in one pass, 0 for all.
    """

    is_training: bool
    here: str
    shape: Shape
    n_devices: int
    usable: float
    devices: tuple[Fits, ...]
    lines: tuple[tuple[str, int], ...]
    growth: pd.DataFrame
    twice: int
    has_cache: bool
    most_positions: int
    chunk: int = 0

    def memory(self, device: Fits) -> int:
        """Bytes that a device has, of which a share may be used."""
        return round(device.usable / self.usable)

    @property
    def needed(self) -> int:
        """Bytes on each device."""
        return self.devices[0].needed

    @property
    def parts(self) -> dict[str, float]:
        """Bytes of weights (of all that does not grow), of activations and of the cache."""
        (row,) = self.growth[self.growth["n"] == self.shape.n].to_dict("records")
        return {name: row[name] for name in ("weights", "activations", "cache")}

    @property
    def are_writing(self) -> bool:
        """Whether any of them says how many tokens a second it writes at best."""
        return any(each.best is not None for each in self.devices)

    @property
    def enough(self) -> tuple[Fits, ...]:
        """The devices that have so much."""
        return tuple(each for each in self.devices if each.is_enough)

    @property
    def smallest(self) -> Fits:
        """The device with the least memory among those that suffice."""
        return min(self.enough, key=lambda each: each.usable)

    @property
    def whole_batch(self) -> int:
        """The largest batch of all devices together, of the smallest that suffices."""
        return self.smallest.batch * (self.n_devices if self.is_training else 1)

    @property
    def growth_of_twice(self) -> float:
        """Factor of the memory at twice the length."""
        return self.twice / self.needed


def fit_facts(
    config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, here: str, usable: float
) -> FitFacts:
    """Try each device: whether it is enough, and how far it goes."""

    def total(n: int, batch: int) -> int:
        return need(config, setup, Shape(n, batch), is_training=is_training).total

    budgets = usable_memories(here, usable, setup.n_devices)
    is_learned = config.position.position_kind is PositionKind.LEARNED
    step = None if is_training else decode_step(config, setup, shape)
    return FitFacts(
        is_training=is_training,
        here=here,
        shape=shape,
        n_devices=setup.n_devices,
        usable=usable,
        devices=tuple(
            Fits(
                device,
                budget,
                needed=total(*shape),
                batch=largest(lambda batch: total(shape.n, batch), budget, LARGEST_BATCH),
                n=largest(lambda n: total(n, shape.batch), budget, LONGEST),
                best=step.tokens_per_second(device) if step and device in HARDWARE else None,
            )
            for device, budget in budgets.items()
        ),
        lines=told_apart(budgets),
        growth=growth(config, setup, shape, is_training=is_training),
        twice=total(2 * shape.n, shape.batch),
        has_cache=not is_training and cache_bytes(config, setup.itemsize, batch=1, n=1) > 0,
        most_positions=config.max_seq_len if is_learned else 0,
        chunk=0 if is_training else chunk_tokens(config, setup),
    )


def growth(config: ModelConfig, setup: Setup, shape: Shape, *, is_training: bool) -> pd.DataFrame:
    """Return the bytes at every length, the chosen length among them."""
    rows = []
    for n in sorted({*LENGTHS, shape.n}):
        found = need(config, setup, Shape(n, shape.batch), is_training=is_training)
        rows.append((n, found.state, found.activations, found.cache, found.total))
    table = pd.DataFrame(rows, columns=["n", "weights", "activations", "cache", "total"])
    return table.astype(dict.fromkeys(table.columns[1:], float))

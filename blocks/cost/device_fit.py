"""Which devices hold a model with what passes through it, and how far each of them goes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import pandas as pd

from blocks.cost.fit import Need, chunk_tokens, inference_memory, largest, training_need
from blocks.cost.hardware import told_apart, usable_memories
from blocks.cost.held import held_parts, holdings, is_routed
from blocks.cost.setup import Layout, Setup
from blocks.cost.step import Shape
from blocks.model.config import ModelConfig
from blocks.model.kinds import PositionKind

LONGEST, LARGEST_BATCH = 2**20, 2**16
MOST_SHARING = 1024
LENGTHS = tuple(2**i for i in range(6, 21))


class Fits(NamedTuple):
    """What a device has to give, and the largest batch and the longest text that fit into it."""

    device: str
    usable: int
    needed: int
    batch: int
    n: int

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

    `n_devices` share a model: to train it each has a batch of its own, to use it they divide it as
    the setup lays out; of the memory of each the share `usable` may be taken. `fewest`: of each
    device, as many as hold it by tensor parallelism (a power of two; 0: none of `MOST_SHARING`
    do). `copied`: bytes of weights on each that others of its replica hold too; `cache_copies`: how
    often each number of the cache is there. `here`: the device that is
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
    layout: Layout = Layout()
    fewest: tuple[int, ...] = ()
    copied: int = 0
    cache_copies: float = 1.0

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


Needs = Callable[[int, int], Need]


def fit_facts(
    config: ModelConfig, setup: Setup, shape: Shape, is_training: bool, here: str, usable: float
) -> FitFacts:
    """Try each device: whether it is enough, and how far it goes."""
    needs, layout = _needs(config, setup, is_training=is_training), setup.serves_as
    n_devices = setup.n_devices if is_training else layout.n_devices
    budgets = usable_memories(here, usable, n_devices)
    is_learned = config.position.position_kind is PositionKind.LEARNED
    growth = _growth(needs, shape)
    return FitFacts(
        is_training=is_training,
        here=here,
        shape=shape,
        n_devices=n_devices,
        usable=usable,
        devices=tuple(device_fits(needs, shape, budgets)),
        lines=told_apart(budgets),
        growth=growth,
        twice=needs(shape.batch, 2 * shape.n).total,
        has_cache=bool(growth["cache"].any()),
        most_positions=config.max_seq_len if is_learned else 0,
        chunk=0 if is_training else chunk_tokens(config, setup),
        layout=layout,
        fewest=() if is_training else _fewest(config, setup, shape, budgets),
        copied=0 if is_training else copied_bytes(config, setup),
        cache_copies=1.0
        if config.is_latent
        else layout.share(config.n_kv_heads) * layout.tensor / config.n_kv_heads,
    )


def device_fits(needs: Needs, shape: Shape, budgets: Mapping[str, int]) -> Iterator[Fits]:
    """Try what has so many bytes: `needs` of a batch of texts of n tokens."""
    needed = needs(shape.batch, shape.n).total
    for device, budget in budgets.items():
        batch = largest(lambda batch: needs(batch, shape.n).total, budget, LARGEST_BATCH)
        n = largest(lambda n: needs(shape.batch, n).total, budget, LONGEST)
        yield Fits(device, budget, needed, batch, n)


def _needs(config: ModelConfig, setup: Setup, *, is_training: bool) -> Needs:
    if not is_training:
        return inference_memory(config, setup)
    return lambda batch, n: training_need(config, setup, batch=batch, n=n)


def _fewest(
    config: ModelConfig, setup: Setup, shape: Shape, budgets: Mapping[str, int]
) -> tuple[int, ...]:
    """Devices of each kind that hold it, where they share each layer and nothing else."""
    found = dict.fromkeys(budgets, 0)
    for n in (2**power for power in range(MOST_SHARING.bit_length())):
        own = replace(setup, layout=Layout(tensor=n))
        needed = inference_memory(config, own)(shape.batch, shape.n).total
        for device, budget in budgets.items():
            found[device] = found[device] or (n if needed <= budget else 0)
    return tuple(found.values())


def copied_bytes(config: ModelConfig, setup: Setup) -> int:
    """Bytes of weights on each device beyond its even share of one copy, on the fullest."""
    layout = setup.serves_as
    whole = replace(setup, layout=Layout())
    parts = [(is_routed(part), n_bytes) for part, n_bytes in held_parts(config, whole)]
    ways = {True: max(layout.tensor, layout.expert), False: layout.tensor}
    fair = sum(n_bytes / ways[routed] for routed, n_bytes in parts) / layout.pipeline
    return max(each.weights for each in holdings(config, setup)) - int(fair)


def _growth(needs: Needs, shape: Shape) -> pd.DataFrame:
    """Return the bytes at every length, the chosen length among them."""
    rows = []
    for n in sorted({*LENGTHS, shape.n}):
        found = needs(shape.batch, n)
        rows.append((n, found.state, found.activations, found.cache, found.total))
    table = pd.DataFrame(rows, columns=["n", "weights", "activations", "cache", "total"])
    return table.astype(dict.fromkeys(table.columns[1:], float))

"""What depth shows, measured."""

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pandas as pd

from blocks import Fault, ModelConfig
from blocks.inspection import stack
from blocks.inspection.depth import MEASURES, DepthPass
from blocks.inspection.own_depth import measure_own
from blocks.model import devices
from blocks.model.kinds import Architecture
from blocks.model.models import Encoder
from blocks.model.placements import placed
from blocks.observe.run import PaddingSide, Run
from blocks.text.bpe import MASK
from blocks.training.tasks import IGNORED
from pages.panels.normalization import shared
from pages.ui import cached, starts, tokens
from pages.ui.settings import memory_budget

if TYPE_CHECKING:
    from torch import Tensor


MOST_SEQUENCES = 4


SORTING = ("sorting letters", "sort")


class Depth(NamedTuple):
    """A stack to measure: the run whose layers it has, how deep, how wide, how it is drawn."""

    run: Run
    placement: str
    n_layers: int
    width: int
    initialization: str
    seed: int

    @property
    def config(self) -> ModelConfig:
        """What is built."""
        config = placed(self.run.config, self.placement)
        return stack.stack_config(
            config,
            n_layers=self.n_layers,
            width=self.width,
            initialization=self.initialization,
        )


def depth_fault(depth: Depth) -> Fault | None:
    """What forbids this stack on this machine, with the nearest that fits."""
    batch, seq_len = depth.run.input.shape
    return stack.stack_memory_fault(
        depth.config,
        batch=min(batch, MOST_SEQUENCES),
        seq_len=seq_len,
        dtype=devices.DTYPES[depth.run.dtype],
        budget=memory_budget(),
    )


@lru_cache(maxsize=512)
def depth_pass(depth: Depth) -> DepthPass:
    """One pass forward and back through one stack; the stack is gone afterwards."""
    run = depth.run
    x = _stack_input(run, depth.width)[:MOST_SEQUENCES]
    is_token = run.input.is_token()[:MOST_SEQUENCES]
    mask = run.build_mask()
    if mask is not None and mask.dim() > 2:
        mask = mask[:MOST_SEQUENCES]
    with cached.turn(run.device):
        return shared._guarded(
            stack.measure_stack, depth.config, x, mask, is_token=is_token, seed=depth.seed
        )


def reads_own_stream(run: Run, width: int) -> bool:
    """Whether the stack is as wide as the run, so that it can read what its first layer reads."""
    return width >= run.config.d_model


def _stack_input(run: Run, width: int) -> "Tensor":
    """What enters the run's first layer, or vectors of its words where the stack is narrower."""
    if reads_own_stream(run, width):
        return cached.recording(run).tensor("resid_pre", 0)
    return run.input.vectors(width, run.seed).to(run.device, devices.DTYPES[run.dtype])


@lru_cache(maxsize=64)
def measured_curves(passes: tuple[Depth, ...]) -> pd.DataFrame:
    """Over the seeds: placement, measure, layer, median, least, most; NaN where one has none."""
    frames = [depth_pass(depth).layers.assign(placement=depth.placement) for depth in passes]
    table = pd.concat(frames).melt(["placement", "layer"], list(MEASURES), "measure")
    return over_seeds(table, ["placement", "measure", "layer"])


def over_seeds(table: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Median, least and most of `value`; NaN where any of them is not finite."""
    found = table["value"].where(np.isfinite(table["value"]))
    groups = table.assign(value=found).groupby(by, sort=False)["value"]
    summed = groups.agg(median="median", least="min", most="max", n="count", all="size")
    is_whole = summed.pop("n") == summed.pop("all")
    return summed.where(is_whole).reset_index()


def depths_below(n_layers: int) -> tuple[int, ...]:
    """The depths at which the last gradient is compared: powers of two, and this one."""
    powers = (2**k for k in range(n_layers.bit_length()))
    return tuple(sorted({*powers, n_layers}))


@lru_cache(maxsize=64)
def last_gradients(passes: tuple[Depth, ...]) -> pd.DataFrame:
    """Over the seeds: placement, n_layers, median, least, most of the last matrix's gradient."""
    rows = [(d.placement, d.n_layers, depth_pass(d).last_write_gradient) for d in passes]
    table = pd.DataFrame(rows, columns=["placement", "n_layers", "value"])
    return over_seeds(table, ["placement", "n_layers"])


def slope(table: pd.DataFrame) -> float:
    """k of the power law n_layers^k that fits best; NaN where there are fewer than three depths."""
    kept = table[(table["median"] > 0) & (table["n_layers"] > 1)]
    if len(kept) < 3:
        return float("nan")
    return float(np.polyfit(np.log(kept["n_layers"]), np.log(kept["median"]), 1)[0])


@lru_cache(maxsize=32)
def own_curves(run: Run, targets: tuple[int, ...]) -> pd.DataFrame:
    """Of the trained model and of one with random weights; columns as `curves`."""
    runs = {"trained": run, "random": untrained(run)}
    frames = [own_pass(each, targets).layers.assign(placement=name) for name, each in runs.items()]
    table = pd.concat(frames).melt(["placement", "layer"], list(MEASURES), "measure")
    return over_seeds(table, ["placement", "measure", "layer"])


def untrained(run: Run) -> Run:
    """Replace the weights by random ones from the seed."""
    return replace(run, weights="")


@lru_cache(maxsize=32)
def own_pass(run: Run, targets: tuple[int, ...]) -> DepthPass:
    """The layers of this run's model, on its own loss."""
    model = cast(Encoder, cached.model(run))
    with cached.turn(run.device):
        return shared._guarded(measure_own, run, model, targets)


def own_targets(run: Run) -> tuple[int, ...] | None:
    """What the model should say at each position; None where this text has no right answer."""
    ids = run.input.token_ids
    if run.config.architecture is Architecture.GPT:
        return _padded(run, (*ids[1:], IGNORED)) if len(ids) > 1 else None
    if starts.model(run.weights).card.task in SORTING:
        return _padded(run, tuple(sorted(ids)))
    return _hidden_word(run)


def _hidden_word(run: Run) -> tuple[int, ...] | None:
    """The one token that the page hid from the model, to be found."""
    read, pieces = _without_padding(run), tokens.reading().pieces
    hidden = [i for i, label in enumerate(read) if label == MASK != pieces[i].label]
    if not hidden:
        return None
    found = (piece.token_id if i in hidden else IGNORED for i, piece in enumerate(pieces))
    return _padded(run, tuple(found))


def _without_padding(run: Run) -> tuple[str, ...]:
    is_token = run.input.is_token()[0].tolist()
    return tuple(label for label, kept in zip(run.input.labels, is_token, strict=True) if kept)


def _padded(run: Run, targets: tuple[int, ...]) -> tuple[int, ...]:
    """Nothing is asked of padding."""
    nothing = (IGNORED,) * run.input.n_padding
    is_left = run.input.padding_side is PaddingSide.LEFT
    return nothing + targets if is_left else targets + nothing

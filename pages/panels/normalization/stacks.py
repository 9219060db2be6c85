"""The stacks that are built only to be measured: which, and how far the reader has come."""

from functools import lru_cache, partial
from typing import TYPE_CHECKING

import streamlit as st

from blocks import Fault
from blocks.inspection import depth, stack
from blocks.inspection.depth import DepthPass
from blocks.inspection.stack import DEPTHS, MOST_SEQUENCES, WIDTHS, Stack, StackSeries
from blocks.model.kinds import Initialization
from blocks.model.normalization import at_least_float32
from blocks.model.placements import own_placement, possible_placements
from blocks.observe.run import Run
from pages.panels.normalization import shared
from pages.server import cached
from pages.server.settings import memory_budget
from pages.show.choices import chooses
from pages.show.controls import pick, several, slide, slider
from pages.show.fold import fold
from pages.show.steps import works
from pages.state.link_fields.normalization import joined
from pages.state.values import State
from pages.words.language import _

if TYPE_CHECKING:
    from torch import Tensor

CODE = (depth.measure_depth, stack.measure_stack, stack.random_probe)
Stacks = tuple[Stack, ...]


@lru_cache(maxsize=512)
def depth_pass(wanted: Stack) -> DepthPass:
    """One pass forward and back; made here, unless it was made in another process."""
    if found := works().found(series(wanted)):
        return found[0]
    return shared.in_turn(wanted.run.device, wanted.measure, _stream(wanted))


def series(wanted: Stack) -> StackSeries:
    return StackSeries(wanted, at_least_float32(_stream(wanted)).cpu().numpy())


def _stream(wanted: Stack) -> "Tensor":
    seen = cached.recording(wanted.run)  # takes a turn of its own
    return seen.tensor("resid_pre", 0)[:MOST_SEQUENCES]


def wanted(run: Run, n_layers: int, state: State) -> Stacks:
    """What is to be measured, the reader's own placement first, seed by seed."""
    seeds = range(run.seed, run.seed + state.n_depth_seeds)
    width = min(state.depth_width, run.config.d_model)
    drawn = state.depth_initialization
    return tuple(
        Stack(run, placement, n_layers, width, drawn, seed)
        for seed in seeds
        for placement in shared.chosen_placements(run, state)
    )


def passes(stacks: Stacks) -> list[partial[DepthPass]]:
    return [partial(depth_pass, each) for each in stacks]


def in_other_processes(stacks: Stacks) -> list[partial[StackSeries]]:
    return [partial(series, each) for each in stacks]


def n_bytes(stacks: Stacks) -> int:
    return max(each.n_bytes for each in stacks)


def fault(stacks: Stacks) -> Fault | None:
    return stacks[0].fault(memory_budget(stacks[0].run.device))


def says_how_far(n_done: int, n_wanted: int) -> str:
    """Before the last is measured, how many are; empty after it."""
    if n_done == n_wanted:
        return ""
    return _("Stacks measured so far: {done} of {all}.").format(done=n_done, all=n_wanted)


@chooses("depth", "depth_width", "n_depth_seeds", "depth_initialization", "depth_placements")
def stack_choice(run: Run, state: State) -> None:
    """How deep and wide the stacks are, on one line that opens to change them."""
    text = _("Stacks · n_layers = {n} · seeds: {k} (median)")
    label = text.format(n=state.depth, k=state.n_depth_seeds)
    opened = fold(label, key="stacks", icon=":material/tune:")
    if opened.open:
        with opened:
            _sizes(run, state)
            mine = own_placement(run.config)
            others = tuple(name for name in possible_placements(run.config) if name != mine)
            drawn = [each for each in state.depth_placements.split(",") if each in others]
            several("depth_placements", _("Also show"), others, drawn, write=joined)


def _sizes(run: Run, state: State) -> None:
    left, middle, right, last = st.columns([4, 3, 3, 3])
    with left:
        slide("depth", _("Number of layers"), DEPTHS)
    with middle:
        widest = run.config.d_model
        widths = [*(width for width in WIDTHS if width < widest), widest]
        slide("depth_width", _("Width limit, d_model"), widths, min(state.depth_width, widest))
    with right:
        slider("n_depth_seeds", _("Seeds · median and range"))
    with last:
        pick("depth_initialization", _("Weight initialization"), Initialization)

"""What layers do to the stream, and to the gradient on its way back."""

from collections.abc import Callable
from functools import lru_cache
from statistics import median

import pandas as pd
import torch

from blocks.inspection.depth import DepthPass
from blocks.inspection.permuted import shuffle_facts
from blocks.inspection.ratios import rms as size_of
from blocks.inspection.stack import MOST_SEQUENCES, Stack
from blocks.inspection.wide import SeenLayer, see_layer
from blocks.lessons.place import Place
from blocks.model.kinds import Initialization
from blocks.observe.recording import Recording
from blocks.observe.run import Run

STACK_WIDTH, N_SEEDS, DEEPEST = 128, 3, 64  # of the panel about depth, where nothing is set


def rms(at: Place, *, stage: str, layer: int = 0) -> float:
    """The root mean square of what passes a stage: `resid_post`, `attention_out`, …"""
    return size_of(at.seen.tensor(stage, layer))


def cosine(at: Place, *, stage: str, token: int, other: int, layer: int = 0) -> float:
    """How alike two tokens are at a stage: 1 is the same direction, 0 a right angle."""
    x = at.seen.tensor(stage, layer)[0].float()
    return float(torch.cosine_similarity(x[token], x[other], dim=0))


def gradient_ratio(at: Place, *, placement: str = "pre", depth: int = 16) -> float:
    """The gradient of all parameters of the first of `depth` layers against that of the last.

    Layers like those of the run with Xavier weights, a random class as the target, before any
    training; the median of three seeds, as the panel shows it. `placement`: also none, without
    norms.
    """
    curve = _over_depth(at, "parameter_gradient", placement, int(depth))
    return curve[1] / curve[int(depth)]


def stream_growth(at: Place, *, placement: str = "pre", depth: int = 16) -> float:
    """How large the stream is after the last of `depth` layers against the first, likewise."""
    curve = _over_depth(at, "stream_norm", placement, int(depth))
    return curve[int(depth)] / curve[1]


def tokens_alike(at: Place, *, layer: int, placement: str = "pre", depth: int = 16) -> float:
    """The mean cosine of all pairs of tokens after a layer of such a stack, likewise."""
    return _over_depth(at, "similarity", placement, int(depth))[int(layer)]


def last_gradient(at: Place, *, placement: str = "pre", depth: int = 16) -> float:
    """The gradient of the matrix that writes last in `depth` such layers, likewise.

    Of post-norm it does not depend on depth, of pre-norm it falls as 1/√depth (Xiong et al. 2020,
    theorem 1).
    """
    return median(found.last_write_gradient for found in _passes(at, placement, int(depth)))


def order_matters(at: Place, *, part: str = "attention", layer: int = 0) -> float:
    """How far the output of a part moves with the order of the tokens, in shares of its size.

    The same vectors in another order; outputs are put back into the first order. `part`: attention
    (without a mask), masked (with the mask of the run), feed_forward.
    """
    found = {each.part: each for each in shuffle_facts(_seen_layer(at, layer)).parts}
    each = found["unmasked" if part == "attention" else part]
    return each.difference / each.size


def silent_units(at: Place, *, layer: int = 0) -> float:
    """The share of feed-forward units that fire at no token of this text."""
    return float((_hidden(at, layer) <= 0).all(dim=0).float().mean())


def firing_units(at: Place, *, layer: int = 0) -> float:
    """The share of feed-forward units that fire, on average over the tokens."""
    return float((_hidden(at, layer) > 0).float().mean())


def _seen_layer(at: Place, layer: int) -> SeenLayer:
    return see_layer(at.run, at.model(at.run), at.seen, layer)


def _hidden(at: Place, layer: int) -> torch.Tensor:
    """What the units of a layer gave, (token, unit); of experts, those of the first."""
    return _seen_layer(at, layer).inside[0].hidden


def _over_depth(at: Place, measure: str, placement: str, depth: int) -> dict[int, float]:
    """A measure of `blocks.inspection.depth` by layer, from 1."""
    found = pd.concat(each.layers for each in _passes(at, placement, depth))
    medians = found.groupby("layer")[measure].median()
    return dict(zip(medians.index.astype(int).tolist(), medians.tolist(), strict=True))


def _passes(at: Place, placement: str, depth: int) -> list[DepthPass]:
    """One pass forward and back for each seed."""
    if not 1 <= depth <= DEEPEST:
        raise ValueError(f"depth must be 1 to {DEEPEST}")
    run, drawn = at.run, str(Initialization.XAVIER_UNIFORM)
    width = min(STACK_WIDTH, run.config.d_model)
    seeds = range(run.seed, run.seed + N_SEEDS)
    stacks = (Stack(run, placement, depth, width, drawn, seed) for seed in seeds)
    return [_pass(stack, at.recording) for stack in stacks]


@lru_cache(maxsize=64)
def _pass(stack: Stack, recording: Callable[[Run], Recording]) -> DepthPass:
    return stack.measure(recording(stack.run).tensor("resid_pre", 0)[:MOST_SEQUENCES])

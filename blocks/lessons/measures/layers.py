"""What layers do to the stream, and to the gradient on its way back."""

from functools import lru_cache

import torch

from blocks.inspection.permuted import shuffle_facts
from blocks.inspection.ratios import rms as size_of
from blocks.inspection.stack import Stack
from blocks.inspection.wide import see_layer
from blocks.lessons.place import Place
from blocks.model.kinds import Initialization
from blocks.observe.run import Run

STACK_WIDTH = 64


def rms(at: Place, *, stage: str, layer: int = 0) -> float:
    """The root mean square of what passes a stage: `resid_post`, `attention_out`, …"""
    return size_of(at.seen.tensor(stage, layer))


def cosine(at: Place, *, stage: str, token: int, other: int, layer: int = 0) -> float:
    """How alike two tokens are at a stage: 1 is the same direction, 0 a right angle."""
    x = at.seen.tensor(stage, layer)[0].float()
    return float(torch.cosine_similarity(x[token], x[other], dim=0))


def gradient_ratio(at: Place, *, placement: str = "pre", depth: int = 16) -> float:
    """The gradient of the first of `depth` layers against that of the last, at the start.

    Layers like those of the run on 64 features, random weights, a random class as the target.
    """
    return _gradient_ratio(at.run, placement, int(depth))


def order_matters(at: Place, *, part: str = "attention", layer: int = 0) -> float:
    """How far the output of a part moves with the order of the tokens, in shares of its size.

    The same vectors in another order; outputs are put back into the first order. `part`: attention
    (without a mask), masked (with the mask of the run), feed_forward.
    """
    seen = see_layer(at.run, at.model(at.run), at.seen, layer)
    found = {each.part: each for each in shuffle_facts(seen).parts}
    each = found["unmasked" if part == "attention" else part]
    return each.difference / each.size


def silent_units(at: Place, *, layer: int = 0) -> float:
    """The share of feed-forward units that fire at no token of this text."""
    inside = see_layer(at.run, at.model(at.run), at.seen, layer).inside[0]
    return float((inside.hidden <= 0).all(dim=0).float().mean())


def firing_units(at: Place, *, layer: int = 0) -> float:
    """The share of feed-forward units that fire, on average over the tokens."""
    inside = see_layer(at.run, at.model(at.run), at.seen, layer).inside[0]
    return float((inside.hidden > 0).float().mean())


@lru_cache(maxsize=64)
def _gradient_ratio(run: Run, placement: str, depth: int) -> float:
    stack = Stack(run, placement, depth, STACK_WIDTH, str(Initialization.XAVIER_UNIFORM), run.seed)
    vectors = run.input.vectors(run.config.d_model, run.seed)
    table = stack.measure(vectors).layers.set_index("layer")["parameter_gradient"]
    return float(table[1] / table[depth])

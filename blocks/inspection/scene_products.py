"""The products of a projection that make one number of a scene, by the weights of the model."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from blocks.inspection.head_steps import Products, products
from blocks.inspection.scene import Scene
from blocks.inspection.scene_moves import CROSS, Move, MoveKind
from blocks.model.attention import Attention, join_heads
from blocks.model.feed_forward import FeedForward, GatedFeedForward
from blocks.model.gated_delta import GatedDelta
from blocks.model.gru import GRU
from blocks.model.latent_attention import LatentAttention
from blocks.model.models import Model


@dataclass(frozen=True)
class Projected:
    """x · W of one column, and its bias; `gate`: the same of what decides how much passes.

    What comes of it may still be normed, turned, scaled, or bent by an activation.
    """

    products: Products
    bias: float
    gate: "Projected | None" = None

    @property
    def total(self) -> float:
        """x · W + b."""
        return self.products.total + self.bias


@torch.no_grad()
def projected(
    seen: Scene, model: Model, move: Move, head: int, row: int, column: int
) -> Projected | None:
    """What makes this number, or None where it is no projection; `head`: its own, from 0."""
    layer = _part(model, move)
    if layer is None:
        return None
    if isinstance(layer, FeedForward):
        return _of_feed_forward(seen, layer, move, row, column)
    if isinstance(layer, GRU | GatedDelta):
        name = "state" if isinstance(layer, GRU) else "read"
        x = seen.seen.tensors.get(_start(move) + name)
        is_out = move.kind is MoveKind.JOIN and x is not None
        return _product(x[0, row], layer.out_proj, column) if is_out and x is not None else None
    if isinstance(layer, Attention):
        return _of_attention(seen, layer, move, head, row, column)
    return None


def _start(move: Move) -> str:
    return move.path.removesuffix(move.stage)


def _part(model: Model, move: Move) -> nn.Module | None:
    """The attention or feed-forward module in which the move happens."""
    if move.layer is None:
        return None
    name = str(move.part)
    return getattr(model.get_submodule(_start(move).rstrip(".")), name, None)


def _of_feed_forward(
    seen: Scene, layer: FeedForward, move: Move, row: int, column: int
) -> Projected | None:
    reads = seen.seen.tensors.get(move.reads[0])
    if reads is None:
        return None
    x = reads[0, row]
    if move.kind is MoveKind.NARROW:
        return _product(x, layer.down_proj, column)
    found = _product(x, layer.up_proj, column)
    if not isinstance(layer, GatedFeedForward):
        return found
    return Projected(found.products, found.bias, _product(x, layer.gate_proj, column))


def _of_attention(
    seen: Scene, layer: Attention, move: Move, head: int, row: int, column: int
) -> Projected | None:
    stage = move.stage.removeprefix(CROSS)
    tensors = seen.seen.tensors
    if move.kind is MoveKind.JOIN:
        start = _start(move) + (CROSS if move.stage.startswith(CROSS) else "")
        return _product(join_heads(tensors[f"{start}head_out"][:1])[0, row], layer.out_proj, column)
    if move.kind is not MoveKind.PROJECT or (x := tensors.get(move.reads[0])) is None:
        return None
    x = x.flatten(1, -2) if x.ndim == 4 else x
    width = tensors[move.path].shape[-1]
    if isinstance(layer, LatentAttention) and stage in "kv":
        at = layer.d_head + column if stage == "v" else column
        if stage == "k" and column >= layer.d_head:
            return None  # the rotary key, which is projected beside the latent
        return _product(x[0, row], layer.kv_proj, head * (layer.d_head + layer.d_value) + at)
    return _product(x[0, row], getattr(layer, f"{stage}_proj"), head * width + column)


def _product(x: Tensor, layer: nn.Linear, column: int) -> Projected:
    left, right = (each.detach().cpu().double().numpy() for each in (x, layer.weight[column]))
    bias = 0.0 if layer.bias is None else float(layer.bias[column])
    return Projected(products(left, right, largest_first=True), bias)

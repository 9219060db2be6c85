"""A model of known truth put into random weights: the same answers, and much beside them."""

import torch
from torch import Tensor

from blocks.model.config import ModelConfig
from blocks.model.randomness import generator
from blocks.weights.model_file import ModelFile

Place = tuple[int, int]
N_DIRECTIONS, N_HEADS = 16, 2
LOUD, QUIET = 1.0, 0.05  # what random parts write beside the answer, and what of it is unembedded
READS = ("q_proj", "k_proj", "v_proj")


def planted(file: ModelFile, seed_of: str) -> tuple[ModelFile, dict[Place, Place]]:
    """A model with more directions and heads, random ones, its stream turned, its heads shuffled.

    Random heads read and write directions of their own, and a little of that is unembedded. Also
    returned: where each head of the model stands now.
    """
    config, random = file.config, generator(0, "planted", seed_of)
    width, n_heads = config.d_model + N_DIRECTIONS, config.n_heads + N_HEADS
    wide = config.replace(d_model=width, n_heads=n_heads, d_head=config.d_head, d_ff=config.d_ff)
    turn = torch.linalg.qr(torch.randn(width, width, generator=random))[0]
    moved: dict[Place, Place] = {}
    tensors = {}
    for name in ("embed.weight", "position.weight", "unembed.weight"):
        size = QUIET if name == "unembed.weight" else LOUD
        tensors[name] = _widened(file.tensors[name], random, size) @ turn
    for layer in range(config.n_layers):
        order = torch.randperm(n_heads, generator=random).tolist()
        moved |= {(layer, head): (layer, order.index(head)) for head in range(config.n_heads)}
        tensors |= _layer(file, layer, order, turn, random)
    return ModelFile(wide, file.tokenizer, None, tensors), moved


def _widened(rows: Tensor, random: torch.Generator, size: float) -> Tensor:
    """Rows over the directions of the model, and of others at random."""
    return torch.cat((rows, size * torch.randn(len(rows), N_DIRECTIONS, generator=random)), dim=1)


def _layer(
    file: ModelFile, layer: int, order: list[int], turn: Tensor, random: torch.Generator
) -> dict[str, Tensor]:
    """Attention and feed-forward of a layer, in the turned stream, its heads in a new order."""
    config, at = file.config, f"layers.{layer}."
    found = {}
    for name in (*READS, "out_proj"):
        own = file.tensors[f"{at}attention.{name}.weight"]
        own = own.T if name == "out_proj" else own
        heads = _with_random_heads(own, config, random)[order].flatten(0, 1) @ turn
        found[f"{at}attention.{name}.weight"] = (
            heads.T.contiguous() if name == "out_proj" else heads
        )
    for name, tensor in file.tensors.items():
        if name.startswith(f"{at}feed_forward"):
            if name.endswith("up_proj.weight"):
                tensor = _padded(tensor) @ turn
            elif name.endswith("down_proj.weight"):
                tensor = (_padded(tensor.T) @ turn).T.contiguous()
            elif name.endswith("down_proj.bias"):
                tensor = torch.zeros(len(turn))
            found[name] = tensor
    return found


def _padded(rows: Tensor) -> Tensor:
    return torch.cat((rows, torch.zeros(len(rows), N_DIRECTIONS)), dim=1)


def _with_random_heads(rows: Tensor, config: ModelConfig, random: torch.Generator) -> Tensor:
    """The heads of the model, then those that read and write the other directions alone."""
    own = _padded(rows).unflatten(0, (config.n_heads, config.d_head))
    more = torch.zeros(N_HEADS, config.d_head, own.shape[-1])
    drawn = torch.randn(N_HEADS, config.d_head, N_DIRECTIONS, generator=random)
    more[..., -N_DIRECTIONS:] = drawn / N_DIRECTIONS**0.5
    return torch.cat((own, more))

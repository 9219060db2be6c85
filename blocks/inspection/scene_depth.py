"""What a model would say after each of its layers, at one token, and how far each moves that."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from blocks.inspection.lens import read_off
from blocks.model.models import Encoder
from blocks.observe.recording import Recording


@dataclass(frozen=True, eq=False)
class Depth:
    """After each layer, (n_layers,): the likeliest token and its probability (the logit lens).

    `moved`: the probability that the layer gives to other tokens than the stream before it did,
    half the sum of all differences, from 0 to 1.
    """

    token_id: NDArray[np.int64]
    probability: NDArray[np.float32]
    moved: NDArray[np.float32]


def depth(model: Encoder, seen: Recording, position: int) -> Depth:
    """Read the stream of one token, before and after each layer, as if it were the last."""
    after = [seen.tensor("resid_post", layer) for layer in range(len(model.layers))]
    streams = torch.stack([each[0, position] for each in (seen.tensor("resid_pre", 0), *after)])
    shares = read_off(model, streams[None]).softmax(-1)
    moved = (shares[1:] - shares[:-1]).abs().sum(-1) / 2
    best = shares[1:].max(-1)
    return Depth(best.indices.cpu().numpy(), best.values.cpu().numpy(), moved.cpu().numpy())

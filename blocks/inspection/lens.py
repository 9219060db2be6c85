"""What a model would say if it stopped after each layer (the logit lens)."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.model.models import Encoder
from blocks.observe.recording import Recording


@dataclass(frozen=True, eq=False)
class Lens:
    """For the first sequence, each (n_layers + 1, seq): row 0 is before the first layer.

    `token_id`: the most probable token; `probability`: how probable; `rank`: the place, from 1,
    of the token that the whole model puts first.
    """

    token_id: NDArray[np.int64]
    probability: NDArray[np.float32]
    rank: NDArray[np.int64]


def logit_lens(model: Encoder, seen: Recording) -> Lens:
    """Read the stream after each layer as if it were the last. nostalgebraist 2020.

    `seen` must hold resid_pre of the first layer and resid_post of every layer.
    """
    last = torch.log_softmax(seen.output[0].float(), dim=-1)
    final = last.argmax(dim=-1)
    rows = zip(*(_row(logits, final) for logits in _logits(model, seen)), strict=True)
    return Lens(*(torch.stack(row).cpu().numpy() for row in rows))


def _logits(model: Encoder, seen: Recording) -> list[Tensor]:
    streams = [seen.tensor("resid_pre", 0)]
    streams += [seen.tensor("resid_post", layer) for layer in range(len(model.layers))]
    with torch.no_grad():
        return [model.unembed_logits(model.final_norm(stream[:1]))[0].float() for stream in streams]


def _row(logits: Tensor, final: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    probability, token_id = logits.softmax(dim=-1).max(dim=-1)
    chosen = logits.gather(-1, final[:, None])
    return token_id, probability, (logits > chosen).sum(dim=-1) + 1

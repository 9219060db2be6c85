"""What a model would say if it stopped after each layer (the logit lens)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection.head_facts import Window, window
from blocks.model.models import Encoder
from blocks.observe.recording import Recording
from blocks.observe.run import Run

MOST_ROWS, MOST_COLUMNS = 16, 13


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


@dataclass(frozen=True, eq=False)
class LensFacts:
    """What a run would say after each layer, and the position that is looked at (from 0).

    `label`: what a token id is called.
    """

    run: Run
    lens: Lens
    pinned: int
    label: Callable[[int], str]

    @property
    def answer(self) -> str:
        """What the whole model says at the position."""
        return self.label(int(self.lens.token_id[-1, self.pinned]))

    @property
    def decided(self) -> int:
        """The layer from which on its answer stands first; 0 is before the first layer."""
        is_other = self.lens.rank[:, self.pinned] != 1
        return int(np.flatnonzero(is_other)[-1]) + 1 if is_other.any() else 0

    @property
    def rank_before(self) -> int:
        """The rank of its answer before the first layer, from 1."""
        return int(self.lens.rank[0, self.pinned])

    @property
    def n_layers(self) -> int:
        """How many layers are read, the embedding too."""
        return len(self.lens.rank)

    @property
    def drawn(self) -> Window:
        """The positions that have room, around the one that is looked at."""
        return window(self.lens.rank.shape[1], self.pinned, MOST_ROWS)

    @property
    def layers(self) -> list[int]:
        """The layers that have room, the first and the last among them."""
        n = min(self.n_layers, MOST_COLUMNS)
        return [round(i * (self.n_layers - 1) / max(1, n - 1)) for i in range(n)]

    def cells(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return the part of the lens that is drawn: (position, layer)."""
        return values[self.layers][:, self.drawn.rows].T

    def table(self) -> pd.DataFrame:
        """The whole lens, a row per cell; positions from 1."""
        layer, position = (each.ravel() for each in np.indices(self.lens.rank.shape))
        token_ids = self.lens.token_id.ravel()
        return pd.DataFrame(
            {
                "layer": layer,
                "position": position + 1,
                "token": np.asarray(self.run.input.labels, dtype=object)[position],
                "token_id": token_ids,
                "says": [self.label(int(token_id)) for token_id in token_ids],
                "probability": self.lens.probability.ravel(),
                "rank_of_final_answer": self.lens.rank.ravel(),
            }
        )

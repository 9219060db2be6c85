"""What a model would say if it stopped after each layer (the logit lens)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection.head_facts import Window, window
from blocks.model.models import Encoder
from blocks.observe.recording import Recording
from blocks.observe.run import Run

Number = TypeVar("Number", bound=np.generic)
MOST_ROWS = 16
ROOM, NARROW_ROOM = (13, 7), (4, 1)  # columns, and how many of them are the last layers


@dataclass(frozen=True, eq=False)
class Lens:
    """For the first sequence, each (n_layers + 1, positions): row 0 is before the first layer.

    `token_id`: the most probable token; `probability`: how probable; `rank`: the place, from 1,
    of the token that the whole model puts first.
    """

    token_id: NDArray[np.int64]
    probability: NDArray[np.float32]
    rank: NDArray[np.int64]


def logit_lens(model: Encoder, seen: Recording, positions: slice = slice(None)) -> Lens:
    """Read the stream after each layer as if it were the last. nostalgebraist 2020.

    `seen` must hold resid_pre of the first layer and resid_post of every layer; only the
    `positions` are unembedded.
    """
    final = seen.output[0, positions].argmax(dim=-1)
    logits = _logits(model, seen, positions)
    end = len(model.layers)
    found = (_row(each, final, is_end=i == end) for i, each in enumerate(logits))
    rows = zip(*found, strict=True)
    return Lens(*(torch.stack(row).cpu().numpy() for row in rows))


def _logits(model: Encoder, seen: Recording, positions: slice) -> Iterator[Tensor]:
    """Of one layer after the other: with a large vocabulary not all of them have room."""
    yield read_off(model, seen.tensor("resid_pre", 0)[:1, positions])
    for layer in range(len(model.layers)):
        yield read_off(model, seen.tensor("resid_post", layer)[:1, positions])


def read_off(model: Encoder, stream: Tensor) -> Tensor:
    """What a model would say of a stream, (1, n, d_model), after all layers: (n, vocabulary)."""
    with torch.no_grad():
        return model.unembed_logits(model.final_norm(stream))[0].float()


def _row(logits: Tensor, final: Tensor, *, is_end: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Whoever is as likely as the answer stands before it, but at the end: there it was chosen."""
    probability, token_id = logits.softmax(dim=-1).max(dim=-1)
    chosen = logits.gather(-1, final[:, None])
    ahead = (logits > chosen).sum(dim=-1) + 1 if is_end else (logits >= chosen).sum(dim=-1)
    return token_id, probability, ahead


@dataclass(frozen=True, eq=False)
class LensFacts:
    """What a run would say after each layer, and the position that is looked at (from 0).

    `lens`: of the positions that are drawn; `label`: what a token id is called; `is_narrow`: for a
    phone, where few layers have room; `n_rows`: so many positions have room.
    """

    run: Run
    lens: Lens
    pinned: int
    label: Callable[[int], str]
    is_narrow: bool = False
    n_rows: int = MOST_ROWS

    @staticmethod
    def drawn_of(run: Run, pinned: int, n_rows: int = MOST_ROWS) -> Window:
        """The positions that have room, around the one that is looked at."""
        return window(run.input.shape[1], pinned, n_rows)

    @property
    def drawn(self) -> Window:
        """The positions that have room."""
        return self.drawn_of(self.run, self.pinned, self.n_rows)

    def of_pinned(self, values: NDArray[Number]) -> NDArray[Number]:
        """Of the lens what belongs to the position that is looked at: (n_layers + 1,)."""
        return values[:, self.pinned - self.drawn.first]

    @property
    def answer(self) -> str:
        """What the whole model says at the position."""
        return self.label(int(self.of_pinned(self.lens.token_id)[-1]))

    @property
    def decided(self) -> int:
        """The layer from which on its answer stands first; 0 is before the first layer."""
        is_other = self.of_pinned(self.lens.rank) != 1
        return int(np.flatnonzero(is_other)[-1]) + 1 if is_other.any() else 0

    @property
    def decides_last(self) -> bool:
        """Whether only the last layer puts its answer first."""
        return self.decided == self.n_layers - 1

    @property
    def rank_before(self) -> int:
        """The rank of its answer before the first layer, from 1."""
        return int(self.of_pinned(self.lens.rank)[0])

    @property
    def rise(self) -> tuple[int, int, int] | None:
        """The layer that divides the rank by most, and the rank before and after it; None: none."""
        ranks = self.of_pinned(self.lens.rank)
        layer = int((ranks[:-1] / ranks[1:]).argmax()) + 1
        before, after = int(ranks[layer - 1]), int(ranks[layer])
        return (layer, before, after) if before > after else None

    @property
    def n_layers(self) -> int:
        """How many layers are read, the embedding too."""
        return len(self.lens.rank)

    @property
    def layers(self) -> list[int]:
        """The layers that have room: the last ones, some before them, and the one that decides."""
        n_columns, n_dense = NARROW_ROOM if self.is_narrow else ROOM
        if self.n_layers <= n_columns:
            return list(range(self.n_layers))
        dense = self.n_layers - n_dense
        n = n_columns - n_dense
        some = [round(i * (dense - 1) / (n - 1)) for i in range(n)]
        if self.decided not in some and 0 < self.decided < dense:
            nearest = min(range(1, n), key=lambda i: abs(some[i] - self.decided))
            some[nearest] = self.decided
        return [*some, *range(dense, self.n_layers)]

    def cells(self, values: NDArray[Number]) -> NDArray[Number]:
        """Return the part of the lens that is drawn: (position, layer)."""
        return values[self.layers].T

    @property
    def by_layer(self) -> pd.DataFrame:
        """Every layer at the position that is looked at, with the rank of the final answer."""
        return pd.DataFrame(
            {
                "layer": range(self.n_layers),
                "says": [self.label(int(token)) for token in self.of_pinned(self.lens.token_id)],
                "probability": self.of_pinned(self.lens.probability),
                "rank": self.of_pinned(self.lens.rank),
            }
        )


def lens_table(run: Run, lens: Lens, label: Callable[[int], str]) -> pd.DataFrame:
    """The lens of all positions, a row per cell; positions from 1."""
    layer, position = (each.ravel() for each in np.indices(lens.rank.shape))
    token_ids = lens.token_id.ravel()
    return pd.DataFrame(
        {
            "layer": layer,
            "position": position + 1,
            "token": np.asarray(run.input.labels, dtype=object)[position],
            "token_id": token_ids,
            "says": [label(int(token_id)) for token_id in token_ids],
            "probability": lens.probability.ravel(),
            "rank_of_final_answer": lens.rank.ravel(),
        }
    )

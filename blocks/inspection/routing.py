"""Where a router sends the tokens: who goes to which expert, and who finds no room."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from blocks.model.experts import expert_room
from blocks.observe.recording import Recording


@dataclass(frozen=True, eq=False)
class Routing:
    """Over all tokens of the batch: probs (tokens, n_experts); index, kept, weight (…, n_active).

    `room`: how many tokens an expert takes; 0 where there is no limit.
    """

    probs: NDArray[np.float32]
    index: NDArray[np.int64]
    kept: NDArray[np.bool_]
    weight: NDArray[np.float32]
    room: int


def routing(seen: Recording, layer: int, capacity: float) -> Routing:
    """What the router of a layer decided, brought to the host at once."""
    names = ("router_probs", "expert_index", "expert_kept", "expert_weight")
    found = [seen.tensor(name, layer).flatten(0, -2) for name in names]
    probs, index, kept, weight = (each.double() for each in found)
    table = torch.cat((probs, index, kept, weight), dim=1).cpu().numpy()
    n, k = probs.shape[1], index.shape[1]
    return Routing(
        probs=table[:, :n].astype(np.float32),
        index=table[:, n : n + k].astype(np.int64),
        kept=table[:, n + k : n + 2 * k].astype(bool),
        weight=table[:, n + 2 * k :].astype(np.float32),
        room=expert_room(len(table), n, k, capacity) if capacity else 0,
    )


def load(found: Routing) -> pd.DataFrame:
    """One row an expert: expert, asked (choices that name it), kept, dropped, mean_prob."""
    n = found.probs.shape[1]
    asked = np.bincount(found.index.ravel(), minlength=n)
    kept = np.bincount(found.index[found.kept], minlength=n)
    return pd.DataFrame(
        {
            "expert": range(n),
            "asked": asked,
            "kept": kept,
            "dropped": asked - kept,
            "mean_prob": found.probs.mean(axis=0),
        }
    )


def imbalance(found: Routing) -> float:
    """n · Σ share of choices · mean probability: 1 where all experts are used alike.

    What Switch adds to its loss, Fedus et al. 2021, eq. 4 to 6; shares of all active choices.
    """
    table = load(found)
    share = table["asked"] / table["asked"].sum()
    return float(len(table) * (share * table["mean_prob"]).sum())


def passed_by(found: Routing) -> NDArray[np.bool_]:
    """Which tokens found no room with any of their experts: (tokens,)."""
    return np.asarray(found.kept.sum(axis=1) == 0)

"""What a token really adds: its weight times the size of what is moved."""

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from blocks.inspection.head_steps import AttentionSteps
from blocks.observe.run import Run

SINK_ABOVE, SMALL_BELOW = 0.3, 0.5


@dataclass(frozen=True, eq=False)
class Contribution:
    """What each key adds to what a layer writes at one query.

    `keys`: a row per key: weight (mean over the heads asked for), norm (‖Σ α·v·W_O‖), share (of the
    layer's write, along its direction), value_norm (‖v·W_O‖ before the weight, mean over those
    heads), is_seen. `bias` and `rest`: the share of the output bias, and of what is neither (other
    heads, or a change made inside); all shares together are 1, and 0 where nothing is written.
    `out_norm`: length of the write; `bias_norm`: of the output bias in it.
    """

    keys: pd.DataFrame
    rest: float
    bias: float
    out_norm: float
    bias_norm: float


@dataclass(frozen=True, eq=False)
class ContributionFacts:
    """What attention writes at one query of a run, key by key; `head`: None for all together.

    `apart`: keys that are set apart as sinks, where the query sees others too.
    """

    run: Run
    layer: int
    head: int | None
    query: int
    parts: Contribution
    apart: tuple[int, ...] = ()

    @property
    def ranked(self) -> pd.DataFrame:
        """The keys that are not set apart."""
        return self.parts.keys.drop(index=[*self.apart])

    @property
    def n_seen(self) -> int:
        """Keys that the query may see."""
        return int(self.parts.keys["is_seen"].sum())

    @property
    def heaviest(self) -> int:
        """The key with the largest weight."""
        return int(cast(int, self.ranked["weight"].idxmax()))

    @property
    def longest(self) -> int:
        """The key whose part is the longest."""
        return int(cast(int, self.ranked["norm"].idxmax()))

    @property
    def apart_weight(self) -> float:
        """The weight of the keys that are set apart."""
        return float(self.parts.keys["weight"].iloc[[*self.apart]].sum())

    def weight(self, key: int) -> float:
        """The weight of a key."""
        return float(self.parts.keys["weight"].iloc[key])

    def norm_share(self, key: int) -> float:
        """The length of what a key adds, by the lengths of all keys together."""
        norms = self.ranked["norm"]
        return float(norms[key] / norms.sum())

    @property
    def head_share(self) -> float:
        """The share of all keys together."""
        return float(self.parts.keys["share"].sum())

    def largest(self, most: int) -> pd.DataFrame:
        """The keys of the largest weights or shares, in the order of the text, by number."""
        seen = self.parts.keys[self.parts.keys["is_seen"]]
        sizes = seen[["weight", "share"]].abs().max(axis=1)
        return seen.loc[sorted(sizes.nlargest(most).index)]


@dataclass(frozen=True, eq=False)
class SinkFacts:
    """How much of each head's weight rests on the first token (see `first_token`), all layers.

    `selected`: the layer and head that is looked at.
    """

    heads: pd.DataFrame
    selected: tuple[int, int]
    above: float = SINK_ABOVE
    below: float = SMALL_BELOW

    @property
    def sinks(self) -> pd.DataFrame:
        """The heads that park their attention there, the largest weight first."""
        found = self.heads[self.heads["is_sink"]]
        return found.sort_values("weight", ascending=False)

    @property
    def closest(self) -> pd.DataFrame:
        """The head with the largest weight on the first token, in a row."""
        return self.heads.nlargest(1, "weight")


def contribution(steps: AttentionSteps, query: int, head: int | None = None) -> Contribution:
    """Split what attention writes at a query into keys, of one head or (None) of all together.

    The output of a layer is Σ_heads Σ_keys α·v·W_O + bias, so it can be split without a rest; a
    gate is a factor of v for one query.
    Kobayashi et al. 2020, eq. 4 and 5; the bias of v travels with v, as there.
    """
    heads = slice(None) if head is None else slice(head, head + 1)
    weights, out = steps.pattern[heads, query], steps.out[query]
    v = steps.v if steps.gate is None else steps.gate[:, query, None] * steps.v
    parts = _parts(weights, v[heads], steps.out_weight[heads])  # (key, d_model)
    size = out.norm()
    along = out / size.square() if size > 0 else torch.zeros_like(out)
    shares, bias = parts @ along, steps.out_bias @ along
    whole = (size > 0).to(shares)
    numbers = torch.stack(
        (weights.mean(0), parts.norm(dim=-1), shares, value_norms(steps)[heads].mean(0))
    )
    keys = pd.DataFrame(
        numbers.cpu().double().numpy().T, columns=["weight", "norm", "share", "value_norm"]
    )
    keys["is_seen"] = steps.mask[query].cpu().numpy()
    rest = torch.stack((whole - shares.sum() - bias, bias, size, steps.out_bias.norm()))
    return Contribution(keys, *rest.tolist())


def _parts(weights: Tensor, v: Tensor, out_weight: Tensor) -> Tensor:
    """Σ_heads α·v·W_O for each key: (n_heads, key), (n_heads, key, d_head) to (key, d_model)."""
    weighted = (weights[..., None] * v).transpose(0, 1).flatten(1)  # (key, n_heads · d_head)
    return weighted @ out_weight.flatten(0, 1)


def value_norms(steps: AttentionSteps) -> Tensor:
    """‖v·W_O‖, what each key would write under a weight of 1: (n_heads, key).

    Through W_O·W_Oᵀ, so that nothing of size key · d_model is kept for every head.
    """
    gram = steps.out_weight @ steps.out_weight.mT  # (n_heads, d_head, d_head)
    return torch.einsum("hkd,hde,hke->hk", steps.v, gram, steps.v).clamp(min=0).sqrt()


def first_token(steps: AttentionSteps) -> pd.DataFrame:
    """One row per head: how much of its weight rests on the first token, and what that moves.

    Over the queries after the first that may see it: weight, and even_weight if all keys that a
    query may see had the same. value_ratio: ‖v·W_O‖ of the first token by the mean of the others
    (1 where there is none). is_sink: weight above 0.3 (the threshold of Gu et al. 2024) and
    value_ratio below 0.5: much attention that moves little. Xiao et al. 2023.
    """
    sees = steps.mask[1:, 0]
    n_sees = sees.sum().clamp(min=1)
    weight = (steps.pattern[:, 1:, 0] * sees).sum(-1) / n_sees
    even = (sees / steps.mask[1:].sum(-1).clamp(min=1)).sum() / n_sees
    norms = value_norms(steps)
    others = norms[:, 1:].mean(-1) if norms.shape[1] > 1 else norms[:, 0]
    ratio = torch.where(others > 0, norms[:, 0] / others, torch.ones_like(others))
    table = pd.DataFrame(
        torch.stack((weight, even.expand_as(weight), ratio)).cpu().double().numpy().T,
        columns=["weight", "even_weight", "value_ratio"],
    )
    table.insert(0, "head", np.arange(len(table)))
    table["is_sink"] = (table["weight"] > SINK_ABOVE) & (table["value_ratio"] < SMALL_BELOW)
    return table

"""What each token takes from each token, layer by layer: the contributions of a whole model.

The stream that leaves attention at a token is a sum: its own residual, what attention moves there
from each source token (all heads together), and what comes from no token, as a bias does. A norm
that follows is linear once its statistics are known, so it is split alike. Kobayashi et al. 2021,
section 3 (arXiv:2109.07152); graph and measure, Ferrando and Voita 2024 (arXiv:2403.00824).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from blocks.inspection.head_facts import Window, window
from blocks.inspection.head_steps import out_bias, out_weight, reads
from blocks.model.attention import Attention, repeat_kv
from blocks.model.config import ModelConfig
from blocks.model.kinds import NormPlacement
from blocks.model.models import Model
from blocks.model.normalization import BatchNorm, LayerNorm, Norm, at_least_float32
from blocks.model.probe import Replacement
from blocks.observe.recording import Recording
from blocks.observe.run import Run

Array = NDArray[np.float64]
Split = Callable[[Tensor], Tensor]
AT_ONCE = 2**24  # numbers that are held at a time
MOST_DRAWN = 40


@dataclass(frozen=True, eq=False)
class ContributionGraph:
    """Shares of the stream after attention, for the first sequence; all of a token make 1.

    `sources`: (n_layers, query, key), what attention moved from each source token; `own`:
    (n_layers, query), the residual (and, in a parallel layer, what its feed-forward adds);
    `elsewhere`: (n_layers, query), biases, and whatever was changed inside. A stream of zeros has
    no shares. The feed-forward layers move nothing between tokens.
    """

    sources: Array
    own: Array
    elsewhere: Array

    @property
    def steps(self) -> Array:
        """(n_layers, query, key): all that one layer takes from the layer below, own included."""
        return self.sources + self.own[:, :, None] * np.eye(self.own.shape[1])

    @property
    def kept(self) -> Array:
        """(n_layers, query): what a token takes from itself, its residual and its own value."""
        return np.diagonal(self.steps, axis1=1, axis2=2)

    @property
    def wires(self) -> Array:
        """`sources` between different tokens: (n_layers, query, key)."""
        return self.sources * (1 - np.eye(self.own.shape[1]))

    def gathered(self) -> Array:
        """(n_layers + 1, token): the share that came from other tokens, over all layers below."""
        found = [np.eye(self.own.shape[1])]
        for step in self.steps:
            found.append(step @ found[-1])
        return np.stack([each.sum(1) - each.diagonal() for each in found])

    def routes(self, token: int) -> Array:
        """(n_layers + 1, token): how much of the last stream of `token` passes each place.

        The shares of all layers multiplied along the way and summed over the ways, as the
        attention rollout of Abnar and Zuidema 2020 does.
        """
        found = [np.eye(self.own.shape[1])[token]]
        for step in self.steps[::-1]:
            found.append(found[-1] @ step)
        return np.stack(found[::-1])

    def routed(self, token: int) -> Array:
        """(n_layers, query, key): how much of the last stream of `token` passes each wire."""
        return self.routes(token)[1:, :, None] * self.wires

    def carried(self, least: float) -> float:
        """The share that wires of at least `least` carry of all that tokens take from others."""
        total = self.wires.sum()
        return float(self.wires[self.wires >= least].sum() / total) if total else 0.0

    def frame(self) -> pd.DataFrame:
        """One row a share above 0: layer, token, kind (source, own, elsewhere), source, share."""
        layer, query, key = self.sources.nonzero()
        sources = _rows(layer, query, "source", key, self.sources[layer, query, key])
        layer, query = (places.ravel() for places in np.indices(self.own.shape))
        own = _rows(layer, query, "own", query, self.own.ravel())
        elsewhere = _rows(layer, query, "elsewhere", -1, self.elsewhere.ravel())
        table = pd.concat([sources, own, elsewhere])
        return table[table["share"] > 0].sort_values(["layer", "token"], ignore_index=True)


def _rows(layer: Any, token: Any, kind: str, source: Any, share: Array) -> pd.DataFrame:
    columns = {"layer": layer, "token": token, "kind": kind, "source": source, "share": share}
    return pd.DataFrame(columns)


@dataclass(frozen=True)
class Wire:
    """What a token takes from another in one layer; all counted from 0."""

    layer: int
    reader: int
    source: int
    share: float


@dataclass(frozen=True, eq=False)
class GraphFacts:
    """The graph of a run, and the token whose way is followed; `least`: the thinnest wire."""

    run: Run
    graph: ContributionGraph
    token: int
    least: float = 0.0

    @property
    def labels(self) -> tuple[str, ...]:
        """The tokens."""
        return self.run.input.labels

    @property
    def drawn(self) -> Window:
        """The tokens in the picture: of a long text those around the one that is followed."""
        return window(len(self.labels), self.token, MOST_DRAWN)

    @cached_property
    def origin(self) -> Array:
        """How much of its last stream comes from each token: (token)."""
        return self.graph.routes(self.token)[0]

    @property
    def own(self) -> float:
        """How much of its last stream comes from itself."""
        return float(self.origin[self.token])

    def comes_from(self, most: int) -> list[tuple[int, float]]:
        """The tokens that its last stream comes from, the largest shares first."""
        return [(int(i), float(self.origin[i])) for i in self.origin.argsort()[::-1][:most]]

    @property
    def sources(self) -> list[tuple[int, float]]:
        """The two other tokens with the largest shares above 0."""
        others = [each for each in self.comes_from(3) if each[0] != self.token]
        return [each for each in others if each[1] > 0][:2]

    @property
    def unnamed(self) -> tuple[int, float]:
        """How many tokens beside itself and its `sources` it comes from, and their share."""
        named = {self.token, *(token for token, _share in self.sources)}
        rest = [float(share) for i, share in enumerate(self.origin) if i not in named and share > 0]
        return len(rest), sum(rest)

    @property
    def of_no_token(self) -> float:
        """The share of its last stream that no token has brought: biases, or what was changed."""
        return 1.0 - float(self.origin.sum())

    @property
    def busiest_layer(self) -> int:
        """The layer in which the token takes most from others."""
        return int(self.graph.wires[:, self.token].sum(-1).argmax())

    @property
    def carried(self) -> float:
        """What the wires that are drawn carry of all that tokens take from others."""
        return self.graph.carried(self.least)

    @property
    def n_wires(self) -> int:
        """The wires from the thinnest on."""
        return int((self.graph.wires >= self.least).sum())

    def widest(self, most: int) -> list[Wire]:
        """The widest wires."""
        wires = self.graph.wires
        places = np.argsort(-wires, axis=None, kind="stable")[:most]
        found = zip(*np.unravel_index(places, wires.shape), strict=True)
        widest = [Wire(int(i), int(q), int(k), float(wires[i, q, k])) for i, q, k in found]
        return [wire for wire in widest if wire.share >= max(self.least, 1e-12)]

    def table(self) -> pd.DataFrame:
        """Every share above 0 with the tokens' names; layers and tokens from 1."""
        rows, labels = self.graph.frame(), (*self.labels, "")  # the last: of no token
        return rows.assign(
            layer=rows["layer"] + 1,
            token=rows["token"] + 1,
            source=rows["source"] + 1,
            token_label=rows["token"].map(labels.__getitem__),
            source_label=rows["source"].map(labels.__getitem__),
        )


@torch.no_grad()
def contribution_graph(
    seen: Recording,
    model: Model,
    config: ModelConfig,
    *,
    replace: Mapping[str, Replacement] | None = None,
) -> ContributionGraph:
    """Split the stream after attention in every layer of a recording in evaluation mode.

    A share is how near a part comes to the whole: max(0, ‖y‖₁ − ‖y − part‖₁), divided by the sum
    over the parts of y. Ferrando et al. 2022 (ALTI, arXiv:2203.04212), section 3. `seen` must hold
    the stages and patterns of every layer; `replace` as it was in the run.
    """
    rows = []
    for number, layer in enumerate(model.layers):
        parts = Parts(seen, layer, config, number, replace or {})
        rows.append(torch.cat([_shares(*some) for some in parts]))
    shares = torch.stack(rows).cpu().double().numpy()  # (layer, query, key + 2)
    return ContributionGraph(shares[..., :-2], shares[..., -2], shares[..., -1])


class Parts:
    """The stream after attention of one layer, split; some queries at a time.

    Each item: the parts (query, key + 2, d_model), the last two the token's own and what comes from
    no token; and their sum, the stream itself (query, d_model).
    """

    def __init__(
        self,
        seen: Recording,
        layer: nn.Module,
        config: ModelConfig,
        number: int,
        replace: Mapping[str, Replacement],
    ):
        def stage(name: str) -> Tensor:
            return at_least_float32(seen.tensor(name, number)[0])

        attention: Attention = layer.attention  # type: ignore[assignment]
        x = seen.tensor(reads(config, number), number)[:1]
        v, gate = _values(attention, x), attention.gate(x)
        self.gate = None if gate is None else at_least_float32(gate[0])
        pattern = at_least_float32(seen.pattern(number)[0])
        self.pattern = pattern * self._is_handed_on(attention, pattern, v, number, replace)
        self.v, self.out_weight = v, out_weight(attention)
        self.moved = v @ self.out_weight  # (n_heads, key, d_model)
        self.stream = stage(_stream(config))
        self.own = stage("resid_pre") if config.norm.residual else torch.zeros_like(self.stream)
        self.norm, self.normalized = None, self.stream
        match config.norm.norm_placement, _norm_of_the_write(layer, config):
            case NormPlacement.PARALLEL, _:
                self.own = self.own + stage("feed_forward_out")
            case NormPlacement.POST, Norm() as norm:
                self.norm, self.normalized = norm, stage("attention_sum")
                self.own = linear(norm, self.normalized)(self.own)
            case NormPlacement.SANDWICH | NormPlacement.RES_POST, Norm() as norm:
                self.norm, self.normalized = norm, stage("attention_out")

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        n_at_once = max(1, AT_ONCE // self.moved[0].numel())
        for queries in torch.arange(len(self.stream), device=self.stream.device).split(n_at_once):
            yield self.of(queries), self.stream[queries]

    def of(self, queries: Tensor) -> Tensor:
        """The parts of some queries: (query, key + 2, d_model)."""
        sources = self.sources(queries)
        if self.norm is not None:
            sources = linear(self.norm, self.normalized[queries, None])(sources)
        own, stream = self.own[queries, None], self.stream[queries, None]
        elsewhere = stream - own - sources.sum(1, keepdim=True)
        return torch.cat((sources, own, elsewhere), dim=1)

    def sources(self, queries: Tensor) -> Tensor:
        """What attention moves to some queries from each key: (query, key, d_model)."""
        pattern = self.pattern[:, queries]
        if self.gate is None:
            return torch.einsum("hqk,hkm->qkm", pattern, self.moved)
        gate = self.gate[:, queries].expand(-1, -1, self.v.shape[-1])
        return torch.einsum("hqk,hkd,hqd,hdm->qkm", pattern, self.v, gate, self.out_weight)

    def _is_handed_on(
        self,
        attention: Attention,
        pattern: Tensor,
        v: Tensor,
        number: int,
        replace: Mapping[str, Replacement],
    ) -> Tensor:
        """1 where a head hands on what it read, 0 where that was changed: (n_heads, query, 1)."""
        read = pattern @ v if self.gate is None else self.gate * (pattern @ v)
        written = torch.einsum("hqd,hdm->qm", read, out_weight(attention)) + out_bias(attention)
        heads = _is_left(read, replace.get(f"layers.{number}.head_out"))
        return (heads & _is_left(written, replace.get(f"layers.{number}.attention_out")))[..., None]


def _values(attention: Attention, x: Tensor) -> Tensor:
    """What the heads hand on of the first sequence: (n_heads, key, d_head)."""
    return at_least_float32(repeat_kv(attention.values(x), attention.n_heads)[0])


def _is_left(x: Tensor, change: Replacement | None) -> Tensor:
    """Which vectors of the first sequence a change leaves as they are."""
    left = torch.ones_like(x, dtype=torch.bool) if change is None else change(x[None])[0] == x
    return left.all(-1)


def _stream(config: ModelConfig) -> str:
    """The first stage of the stream that holds what attention wrote."""
    has_own = config.norm.norm_placement is not NormPlacement.PARALLEL and not config.attention_only
    return "resid_mid" if has_own else "resid_post"


def _norm_of_the_write(layer: nn.Module, config: ModelConfig) -> nn.Module | None:
    """What normalises the write of attention, alone (sandwich, res-post) or with the stream."""
    of_write = dict.fromkeys((NormPlacement.SANDWICH, NormPlacement.RES_POST), "out_norm")
    names = {NormPlacement.POST: "norm", **of_write}
    name = names.get(config.norm.norm_placement)
    return getattr(layer.attention_residual, name) if name else None


def linear(norm: nn.Module, x: Tensor) -> Split:
    """What `norm` does to a part of `x`: linear, since the statistics are those of `x`.

    Nothing, where no norm stands in its place. Shifts are left out; they come from no part.
    Kobayashi et al. 2021, section 3.2.
    """
    if not isinstance(norm, Norm):
        return lambda part: part
    weight = 1.0 if norm.scale is None else at_least_float32(norm.scale.detach())
    if isinstance(norm, BatchNorm):
        scale = torch.rsqrt(at_least_float32(norm.running_var) + norm.eps) * weight
        return lambda part: part * scale
    centred = x - x.mean(-1, keepdim=True) if isinstance(norm, LayerNorm) else x
    scale = torch.rsqrt(centred.square().mean(-1, keepdim=True) + norm.eps) * weight
    if isinstance(norm, LayerNorm):
        return lambda part: (part - part.mean(-1, keepdim=True)) * scale
    return lambda part: part * scale


def _shares(parts: Tensor, whole: Tensor) -> Tensor:
    """How near each part comes to the whole, as shares: (query, part)."""
    whole = whole[:, None]
    distance = (whole - parts).abs().sum(-1)
    near = (whole.abs().sum(-1) - distance).clamp(min=0)
    return near / near.sum(-1, keepdim=True).clamp(min=torch.finfo(near.dtype).tiny)

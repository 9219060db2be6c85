"""Where a router sends the tokens: who goes to which expert, and who finds no room."""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.cost.parameters import active_parameters, total_parameters
from blocks.inspection.ratios import flops_per_token, rms
from blocks.inspection.wide import SeenLayer, layer_alone, pass_alone
from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.experts import MixtureOfExperts, expert_room
from blocks.model.parts import ExpertsConfig
from blocks.observe.recording import Recording

DEMO: dict[str, Any] = {"n_experts": 8, "n_active_experts": 2}
MOST_UNITS = 10**6  # of one dense layer that holds those of all experts


@dataclass(frozen=True, eq=False)
class Routing:
    """Over all tokens of the batch: probs (tokens, n_experts); index, kept, weight (…, n_active).

    `room`: how many tokens an expert takes; 0 where there is no limit. `bias`, (n_experts,): what a
    sigmoid router adds to its scores before it chooses.
    """

    probs: NDArray[np.float32]
    index: NDArray[np.int64]
    kept: NDArray[np.bool_]
    weight: NDArray[np.float32]
    room: int
    bias: NDArray[np.float32] | None = None


def routing(seen: Recording, layer: int, capacity: float, bias: Tensor | None = None) -> Routing:
    """What the router of a layer decided, brought to the host at once; `bias`: see `Routing`."""
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
        bias=None if bias is None else bias.detach().float().cpu().numpy(),
    )


def load(found: Routing) -> pd.DataFrame:
    """One row per expert: expert, asked (choices that name it), kept, dropped, mean_prob.

    And bias, where the router has one.
    """
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
            **({} if found.bias is None else {"bias": found.bias}),
        }
    )


def imbalance(found: Routing) -> float:
    """n · Σ share of choices · mean probability: 1 where all experts are used alike.

    What Switch adds to its loss, Fedus et al. 2021, eq. 4 to 6; shares of all active choices.
    Sigmoid scores of a token are brought to the sum 1 (DeepSeek-V3, eq. 19).
    """
    asked = load(found)["asked"]
    probs = found.probs / found.probs.sum(axis=1, keepdims=True)
    return float(len(asked) * (asked / asked.sum() * probs.mean(axis=0)).sum())


def passed_by(found: Routing) -> NDArray[np.bool_]:
    """Which tokens found no room with any of their experts: (tokens,)."""
    return np.asarray(found.kept.sum(axis=1) == 0)


@dataclass(frozen=True, eq=False)
class RoutingFacts:
    """The experts to which a router sends the tokens of a layer, and how full they are.

    `is_own`: the layer has experts; otherwise a random router (`seed`) of some that it might have
    was run on its input. `probs` (token, expert), `choices` and `labels` are of the first sequence;
    all else is over the batch. `choices`: token, expert, rank (from 0), weight (what the expert's
    output is multiplied by), share (probability), is_kept; `load`: see `load`. `token` and `expert`
    are looked at. `choice`: how the router chooses; `shared_share`: RMS of what the shared experts
    write against all that the layer writes, None where there are none.
    """

    is_own: bool
    seed: int | None
    n_active: int
    token: int
    expert: int | None
    labels: tuple[str, ...]
    probs: NDArray[np.float32]
    choices: pd.DataFrame
    load: pd.DataFrame
    room: int
    imbalance: float
    n_dropped: int
    n_passed: int
    choice: ExpertsConfig = ExpertsConfig()
    shared_share: float | None = None

    @property
    def of_token(self) -> pd.DataFrame:
        """The choices of the token that is looked at, the likeliest first."""
        return self.choices[self.choices["token"] == self.token].sort_values("rank")

    @property
    def most_chosen(self) -> int:
        """How often the busiest expert is chosen."""
        return int(self.load["asked"].max())

    @property
    def even_share(self) -> float:
        """How often each expert would be chosen, were all chosen alike."""
        return float(self.load["asked"].mean())


class Layout(NamedTuple):
    """A whole model: its parameters, those that one token uses, FLOPs of a layer for a token."""

    n_experts: int
    n_active: int
    d_ff: int
    total: int
    active: int
    flops: int
    n_shared: int = 0


@dataclass(frozen=True)
class LayoutFacts:
    """A mixture, the same with one dense layer, and one dense layer with the units of all experts.

    The last is None where it would be too large; `config` is that of the mixture.
    """

    config: ModelConfig
    mixture: Layout
    dense: Layout
    wide: Layout | None

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts that can be compared."""
        return (self.mixture, self.dense, *([self.wide] if self.wide else []))

    @property
    def active_share(self) -> float:
        """The share of the mixture's parameters that a token uses."""
        return self.mixture.active / self.mixture.total

    @property
    def growth(self) -> float:
        """How many times the parameters of the dense model the mixture has."""
        return self.mixture.total / self.dense.total

    @property
    def flops_growth(self) -> float:
        """How many times the FLOPs of the dense layer a token takes."""
        return self.mixture.flops / self.dense.flops


def mixture(config: ModelConfig) -> ModelConfig:
    """A configuration with experts: the same, or some in place of its dense layers."""
    return config if config.n_experts > 1 else config.nearest(**DEMO)[0]


def route(seen: SeenLayer) -> Routing:
    """Route the tokens of a layer; a dense layer gets a random router of its seed."""
    run = seen.run
    if run.config.has_experts(seen.layer):
        mixed = cast(MixtureOfExperts, seen.block.get_submodule("feed_forward"))
        capacity = run.config.experts.expert_capacity
        return routing(seen.seen, seen.layer, capacity, mixed.expert_bias)
    dtype = devices.DTYPES[run.dtype]
    config = mixture(run.config).replace(n_dense_layers=0)
    layer = layer_alone(config, seen.layer, seed=run.seed, device=run.device, dtype=dtype)
    return routing(pass_alone(layer, seen.x), seen.layer, 0.0)


def routing_facts(seen: SeenLayer, found: Routing, expert: int, token: int) -> RoutingFacts:
    """What the routes of a layer (see `route`) come to, at a token and over all."""
    run, n = seen.run, seen.run.input.shape[1]
    is_own = run.config.has_experts(seen.layer)
    return RoutingFacts(
        is_own=is_own,
        seed=None if run.weights and is_own else run.seed,
        n_active=found.index.shape[1],
        token=token,
        expert=expert if is_own else None,
        choice=mixture(run.config).experts,
        shared_share=_shared_share(seen),
        labels=run.input.labels,
        probs=found.probs[:n],
        choices=choices(found, n),
        load=load(found),
        room=found.room,
        imbalance=imbalance(found),
        n_dropped=int((~found.kept).sum()),
        n_passed=int(passed_by(found).sum()),
    )


def _shared_share(seen: SeenLayer) -> float | None:
    if not (seen.run.config.n_shared_experts and seen.run.config.has_experts(seen.layer)):
        return None
    return rms(seen.seen.tensor("shared_out", seen.layer)) / rms(seen.feed_forward_out)


def choices(found: Routing, n_tokens: int) -> pd.DataFrame:
    """One row a choice of the first tokens: token, expert, rank, weight, share, is_kept."""
    k = found.index.shape[1]
    token, index = np.repeat(np.arange(n_tokens), k), found.index[:n_tokens].ravel()
    return pd.DataFrame(
        {
            "token": token,
            "expert": index,
            "rank": np.tile(np.arange(k), n_tokens),
            "weight": found.weight[:n_tokens].ravel(),
            "share": found.probs[token, index],
            "is_kept": found.kept[:n_tokens].ravel(),
        }
    )


def layout_facts(config: ModelConfig) -> LayoutFacts:
    """What experts add in parameters and in FLOPs (see `mixture`); exact."""
    config = mixture(config)
    dense = config.replace(n_experts=1, expert_capacity=0.0)
    n_units = (config.n_experts + config.n_shared_experts) * config.d_expert
    return LayoutFacts(
        config=config,
        mixture=layout(config),
        dense=layout(dense),
        wide=layout(dense.replace(d_ff=n_units)) if n_units <= MOST_UNITS else None,
    )


def layout(config: ModelConfig) -> Layout:
    """Parameters and FLOPs of one configuration."""
    return Layout(
        n_experts=config.n_experts,
        n_active=config.n_active_experts,
        d_ff=config.d_ff,
        total=total_parameters(config),
        active=active_parameters(config),
        flops=flops_per_token(config),
        n_shared=config.n_shared_experts,
    )

"""Mixture of experts: several feed-forward layers, and a router that sends each token to a few."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.model.config import ModelConfig
from blocks.model.feed_forward import build_dense, feed_forward_type
from blocks.model.normalization import at_least_float32
from blocks.model.probe import Probe


def build_feed_forward(config: ModelConfig) -> nn.Module:
    """Build the feed-forward sub-layer: one dense layer, or a mixture of experts."""
    return MixtureOfExperts(config) if config.n_experts > 1 else build_dense(config)


def feed_forward_source(config: ModelConfig) -> tuple[type[nn.Module], ...]:
    """Classes of the feed-forward sub-layer."""
    dense = feed_forward_type(config)
    return (MixtureOfExperts, dense) if config.n_experts > 1 else (dense,)


class MixtureOfExperts(nn.Module):
    """Σ weight · expert(x) over the experts that the router chose: (batch, seq, d_model) to same.

    The router is linear without a bias; softmax over all experts, then the weights of the chosen
    ones are brought to the sum 1, as in Mixtral (Jiang et al. 2024, section 2.1). Sparse mixtures:
    Shazeer et al. 2017; one expert a token: Fedus et al. 2021 (Switch).
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.n_active, self.capacity = config.n_active_experts, config.feed_forward.expert_capacity
        self.router = nn.Linear(config.d_model, config.n_experts, bias=False)
        self.experts = nn.ModuleList(build_dense(config) for _ in range(config.n_experts))
        self.router_probs, self.expert_index = Probe("router_probs"), Probe("expert_index")
        self.expert_kept, self.expert_weight = Probe("expert_kept"), Probe("expert_weight")
        for i, expert in enumerate(self.experts):
            _name_probes(expert, i)

    def forward(self, x: Tensor) -> Tensor:
        """Ask the router, let the chosen experts think, add what they say by weight."""
        probs = at_least_float32(self.router(x)).softmax(dim=-1)
        probs = self.router_probs(probs)  # (batch, seq, n_experts)
        index = self.expert_index(probs.topk(self.n_active, dim=-1).indices)
        kept = self.expert_kept(within_capacity(index, probs.shape[-1], self.capacity))
        chosen = probs.gather(-1, index)
        weight = self.expert_weight(chosen / chosen.sum(dim=-1, keepdim=True) * kept)
        return self.mixed(x, index, kept, weight.to(x.dtype))

    def mixed(self, x: Tensor, index: Tensor, kept: Tensor, weight: Tensor) -> Tensor:
        """Each expert reads its own tokens alone; index, kept, weight: (batch, seq, n_active)."""
        tokens, index, weight = x.flatten(0, -2), index.flatten(0, -2), weight.flatten(0, -2)
        out = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            token, choice = torch.where((index == i) & kept.flatten(0, -2))
            said = weight[token, choice, None] * expert(tokens[token])
            out = out.index_add(0, token, said)
        return out.view_as(x)


def expert_room(n_tokens: int, n_experts: int, n_active: int, capacity: float) -> int:
    """How many tokens an expert takes: ⌈capacity · n_active · n_tokens / n_experts⌉.

    Fedus et al. 2021, eq. 3, for any number of active experts.
    """
    return math.ceil(round(capacity * n_active * n_tokens / n_experts, 9))


def within_capacity(index: Tensor, n_experts: int, capacity: float) -> Tensor:
    """Which choices find room with their expert: (batch, seq, n_active), bool.

    First choices are served before second ones, and earlier tokens before later ones, over the
    whole batch (Lepikhin et al. 2020, algorithm 1). A capacity of 0 is no limit.
    """
    if capacity == 0:
        return torch.ones_like(index, dtype=torch.bool)
    choices = index.flatten(0, -2)  # (tokens, n_active)
    room = expert_room(len(choices), n_experts, choices.shape[1], capacity)
    queue = choices.T.flatten()  # all first choices, then all second ones
    place = F.one_hot(queue, n_experts).cumsum(dim=0).gather(1, queue[:, None])
    return (place <= room).view(choices.shape[1], -1).T.reshape(index.shape)


def _name_probes(expert: nn.Module, i: int) -> None:
    """`hidden` becomes `expert_0.hidden`."""
    for module in expert.modules():
        if isinstance(module, Probe):
            module.path = f"expert_{i}.{module.path}"

"""Mixture of experts: several feed-forward layers, and a router that sends each token to a few."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.model.config import ModelConfig
from blocks.model.dropout import updates_statistics
from blocks.model.feed_forward import build_dense, feed_forward_type
from blocks.model.kinds import RouterKind
from blocks.model.normalization import at_least_float32
from blocks.model.probe import Probe

BIAS_SPEED = 0.001  # DeepSeek-V3, section 4.2
LEAST_SUM = 1e-20  # DeepSeek-V3's published code


def build_feed_forward(config: ModelConfig, layer: int) -> nn.Module:
    """Build the feed-forward sub-layer of a layer: dense, or a mixture of experts."""
    return MixtureOfExperts(config) if config.has_experts(layer) else build_dense(config)


def feed_forward_source(config: ModelConfig) -> tuple[type[nn.Module], ...]:
    """Classes of the feed-forward sub-layer."""
    dense = feed_forward_type(config)
    return (MixtureOfExperts, dense) if config.n_experts > 1 else (dense,)


class MixtureOfExperts(nn.Module):
    """shared(x) + Σ weight · expert(x) over the experts that the router chose.

    What the shared ones say may pass a gate: σ(w·x) · shared(x).

    (batch, seq, d_model) to the same. The router is linear, its scores a softmax
    over all experts or the sigmoid of each; the weights of the chosen ones are their scores,
    brought to the sum 1 or not. Sparse mixtures: Shazeer et al. 2017; one expert a token: Fedus et
    al. 2021 (Switch); softmax to the sum 1: Jiang et al. 2024, section 2.1 (Mixtral); shared
    experts: Dai et al. 2024, eq. 9 (DeepSeekMoE); sigmoid: DeepSeek-AI 2024, eq. 12 to 16 (V3).
    """

    expert_bias: Tensor | None

    def __init__(self, config: ModelConfig):
        super().__init__()
        choice, d_expert = config.experts, config.d_expert
        self.n_active_experts, self.expert_capacity = (
            choice.n_active_experts,
            choice.expert_capacity,
        )
        self.n_expert_groups, self.n_active_groups = choice.n_expert_groups, choice.n_active_groups
        self.normalize_top_k, self.routed_scale = choice.normalize_top_k, choice.routed_scale
        self.router = nn.Linear(config.d_model, config.n_experts, bias=choice.router_bias)
        is_balanced = config.experts.router_kind is RouterKind.SIGMOID
        self.register_buffer("expert_bias", torch.empty(config.n_experts) if is_balanced else None)
        self.experts = nn.ModuleList(build_dense(config, d_expert) for _ in range(config.n_experts))
        n_shared = config.n_shared_experts
        self.shared = build_dense(config, n_shared * d_expert) if n_shared else None
        is_gated = config.has_shared_gate
        self.shared_expert_gate = nn.Linear(config.d_model, 1, bias=False) if is_gated else None
        self.router_probs, self.expert_index = Probe("router_probs"), Probe("expert_index")
        self.expert_kept, self.expert_weight = Probe("expert_kept"), Probe("expert_weight")
        self.shared_out = Probe("shared_out")
        for i, expert in enumerate(self.experts):
            _name_probes(expert, f"expert_{i}")
        if self.shared is not None:
            _name_probes(self.shared, "shared_expert")

    def forward(self, x: Tensor) -> Tensor:
        """Ask the router, let the chosen experts think, add what they say by weight."""
        scores = self.router_probs(self.score(x))  # (batch, seq, n_experts)
        index = self.expert_index(self.choose(scores))
        kept = self.expert_kept(within_capacity(index, scores.shape[-1], self.expert_capacity))
        weight = self.expert_weight(self.weigh(scores.gather(-1, index)) * kept)
        routed = self.run_experts(x, index, kept, weight.to(x.dtype))
        return routed if self.shared is None else self.shared_out(self.run_shared(x)) + routed

    def run_shared(self, x: Tensor) -> Tensor:
        """Run the shared experts, and gate their output where there is a gate."""
        assert self.shared is not None
        said: Tensor = self.shared(x)
        if self.shared_expert_gate is not None:
            said = self.shared_expert_gate(x).sigmoid() * said
        return said

    def score(self, x: Tensor) -> Tensor:
        """Score each expert for each token, 0 to 1: (batch, seq, n_experts)."""
        logits = at_least_float32(self.router(x))
        return logits.softmax(dim=-1) if self.expert_bias is None else logits.sigmoid()

    def choose(self, scores: Tensor) -> Tensor:
        """Choose experts: (batch, seq, n_active). The bias decides which, not how much."""
        wanted = scores.detach()
        if self.expert_bias is not None:
            wanted = wanted + self.expert_bias
        if self.n_expert_groups > 1:
            wanted = wanted.masked_fill(~self.in_best_groups(wanted), -torch.inf)
        index = wanted.topk(self.n_active_experts, dim=-1).indices
        if self.expert_bias is not None and updates_statistics():
            self.expert_bias += balancing(index, self.expert_bias)
        return index

    def in_best_groups(self, wanted: Tensor) -> Tensor:
        """Which experts are in the groups that a token may choose from: as `wanted`, bool.

        A group is worth its best expert (DeepSeek-V2, section 2.2.2), or with a sigmoid its best
        two (DeepSeek-V3's published code).
        """
        groups = wanted.unflatten(-1, (self.n_expert_groups, -1))
        n_counted = min(1 if self.expert_bias is None else 2, groups.shape[-1])
        worth = groups.topk(n_counted, dim=-1).values.sum(dim=-1)
        best = worth.topk(self.n_active_groups, dim=-1).indices
        is_best = torch.zeros_like(worth, dtype=torch.bool).scatter(-1, best, True)
        return is_best[..., None].expand_as(groups).flatten(-2)

    def weigh(self, chosen: Tensor) -> Tensor:
        """Weigh each chosen expert by its score: the same shape.

        Scores that are all 0, as sigmoids may be, stay 0.
        """
        if self.normalize_top_k:
            chosen = chosen / chosen.sum(dim=-1, keepdim=True).clamp(min=LEAST_SUM)
        return chosen if self.routed_scale == 1 else self.routed_scale * chosen

    def run_experts(self, x: Tensor, index: Tensor, kept: Tensor, weight: Tensor) -> Tensor:
        """Run each expert on its own tokens; index, kept, weight: (batch, seq, n_active)."""
        tokens, index, weight = x.flatten(0, -2), index.flatten(0, -2), weight.flatten(0, -2)
        out = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            mine = (index == i) & kept.flatten(0, -2)
            token, choice = torch.where(mine)  # as many as there are: the device is waited for
            said = weight[token, choice, None] * expert(tokens[token])
            out = out.index_add(0, token, said)
        return out.view_as(x)


def expert_room(n_tokens: int, n_experts: int, n_active: int, capacity: float) -> int:
    """Return the tokens that an expert takes: ⌈capacity · n_active · n_tokens / n_experts⌉.

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


def balancing(index: Tensor, bias: Tensor) -> Tensor:
    """Return the update of each expert's bias: less for the busy ones, more for the idle.

    Wang et al. 2024, algorithm 1 (auxiliary-loss-free load balancing): of `index`, the choices of
    one batch, only which experts have more than the mean counts.
    """
    load = F.one_hot(index.flatten(), len(bias)).sum(dim=0).to(bias)
    return BIAS_SPEED * (load.mean() - load).sign()


def _name_probes(expert: nn.Module, name: str) -> None:
    """`hidden` becomes `expert_0.hidden`."""
    for module in expert.modules():
        if isinstance(module, Probe):
            module.path = f"{name}.{module.path}"

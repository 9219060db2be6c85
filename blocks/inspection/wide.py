"""What happens inside one feed-forward layer, or inside one expert of it."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from blocks.model.config import ModelConfig
from blocks.model.experts import MixtureOfExperts, build_feed_forward
from blocks.model.initialize import initialize
from blocks.model.probe import Stage, name_probes
from blocks.observe.recording import Recording, record
from blocks.observe.wiring import wiring


@dataclass(frozen=True, eq=False)
class Wide:
    """What the units of one dense layer, or of one expert, did at each token they were given.

    `token`: (n,), which tokens those are, counted through the batch; the rest (n, d_ff): `pre`
    goes into the activation, `gate` and `up` are what a gated layer multiplies (gate: None in
    the others), `hidden` is what comes of it.
    """

    token: Tensor
    pre: Tensor
    up: Tensor
    hidden: Tensor
    gate: Tensor | None = None


def read_by(config: ModelConfig, stage: str, layer: int) -> str:
    """The stage that `stage` of a layer reads: `feed_forward_out`, say, or `attention_out`."""
    return next(step.reads[0] for step in wiring(config, layer) if step.stage == stage)


def layer_alone(
    config: ModelConfig, layer: int, *, seed: int, device: str, dtype: torch.dtype
) -> nn.Module:
    """One feed-forward layer with the weights it would have in the whole model of this seed."""
    with torch.device("meta"):
        wide = build_feed_forward(config)
        place = nn.ModuleDict({str(layer): nn.ModuleDict({"feed_forward": wide})})
        model = nn.ModuleDict({"layers": place})
    model.eval().to(dtype).to_empty(device=device)
    initialize(model, config, seed)
    name_probes(model)
    return wide


def pass_alone(wide: nn.Module, x: Tensor) -> Recording:
    """Run a feed-forward layer on x (batch, seq, d_model), in evaluation, and keep all."""
    out = Stage("feed_forward_out")
    return record(lambda values, _mask: out(wide(values)), x)


def see_dense(seen: Recording, prefix: str = "") -> Wide:
    """What `pass_alone` saw inside a dense layer; with a prefix, inside one expert."""
    found = {path.rpartition(f".{prefix}")[2]: tensor for path, tensor in seen.tensors.items()}
    up, hidden = _flat(found["up"]), _flat(found["hidden"])
    pre = _flat(found["gate_pre"]) if "gate_pre" in found else up
    gate = _flat(found["gate"]) if "gate" in found else None
    token = torch.arange(len(up), device=up.device)
    return Wide(token=token, pre=pre, up=up, hidden=hidden, gate=gate)


def see_expert(seen: Recording, layer: int, expert: int) -> Wide:
    """Read one expert at the tokens routed to it within its capacity."""
    index, kept = seen.tensor("expert_index", layer), seen.tensor("expert_kept", layer)
    token, _choice = torch.where(((index == expert) & kept).flatten(0, -2))
    inside = see_dense(seen, f"expert_{expert}.")
    return Wide(token=token, pre=inside.pre, up=inside.up, hidden=inside.hidden, gate=inside.gate)


def see_all(wide: nn.Module, seen: Recording, layer: int) -> list[Wide]:
    """Every expert, or the one dense layer."""
    if not isinstance(wide, MixtureOfExperts):
        return [see_dense(seen)]
    return [see_expert(seen, layer, i) for i in range(len(wide.experts))]


def _flat(x: Tensor) -> Tensor:
    return x.detach().flatten(0, -2)

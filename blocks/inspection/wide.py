"""What happens inside one feed-forward layer, or inside one expert of it."""

from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from blocks.model.config import ModelConfig
from blocks.model.experts import MixtureOfExperts, build_feed_forward
from blocks.model.initialize import initialize
from blocks.model.kinds import NormPlacement
from blocks.model.probe import Stage, name_probes
from blocks.observe.recording import Recording, record
from blocks.observe.run import Run
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


class Place(NamedTuple):
    """Where numbers come from: layer and expert (None: the layer is dense), counted from 0.

    `n_tokens` of the batch went through it; `seed`: of its random weights, None where they were
    learned.
    """

    layer: int
    expert: int | None
    n_tokens: int
    seed: int | None


@dataclass(frozen=True, eq=False)
class SeenLayer:
    """One layer of a run, and what happened inside its feed-forward part.

    All tensors are (batch, seq, d_model): `x` is the input of the feed-forward part, `attention_x`
    that of attention, `feed_forward_out` the output of the former, `stream` what the
    feed-forward part adds to.
    `inside`: every expert, or the one dense layer.
    """

    run: Run
    layer: int
    block: nn.Module
    x: Tensor
    attention_x: Tensor
    feed_forward_out: Tensor
    stream: Tensor
    seen: Recording
    inside: tuple[Wide, ...]

    def place(self, expert: int = 0) -> Place:
        """Where the numbers of an expert, or of the dense layer, come from."""
        run, n_tokens = self.run, len(self.inside[expert].token)
        is_dense = not run.config.has_experts(self.layer)
        seed = None if run.weights else run.seed
        return Place(self.layer, None if is_dense else expert, n_tokens, seed)

    def given(self, expert: int = 0) -> tuple[int, ...]:
        """The tokens of the first sequence that were sent to it, counted from 0."""
        found = self.inside[expert].token.cpu().numpy()
        return tuple(found[found < self.run.input.shape[1]].tolist())


def see_layer(run: Run, model: nn.Module, seen: Recording, layer: int) -> SeenLayer:
    """Run the feed-forward part of a layer on what it read in `seen`, the recording of `run`."""
    block = cast(nn.ModuleList, model.layers)[layer]
    x = seen.tensor(read_by(run.config, "feed_forward_out", layer), layer)
    module = block.get_submodule("feed_forward")
    passed = pass_alone(module, x)
    is_parallel = run.config.norm.norm_placement is NormPlacement.PARALLEL
    return SeenLayer(
        run=run,
        layer=layer,
        block=block,
        x=x,
        attention_x=seen.tensor(read_by(run.config, "attention_out", layer), layer),
        feed_forward_out=seen.tensor("feed_forward_out", layer),
        stream=seen.tensor("resid_pre" if is_parallel else "resid_mid", layer),
        seen=passed,
        inside=tuple(see_all(module, passed, layer)),
    )


def read_by(config: ModelConfig, stage: str, layer: int) -> str:
    """The stage that `stage` of a layer reads: `feed_forward_out`, say, or `attention_out`.

    Raises `KeyError` where the layer has no such stage.
    """
    return {step.stage: step for step in wiring(config, layer)}[stage].reads[0]


def layer_alone(
    config: ModelConfig, layer: int, *, seed: int, device: str, dtype: torch.dtype
) -> nn.Module:
    """One feed-forward layer with the weights it would have in the whole model of this seed."""
    with torch.device("meta"):
        wide = build_feed_forward(config, layer)
        place = nn.ModuleDict({str(layer): nn.ModuleDict({"feed_forward": wide})})
        model = nn.ModuleDict({"layers": place})
    initialize(model.eval(), config, seed, device=device, dtype=dtype)
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

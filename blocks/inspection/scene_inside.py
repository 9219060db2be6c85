"""What happens inside parts that pass no probe: experts, and layers that carry a state.

Each is worked out of what was recorded by the module of the run itself, and named by how the paths
of its layer begin:

    experts         what each expert's output is multiplied by: (1, seq, n_experts)
    expert_hidden   hidden features of the experts that a token is sent to, the first choice first:
                    (1, seq, n_active · features), as many of each as are drawn
    state           of a GRU, after each token: (1, seq, d_model)
    stays, writes   α and β of a gated delta rule: (1, seq, n_heads)
    state_size      √Σ S² of the matrix S of each head, after each token: (1, seq, n_heads)
    read            what queries read from S, after norm and gate, heads side by side: (1, seq, …)
"""

from collections.abc import Collection, Iterator

import torch
from torch import Tensor, nn

from blocks.inspection.scene_layers import sent_to
from blocks.model.attention import join_heads
from blocks.model.gated_delta import GatedDelta, delta_step
from blocks.model.gru import GRU
from blocks.model.models import Model
from blocks.model.normalization import at_least_float32
from blocks.observe.recording import Recording
from blocks.observe.run import Run
from blocks.observe.wiring import PartKind, wiring

MOST_OF_EXPERTS = 256  # hidden features that are drawn, of all experts of a token


@torch.no_grad()
def inside(
    run: Run, model: Model, seen: Recording, opened: Collection[str]
) -> Iterator[tuple[str, Tensor]]:
    """All of the layers that are opened, by path."""
    for start in sorted(opened):
        if f"{start}expert_weight" in seen.tensors:
            yield f"{start}experts", sent_to(seen, start)[None]
            yield f"{start}expert_hidden", _of_experts(run, seen, start)
        mixer = getattr(model.get_submodule(start.rstrip(".")), "attention", None)
        if isinstance(mixer, GRU | GatedDelta):
            x = seen.tensors[start + _reads(run, start)][:1]
            for name, found in (_gru if isinstance(mixer, GRU) else _delta)(mixer, x):
                yield start + name, found
        if isinstance(mixer, GatedDelta):
            yield f"{start}read", join_heads(seen.tensors[f"{start}head_out"][:1])


def _reads(run: Run, start: str) -> str:
    """The stage that attention reads, or what stands in its place."""
    layer = int(start.rstrip(".").rpartition(".")[2])
    return next(s.reads[0] for s in wiring(run.config, layer) if s.part is PartKind.ATTENTION)


def _of_experts(run: Run, seen: Recording, start: str) -> Tensor:
    """Side by side those of each choice; 0 where an expert had no room."""
    every = (seen.tensors[start + name] for name in ("expert_index", "expert_kept"))
    index, kept = (each.flatten(0, -2) for each in every)
    n_active = index.shape[-1]
    width = min(run.config.d_expert, max(1, MOST_OF_EXPERTS // n_active))
    found = torch.zeros(len(index), n_active, width, device=index.device)
    for expert in range(run.config.n_experts):
        hidden = seen.tensors.get(f"{start}expert_{expert}.hidden")
        token, choice = torch.where((index == expert) & kept)
        if hidden is not None and len(token):
            found[token, choice] = at_least_float32(hidden[:, :width])
    return found[: run.input.shape[1]].flatten(1)[None]


def _gru(mixer: nn.Module, x: Tensor) -> Iterator[tuple[str, Tensor]]:
    assert isinstance(mixer, GRU)
    yield "state", mixer.states(mixer.input_proj(x), x.new_zeros(x[:, 0].shape))


def _delta(mixer: nn.Module, x: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Token by token, as the rule is written."""
    assert isinstance(mixer, GatedDelta)
    stays, writes, sizes, _read = delta_states(mixer, x)
    yield from (("stays", stays), ("writes", writes), ("state_size", sizes))


def delta_states(mixer: GatedDelta, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """α, β and the size of S, (1, seq, n_heads) each, and what is read: (1, n_heads, seq, d)."""
    made = torch.cat((mixer.q_proj(x), mixer.k_proj(x), mixer.v_proj(x)), dim=-1).mT
    before, state = mixer.begin(made)
    q, k, v = map(at_least_float32, mixer.convolve(torch.cat((before, made), dim=-1)))
    decay, write = mixer.decay(x), at_least_float32(mixer.write_proj(x).sigmoid().mT)
    sizes, read = [], []
    for i in range(x.shape[1]):
        at = slice(i, i + 1)
        out, state = delta_step(
            q[:, :, at], k[:, :, at], v[:, :, at], decay[..., at], write[..., at], state
        )
        sizes.append(state.flatten(2).norm(dim=-1))
        read.append(out)
    return decay.exp().mT, write.mT, torch.stack(sizes, dim=1), torch.cat(read, dim=2)

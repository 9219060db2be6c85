"""A gated delta rule in the place of attention: each head writes into a matrix, and reads it."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.model.attention import join_heads, repeat_kv, split_heads
from blocks.model.config import CONV_WIDTH, ModelConfig
from blocks.model.kv_cache import StateCache
from blocks.model.masks import causal
from blocks.model.multiplier import times
from blocks.model.normalization import RMSNorm, at_least_float32
from blocks.model.probe import Probe

CHUNK = 64  # tokens that are worked out at once


class GatedDelta(nn.Module):
    """S = α·S + β·kᵀ(v − k·α·S) in each head, out = q·S: the value under a key is replaced.

    (batch, seq, d_model) to the same. S is d_head × d_head and begins at 0; α (how much stays) and
    β (how much is written) are numbers of each token and head. Yang et al. 2024 (Gated Delta
    Networks), eq. 10 and section 3.4: q, k, v pass a short convolution and SiLU, q and k are of
    length 1, what is read passes a norm and a gate. As in Qwen3-Next, queries are divided by
    √d_head; there some heads share their queries and keys.
    """

    def __init__(self, config: ModelConfig, layer: int = 0):
        super().__init__()
        d_model, d_conv, n_heads = config.d_model, config.d_conv, config.n_state_heads
        bias = config.attention.attention_bias
        self.n_heads, self.n_key_heads, self.d_head = n_heads, config.n_key_heads, config.d_state
        width, self.d_key = n_heads * self.d_head, self.n_key_heads * self.d_head
        self.q_proj = nn.Linear(d_model, self.d_key, bias=bias)
        self.k_proj = nn.Linear(d_model, self.d_key, bias=bias)
        self.v_proj = nn.Linear(d_model, width, bias=bias)
        self.conv = nn.Conv1d(d_conv, d_conv, CONV_WIDTH, groups=d_conv, bias=False)
        self.write_proj = nn.Linear(d_model, n_heads, bias=False)
        self.decay_proj = nn.Linear(d_model, n_heads, bias=False)
        self.decay_rate = nn.Parameter(torch.empty(n_heads))  # its logarithm, A_log elsewhere
        self.decay_bias = nn.Parameter(torch.empty(n_heads))
        self.out_gate_proj = nn.Linear(d_model, width, bias=bias)
        self.head_norm = RMSNorm(self.d_head, config.norm.norm_eps, Probe("head_norm"))
        self.multiplier = config.scales.residual_multiplier
        self.out_proj = nn.Linear(width, d_model, bias=config.out_bias)
        self.head_out = Probe("head_out")

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: StateCache | None = None
    ) -> Tensor:
        """Write and read token by token, or in chunks; no `mask` is needed, nor read."""
        made = torch.cat((self.q_proj(x), self.k_proj(x), self.v_proj(x)), dim=-1).mT
        before, state = self.begin(made)
        if past is not None and past.state:
            before, state = past.state
        made = torch.cat((before, made), dim=-1)
        q, k, v = self.convolve(made)
        read, state = delta_rule(q, k, v, self.decay(x), self.write_proj(x).sigmoid().mT, state)
        if past is not None:
            past.keep((made[..., 1 - CONV_WIDTH :], state), x.shape[1])
        gate = split_heads(F.silu(self.out_gate_proj(x)), self.n_heads)
        head_out = self.head_out(gate * self.head_norm(read.to(x.dtype)))
        return times(self.out_proj(join_heads(head_out)), self.multiplier)

    def begin(self, made: Tensor) -> tuple[Tensor, Tensor]:
        """Return the state before the first token: zeros before the convolution, and in S."""
        before = made.new_zeros(*made.shape[:2], CONV_WIDTH - 1)
        square = len(made), self.n_heads, self.d_head, self.d_head
        return before, at_least_float32(made).new_zeros(square)

    def convolve(self, made: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Convolve to queries, keys, values: each (batch, n_heads, seq, d_head).

        Queries have the length 1 / √d_head, keys the length 1; heads may share them.
        """
        q, k, v = F.silu(self.conv(made)).mT.tensor_split((self.d_key, 2 * self.d_key), dim=-1)
        q, k = (of_length_1(split_heads(each, self.n_key_heads)) for each in (q, k))
        q, k = (repeat_kv(each, self.n_heads) for each in (q, k))
        return q * self.d_head**-0.5, k, split_heads(v, self.n_heads)

    def decay(self, x: Tensor) -> Tensor:
        """log α = −exp(rate)·softplus(W·x + bias), below 0: (batch, n_heads, seq)."""
        rate = at_least_float32(self.decay_rate).exp()
        return -(rate * F.softplus(at_least_float32(self.decay_proj(x)) + self.decay_bias)).mT


def of_length_1(x: Tensor) -> Tensor:
    """x / √(Σ x² + 10⁻⁶) over the last axis: any shape, the same out."""
    length = at_least_float32(x).square().sum(dim=-1, keepdim=True)
    return (x * torch.rsqrt(length + 1e-6)).to(x.dtype)


def delta_rule(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, write: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """Read the state at each token, as v, and return the last state, in float32 at least.

    q, k, v are (batch, n_heads, seq, d_head); decay (log α) and write (β) (batch, n_heads, seq);
    the state is (batch, n_heads, d_head, d_head), a row for each feature of a key.
    """
    q, k, v, decay, write = (
        at_least_float32(each).contiguous() for each in (q, k, v, decay, write)
    )
    if q.shape[2] == 1:
        return delta_step(q, k, v, decay, write, state)
    read = []
    chunks = (each.split(CHUNK, dim=2) for each in (q, k, v, decay, write))
    for of_q, of_k, of_v, of_decay, of_write in zip(*chunks, strict=True):
        out, state = delta_chunk(of_q, of_k, of_v, of_decay, of_write, state)
        read.append(out)
    return torch.cat(read, dim=2), state


def delta_step(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, write: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """One token, as the rule is written: shapes as in `delta_rule`, seq of 1. Eq. 10."""
    state = decay.exp()[..., None] * state
    wrong = v - k @ state
    state = state + k.mT @ (write[..., None] * wrong)
    return q @ state, state


def delta_chunk(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor, write: Tensor, state: Tensor
) -> tuple[Tensor, Tensor]:
    """Some tokens at once, equal to step by step; shapes as in `delta_rule`.

    What a token writes depends on what those before it wrote: a triangular system of equations,
    (1 + β k·kᵀ) new = β (v − k·S), each product as far as it has decayed. Yang et al. 2024,
    section 3.3 (the WY form).
    """
    total = decay.cumsum(dim=-1)
    is_later = ~causal(q.shape[2], q.device)
    apart = (total[..., None] - total[..., None, :]).masked_fill(is_later, -torch.inf).exp()
    k_written, v_written = write[..., None] * k, write[..., None] * v
    system = k_written @ k.mT * apart
    decayed = total.exp()[..., None]
    new = torch.linalg.solve_triangular(
        system, v_written - decayed * k_written @ state, upper=False, unitriangular=True
    )
    out = decayed * q @ state + (q @ k.mT * apart) @ new
    left = (total[..., -1:] - total).exp()[..., None]
    return out, decayed[..., -1:, :] * state + (left * k).mT @ new

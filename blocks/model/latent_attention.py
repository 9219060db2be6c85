"""Multi-head latent attention: keys and values of all heads come of one small vector a token."""

import torch
from torch import Tensor, nn

from blocks.model.attention import Attention, split_heads
from blocks.model.config import ModelConfig
from blocks.model.held_cache import HeldLayer
from blocks.model.kv_cache import LayerCache
from blocks.model.multiplier import times
from blocks.model.normalization import RMSNorm
from blocks.model.probe import Probe
from blocks.model.start import Start


class LatentAttention(Attention):
    """Keys W_K·c and values W_V·c of a latent c = norm(W_c·x), which alone is cached.

    (batch, seq, d_model) to the same. RoPE cannot stand between c and W_K, or that product could
    not be put into the query: it turns d_rotary numbers more of each query, and of one key beside
    c that all heads share ("decoupled"). DeepSeek-AI 2024 (V2), section 2.1, eq. 9 to 19.
    """

    def __init__(self, config: ModelConfig, layer: int = 0):
        super().__init__(config, layer)
        del self.k_proj, self.v_proj, self.k_norm, self.q_norm
        d_model, bias = config.d_model, config.attention.attention_bias
        self.d_rotary, self.d_value, self.d_latent = (
            config.d_rotary,
            config.d_value,
            config.d_kv_latent,
        )
        self.is_compressed = config.d_q_latent > 0
        if self.is_compressed:
            self.q_latent_proj = nn.Linear(d_model, config.d_q_latent, bias=bias)
            self.q_latent_norm = _norm(config, config.d_q_latent, "q_latent")
        d_in = config.d_q_latent or d_model
        self.q_proj = nn.Linear(d_in, self.n_heads * config.d_qk, bias=False)
        self.kv_latent_proj = nn.Linear(d_model, self.d_latent + self.d_rotary, bias=bias)
        self.kv_latent_norm = _norm(config, self.d_latent, "kv_latent")
        width = self.n_heads * (self.d_head + self.d_value)
        self.kv_proj = nn.Linear(self.d_latent, width, bias=False)
        self.out_proj = nn.Linear(self.n_heads * self.d_value, d_model, bias=config.out_bias)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: LayerCache | HeldLayer | None = None
    ) -> Tensor:
        """Attend; with a `past`, latents and rotary keys of the tokens before come from there.

        Keys and values are made of them, or, where some were cached, are not made at all.
        """
        start = 0 if past is None else past.seen
        q = self.turn(self.queries(x), start)
        latent, rotary = self.compress(x, start)
        if past is not None:
            latent, rotary = past.extend(latent, rotary)
        if start:
            return self.attend_absorbed(q, latent, rotary, mask, start)
        k, v = self.expand(latent, rotary)
        return self.attend_and_project(x, self.q(q), self.k(k), self.v(v), mask)

    def queries(self, x: Tensor) -> Tensor:
        """Queries before position encoding: (batch, n_heads, query, d_head + d_rotary)."""
        if self.is_compressed:
            x = self.q_latent_norm(self.q_latent_proj(x))
        q = split_heads(self.q_proj(x), self.n_heads)
        return times(q, self.scale)

    def turn(self, q: Tensor, start: Start) -> Tensor:
        """Turn the last d_rotary numbers of queries by their position: the same shape."""
        plain, rotary = q.split((self.d_head, self.d_rotary), dim=-1)
        return torch.cat((plain, self.rotate(rotary, start)), dim=-1)

    def compress(self, x: Tensor, start: Start = 0) -> tuple[Tensor, Tensor]:
        """Compress to what is cached: c, (batch, 1, key, d_kv_latent), and a key of d_rotary."""
        whole = self.kv_latent_proj(x)[:, None]
        latent, rotary = whole.split((self.d_latent, self.d_rotary), dim=-1)
        return self.kv_latent_norm(latent), self.rotate(rotary, start)

    def expand(self, latent: Tensor, rotary: Tensor) -> tuple[Tensor, Tensor]:
        """Expand latents to keys, (batch, n_heads, key, d_qk), and values, (…, d_value)."""
        both = split_heads(self.kv_proj(latent[:, 0]), self.n_heads)
        k, v = both.split((self.d_head, self.d_value), dim=-1)
        return torch.cat((k, rotary.expand(-1, self.n_heads, -1, -1)), dim=-1), v

    def attend_absorbed(
        self, q: Tensor, latent: Tensor, rotary: Tensor, mask: Tensor | None, start: Start
    ) -> Tensor:
        """Attend to the latents themselves: q·(W_K·c) = (W_Kᵀ·q)·c, and Σ α·(W_V·c) = W_V·Σ α·c.

        One head of keys, the latents themselves, which all queries share.
        """
        w_k, w_v = self.kv_proj.weight.unflatten(0, (self.n_heads, -1)).split(
            (self.d_head, self.d_value), dim=1
        )
        plain, turned = q.split((self.d_head, self.d_rotary), dim=-1)
        wide = torch.cat((plain @ w_k, turned), dim=-1)
        wide = wide * (wide.shape[-1] / q.shape[-1]) ** 0.5  # scores are divided by another √width
        read = self.heads(wide, torch.cat((latent, rotary), dim=-1), latent, mask, start)
        return self.project(read @ w_v.mT)

    def values(self, x: Tensor) -> Tensor:
        """Compute the values of each head: (batch, n_heads, key, d_value)."""
        return self.expand(*self.compress(x))[1]


def _norm(config: ModelConfig, width: int, name: str) -> RMSNorm:
    return RMSNorm(width, config.norm.norm_eps, Probe(name))

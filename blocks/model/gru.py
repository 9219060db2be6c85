"""A gated recurrent unit in the place of attention: all that was read is one vector."""

import torch
from torch import Tensor, nn

from blocks.model.config import ModelConfig
from blocks.model.kv_cache import StateCache
from blocks.model.multiplier import times


class GRU(nn.Module):
    """h = (1 − z) ⊙ n + z ⊙ h, token by token; what leaves is an output projection of h.

    (batch, seq, d_model) to the same. Cho et al. 2014, eq. 5 to 8, with the reset gate behind the
    product with h, as in torch.nn.GRU and cuDNN. h begins at 0 and is d_model wide. No token looks
    at another: what is to be known of it later has to be in h.
    """

    def __init__(self, config: ModelConfig, layer: int = 0):
        super().__init__()
        d_model, bias = config.d_model, config.attention.attention_bias
        self.input_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.state_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.multiplier = config.scales.residual_multiplier
        self.out_proj = nn.Linear(d_model, d_model, bias=config.out_bias)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: StateCache | None = None
    ) -> Tensor:
        """Pass h from token to token, from that of a `past` on; no `mask` is needed, nor read."""
        h = x.new_zeros(x[:, 0].shape)
        if past is not None and past.state:
            (h,) = past.state
        states = self.states(self.input_proj(x), h)
        if past is not None:
            past.keep((states[:, -1],), x.shape[1])
        return times(self.out_proj(states), self.multiplier)

    def states(self, given: Tensor, h: Tensor) -> Tensor:
        """The state after each token: (batch, seq, 3 d_model) to (batch, seq, d_model)."""
        found = []
        for each in given.unbind(dim=1):
            h = self.step(each, h)
            found.append(h)
        return torch.stack(found, dim=1)

    def step(self, given: Tensor, h: Tensor) -> Tensor:
        """The state after one token: (batch, 3 d_model) of the token and (batch, d_model)."""
        given_r, given_z, given_n = given.chunk(3, dim=-1)
        kept_r, kept_z, kept_n = self.state_proj(h).chunk(3, dim=-1)
        reset, update = (given_r + kept_r).sigmoid(), (given_z + kept_z).sigmoid()
        new = (given_n + reset * kept_n).tanh()
        return (1 - update) * new + update * h

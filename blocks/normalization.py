"""Norms: bring the values that pass to a common scale."""

import torch
from torch import Tensor, nn

from blocks.config import ModelConfig
from blocks.dropout import in_training_mode
from blocks.kinds import NormKind
from blocks.probe import Probe


def build_norm(config: ModelConfig, out: Probe) -> nn.Module:
    """The norm that the configuration asks for; what leaves it passes the probe `out`."""
    d_model, eps = config.d_model, config.norm.norm_eps
    match config.norm.norm_kind:
        case NormKind.LAYER_NORM:
            return LayerNorm(d_model, eps, out)
        case NormKind.RMS_NORM:
            return RMSNorm(d_model, eps, out)
        case NormKind.BATCH_NORM:
            return BatchNorm(d_model, eps, out)
        case NormKind.NONE:
            return nn.Identity()


def at_least_float32(x: Tensor) -> Tensor:
    """Statistics are taken in float32 where the model computes in less."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


class LayerNorm(nn.Module):
    """(x − mean) / √(var + eps) · weight + bias, over the features of one token.

    (batch, seq, d_model) to the same. Ba et al. 2016.
    """

    def __init__(self, d_model: int, eps: float, out: Probe):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_model))
        self.bias = nn.Parameter(torch.empty(d_model))
        self.eps, self.out = eps, out

    def forward(self, x: Tensor) -> Tensor:
        """Give every token mean 0 and variance 1, then scale and shift."""
        exact = at_least_float32(x)
        centred = exact - exact.mean(dim=-1, keepdim=True)
        var = centred.square().mean(dim=-1, keepdim=True)
        normal = centred * torch.rsqrt(var + self.eps)
        return self.out(normal.to(x.dtype) * self.weight + self.bias)


class RMSNorm(nn.Module):
    """x / √(mean(x²) + eps) · weight, over the features of one token.

    (batch, seq, d_model) to the same. Zhang and Sennrich 2019, eq. 4.
    """

    def __init__(self, d_model: int, eps: float, out: Probe):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_model))
        self.eps, self.out = eps, out

    def forward(self, x: Tensor) -> Tensor:
        """Give every token RMS 1, then scale; the mean stays."""
        mean_square = at_least_float32(x).square().mean(dim=-1, keepdim=True)
        return self.out((x * torch.rsqrt(mean_square + self.eps)).to(x.dtype) * self.weight)


class BatchNorm(nn.Module):
    """(x − mean) / √(var + eps) · weight + bias, over the batch and positions of one feature.

    In training mode by the batch's statistics; otherwise by the running ones, which are mean 0
    and variance 1 until a training has moved them. Ioffe and Szegedy 2015.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, d_model: int, eps: float, out: Probe):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_model))
        self.bias = nn.Parameter(torch.empty(d_model))
        self.register_buffer("running_mean", torch.empty(d_model))
        self.register_buffer("running_var", torch.empty(d_model))
        self.eps, self.out = eps, out

    def forward(self, x: Tensor) -> Tensor:
        """Give every feature mean 0 and variance 1 over the batch, then scale and shift."""
        mean, var = self.running_mean, self.running_var
        if in_training_mode():
            var, mean = torch.var_mean(at_least_float32(x), dim=(0, 1), correction=0)
        normal = (x - mean) * torch.rsqrt(var + self.eps)
        return self.out(normal.to(x.dtype) * self.weight + self.bias)

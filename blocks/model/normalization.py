"""Norms: bring the values that pass to a common scale."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.model.config import ModelConfig
from blocks.model.dropout import in_training_mode, updates_statistics
from blocks.model.kinds import NormKind, NormPlacement
from blocks.model.probe import Probe, Stage


def build_norm(config: ModelConfig, out: Probe) -> nn.Module:
    """The norm that the configuration asks for; what leaves it passes the probe `out`."""
    d_model, eps, affine = config.d_model, config.norm.norm_eps, config.norm.norm_affine
    offset, bias = config.norm.norm_offset, config.norm.norm_bias
    match config.norm.norm_kind:
        case NormKind.LAYER_NORM:
            return LayerNorm(d_model, eps, out, affine=affine, offset=offset, bias=bias)
        case NormKind.RMS_NORM:
            return RMSNorm(d_model, eps, out, affine=affine, offset=offset)
        case NormKind.BATCH_NORM:
            return BatchNorm(d_model, eps, out, affine=affine, offset=offset, bias=bias)
        case NormKind.NONE:
            return nn.Identity()


def build_final_norm(config: ModelConfig) -> nn.Module:
    """The stream of every placement but post leaves the last layer without a norm."""
    has_norm = config.norm.norm_kind is not NormKind.NONE
    is_post = config.norm.norm_placement is NormPlacement.POST
    return build_norm(config, Stage("final_norm")) if has_norm and not is_post else nn.Identity()


def at_least_float32(x: Tensor) -> Tensor:
    """Statistics are taken in float32 where the model computes in less."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


class Norm(nn.Module):
    """What all norms share: the scale and shift that they learn, or none where not `affine`.

    With an `offset` it is 1 + weight that scales; without a `bias` nothing shifts.
    """

    weight: nn.Parameter | None
    bias: nn.Parameter | None

    shifts = True

    def __init__(
        self,
        d_model: int,
        eps: float,
        out: Probe,
        *,
        affine: bool = True,
        offset: bool = False,
        bias: bool = True,
    ):
        super().__init__()
        self.eps, self.out, self.offset = eps, out, offset
        vectors = {"weight": affine, "bias": affine and bias and self.shifts}
        for name, is_learned in vectors.items():
            vector = nn.Parameter(torch.empty(d_model)) if is_learned else None
            self.register_parameter(name, vector)

    @property
    def scale(self) -> Tensor | None:
        """Factor on each feature, where that is learned."""
        return 1 + self.weight if self.offset and self.weight is not None else self.weight


class LayerNorm(Norm):
    """(x − mean) / √(var + eps) · weight + bias, over the features of one token.

    (batch, seq, d_model) to the same. Ba et al. 2016.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Give every token mean 0 and variance 1, then scale and shift."""
        return self.out(F.layer_norm(x, x.shape[-1:], self.scale, self.bias, self.eps))


class RMSNorm(Norm):
    """x / √(mean(x²) + eps) · weight, over the features of one token.

    (batch, seq, d_model) to the same. Zhang and Sennrich 2019, eq. 4.
    """

    shifts = False

    def forward(self, x: Tensor) -> Tensor:
        """Give every token RMS 1, then scale; the mean stays."""
        return self.out(F.rms_norm(x, x.shape[-1:], self.scale, self.eps))


class BatchNorm(Norm):
    """(x − mean) / √(var + eps) · weight + bias, over the batch and positions of one feature.

    In training mode by the batch's statistics; otherwise by the running ones, which are mean 0
    and variance 1 until a training has moved them. Ioffe and Szegedy 2015.
    """

    running_mean: Tensor
    running_var: Tensor
    MOMENTUM = 0.1

    def __init__(
        self,
        d_model: int,
        eps: float,
        out: Probe,
        *,
        affine: bool = True,
        offset: bool = False,
        bias: bool = True,
    ):
        super().__init__(d_model, eps, out, affine=affine, offset=offset, bias=bias)
        self.register_buffer("running_mean", torch.empty(d_model))
        self.register_buffer("running_var", torch.empty(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """Give every feature mean 0 and variance 1 over the batch, then scale and shift."""
        mean, var = self.running_mean, self.running_var
        if in_training_mode():
            var, mean = torch.var_mean(at_least_float32(x), dim=(0, 1), correction=0)
        if updates_statistics():
            self.follow(mean.detach(), var.detach(), n=x.shape[0] * x.shape[1])
        normal = ((x - mean) * torch.rsqrt(var + self.eps)).to(x.dtype)
        scale = self.scale
        if scale is not None:
            normal = normal * scale
        return self.out(normal if self.bias is None else normal + self.bias)

    def follow(self, mean: Tensor, var: Tensor, n: int) -> None:
        """Move the running statistics a tenth of the way; the variance as of a sample of n."""
        self.running_mean.lerp_(mean.to(self.running_mean), self.MOMENTUM)
        sample_var = var * (n / max(n - 1, 1))
        self.running_var.lerp_(sample_var.to(self.running_var), self.MOMENTUM)

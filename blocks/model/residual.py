"""Where the norm sits: how a sub-layer f is joined to the residual stream x.

    pre        x + f(norm(x))
    post       norm(x + f(x))
    sandwich   x + norm(f(norm(x)))
    res_post   x + norm(f(x))
    parallel   x + f(norm(x)) + g(norm(x))     (see `blocks.model.layers`)

Post is Vaswani et al. 2017; pre and its effect on depth, Xiong et al. 2020; sandwich, Ding et
al. 2021, and again as the four norms of a layer of Gemma 2 and 3 (Gemma Team 2024); res-post, Liu
et al. 2021 (Swin Transformer V2) and OLMo 2 (OLMo Team 2024); parallel, Wang and Komatsuzaki 2021.
The connection is He et al. 2015.
"""

from collections.abc import Callable

from torch import Tensor, nn

from blocks.model.config import ModelConfig
from blocks.model.dropout import Dropout
from blocks.model.kinds import NormKind, NormPlacement
from blocks.model.normalization import build_norm
from blocks.model.probe import Stage

SubLayer = Callable[[Tensor], Tensor]


class Residual(nn.Module):
    """What all placements share: the write of the sub-layer, added to the stream.

    `sublayer` (attention, feed_forward) and `stream` (resid_mid, resid_post) name the stages.
    """

    def __init__(self, config: ModelConfig, sublayer: str, stream: str):
        super().__init__()
        self.is_connected = config.norm.residual
        self.dropout = Dropout(config.dropout)
        self.write = Stage(f"{sublayer}_out")
        self.stream = Stage(stream)

    def add(self, x: Tensor, write: Tensor) -> Tensor:
        """x + write, or the write alone where the residual connection is off."""
        return x + write if self.is_connected else write


class PreNorm(Residual):
    """x + f(norm(x)): the stream itself is never normalised."""

    def __init__(self, config: ModelConfig, sublayer: str, stream: str):
        super().__init__(config, sublayer, stream)
        self.norm = build_norm(config, Stage(f"{sublayer}_norm"))

    def forward(self, x: Tensor, f: SubLayer) -> Tensor:
        """(batch, seq, d_model) to the same."""
        write = self.write(self.dropout(f(self.norm(x))))
        return self.stream(self.add(x, write))


class PostNorm(Residual):
    """norm(x + f(x)): what leaves is normalised, the stream included."""

    def __init__(self, config: ModelConfig, sublayer: str, stream: str):
        super().__init__(config, sublayer, stream)
        has_norm = config.norm.norm_kind is not NormKind.NONE
        self.sum = Stage(f"{sublayer}_sum") if has_norm else nn.Identity()
        self.norm = build_norm(config, self.stream) if has_norm else self.stream

    def forward(self, x: Tensor, f: SubLayer) -> Tensor:
        """(batch, seq, d_model) to the same."""
        write = self.write(self.dropout(f(x)))
        return self.norm(self.sum(self.add(x, write)))


class SandwichNorm(Residual):
    """x + norm(f(norm(x))): what is read and what is written are both normalised."""

    def __init__(self, config: ModelConfig, sublayer: str, stream: str):
        super().__init__(config, sublayer, stream)
        self.norm = build_norm(config, Stage(f"{sublayer}_norm"))
        self.out_norm = build_norm(config, Stage(f"{sublayer}_out_norm"))

    def forward(self, x: Tensor, f: SubLayer) -> Tensor:
        """(batch, seq, d_model) to the same."""
        write = self.out_norm(self.write(self.dropout(f(self.norm(x)))))
        return self.stream(self.add(x, write))


class ResPostNorm(Residual):
    """x + norm(f(x)): what is read is the stream as it is, what is written is normalised."""

    def __init__(self, config: ModelConfig, sublayer: str, stream: str):
        super().__init__(config, sublayer, stream)
        self.out_norm = build_norm(config, Stage(f"{sublayer}_out_norm"))

    def forward(self, x: Tensor, f: SubLayer) -> Tensor:
        """(batch, seq, d_model) to the same."""
        write = self.out_norm(self.write(self.dropout(f(x))))
        return self.stream(self.add(x, write))


RESIDUALS: dict[NormPlacement, type[Residual]] = {
    NormPlacement.PRE: PreNorm,
    NormPlacement.POST: PostNorm,
    NormPlacement.SANDWICH: SandwichNorm,
    NormPlacement.RES_POST: ResPostNorm,
}

"""Whole models, and the one way to build them."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.config import ModelConfig
from blocks.initialize import initialize
from blocks.kinds import Architecture, NormKind, NormPlacement
from blocks.kv_cache import KVCache
from blocks.layers import encoder_layer
from blocks.masks import causal
from blocks.normalization import build_norm
from blocks.positions import added_position
from blocks.probe import Probe, Stage, name_probes


class Block(nn.Module):
    """Transformer blocks on vectors: position, then the layers; one of them by default.

    (batch, seq, d_model) to the same.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        is_added = config.position.position_kind.is_added
        self.input = Stage("input") if is_added else nn.Identity()
        self.position = added_position(config)
        self.layers = nn.ModuleList(encoder_layer(config) for _ in range(config.n_layers))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` is True where a query may see a key, broadcast to (batch, 1, query, key)."""
        x = self.position(self.input(x))
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Encoder(nn.Module):
    """Tokens that read each other both ways, and what each of them would be.

    Token ids (batch, seq) to logits (batch, seq, vocab_size). Embedding scaled by √d_model and
    layers of Vaswani et al. 2017, sections 3.1 and 3.4; logits at every position as the
    masked-language model of Devlin et al. 2018.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.embed = nn.Embedding(config.vocab_size, config.d_model)
        self.embed_scale = config.d_model**0.5
        self.embedding = Stage("embedding")
        self.position = added_position(config)
        self.layers = nn.ModuleList(encoder_layer(config) for _ in range(config.n_layers))
        self.final_norm = _final_norm(config)
        self.unembed = _unembed(config)
        self.logits = Probe("logits")

    def forward(self, token_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` is True where a query may see a key, broadcast to (batch, 1, query, key)."""
        return self.unembedded(self.encode(token_ids, mask))

    def encode(self, token_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """What the last layer makes of each token: (batch, seq, d_model)."""
        x = self.position(self.embedding(self.embed_scale * self.embed(token_ids)))
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x)

    def unembedded(self, x: Tensor) -> Tensor:
        """A score for every token of the vocabulary: (batch, seq, vocab_size)."""
        weight = self.embed.weight if self.unembed is None else self.unembed.weight
        return self.logits(F.linear(x, weight))


class GPT(Encoder):
    """Tokens that read what came before, and what comes next after each of them.

    Token ids (batch, seq) to logits (batch, seq, vocab_size). Radford et al. 2019.
    """

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        self.embed_scale = 1.0

    def forward(
        self, token_ids: Tensor, mask: Tensor | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """Causal unless a `mask` says otherwise. With a `cache` these are the next tokens."""
        if cache is not None:
            return self.continued(token_ids, cache)
        if mask is None:
            mask = causal(token_ids.shape[-1], token_ids.device)
        return super().forward(token_ids, mask)

    def continued(self, token_ids: Tensor, cache: KVCache) -> Tensor:
        """Logits of tokens that follow those in the cache, which remembers them too."""
        mask = cache.mask(token_ids.shape[-1], token_ids.device)
        x = self.position(self.embedding(self.embed(token_ids)), cache.seen)
        for layer, past in zip(self.layers, cache.layers, strict=True):
            x = layer(x, mask, past)
        return self.unembedded(self.final_norm(x))


Model = Block | Encoder
ARCHITECTURES: dict[Architecture, type[Model]] = {
    Architecture.BLOCK: Block,
    Architecture.ENCODER: Encoder,
    Architecture.GPT: GPT,
}


def _final_norm(config: ModelConfig) -> nn.Module:
    """The stream of every placement but post leaves the last layer without a norm."""
    has_norm = config.norm.norm_kind is not NormKind.NONE
    is_post = config.norm.norm_placement is NormPlacement.POST
    return build_norm(config, Stage("final_norm")) if has_norm and not is_post else nn.Identity()


def _unembed(config: ModelConfig) -> nn.Linear | None:
    """None where the rows of the embedding serve (Press and Wolf 2016)."""
    if config.vocabulary.tie_embeddings:
        return None
    return nn.Linear(config.d_model, config.vocab_size, bias=False)


def build(
    config: ModelConfig,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Model:
    """The model of a configuration, its weights drawn from `seed`; the same on every device.

    No global random state is touched. The model is in evaluation mode and may be shared between
    threads: nothing that `record` does changes it.
    """
    model = _unfilled(config).eval().to(dtype).to_empty(device=device)
    initialize(model, config, seed)
    name_probes(model)
    return model


def _unfilled(config: ModelConfig) -> Model:
    """The model without memory for its weights."""
    with torch.device("meta"):
        return ARCHITECTURES[config.architecture](config)


def count_built(config: ModelConfig) -> int:
    """Parameters of the model as it is built, counted one by one; nothing is allocated."""
    return sum(parameter.numel() for parameter in _unfilled(config).parameters())


def expected_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Name and shape of every weight, running statistics included; nothing is allocated."""
    return {name: tuple(value.shape) for name, value in _unfilled(config).state_dict().items()}

"""Whole models, and the one way to build them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from torch.overrides import TorchFunctionMode

from blocks.model.attention import Attention, CrossAttention, soft_cap
from blocks.model.config import ModelConfig, check_config
from blocks.model.devices import check_dtype
from blocks.model.feed_forward import ACTIVATIONS
from blocks.model.held_cache import HeldCache
from blocks.model.initialize import initialize
from blocks.model.kinds import Architecture
from blocks.model.kv_cache import KVCache
from blocks.model.layers import DecoderLayer, encoder_layer
from blocks.model.masks import shared_causal
from blocks.model.mtp import MTPModule
from blocks.model.multiplier import times
from blocks.model.normalization import build_final_norm, build_norm
from blocks.model.positions import RelativeBias, added_position
from blocks.model.probe import Probe, Stage, name_probes
from blocks.model.source_target import SourceTarget, SourceTargetMask
from blocks.model.start import Start


class Block(nn.Module):
    """Transformer blocks on vectors: position, then the layers; one of them by default.

    (batch, seq, d_model) to the same.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.d_model = config.d_model
        is_added = config.position.position_kind.is_added
        self.input = Stage("input") if is_added else nn.Identity()
        self.position = added_position(config)
        self.layers = nn.ModuleList(encoder_layer(config, i) for i in range(config.n_layers))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` is True where a query may see a key, broadcast to (batch, 1, query, key)."""
        x = self.position(self.input(x))
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Encoder(nn.Module):
    """A bidirectional encoder with a prediction for every token.

    Token ids (batch, seq) to logits (batch, seq, vocab_size). Embedding scaled by √d_model and
    layers of Vaswani et al. 2017, sections 3.1 and 3.4; logits at every position as the
    masked-language model of Devlin et al. 2018.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        self.embed = _table(config.vocab_size, config.d_model)
        self.embed_scale = config.embed_scale
        self.embedding = Stage("embedding")
        self.position = added_position(config)
        n_segments, d_model = config.n_segments, config.d_model
        self.segment_embed = _table(n_segments, d_model) if n_segments else None
        self.embedding_norm = _embedding_norm(config)
        self.layers = nn.ModuleList(encoder_layer(config, i) for i in range(config.n_layers))
        self.final_norm = build_final_norm(config)
        self.pooler = nn.Linear(d_model, d_model) if config.has_pooler else None
        self.prediction_head = PredictionHead(config) if config.has_prediction_head else None
        self.unembed, self.unembed_bias = _unembed(config), UnembedBias.of(config)
        self.linear: Callable[[Tensor, Tensor, Tensor | None], Tensor] = F.linear
        self.output_scale = config.output_scale
        self.logit_softcap = config.vocabulary.logit_softcap
        self.logits = Probe("logits")

    def forward(self, token_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` is True where a query may see a key, broadcast to (batch, 1, query, key)."""
        return self.unembed_logits(self.encode(token_ids, mask))

    def encode(self, token_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Run all layers and the final norm: (batch, seq, d_model)."""
        x = self.embed_tokens(token_ids)
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x)

    def embed_tokens(self, token_ids: Tensor, start: Start = 0) -> Tensor:
        """Embed token ids and add positions from `start` on; the input of the first layer.

        Where segments are told apart, all tokens are of the first.
        """
        x = self.position(self.embedding(self.embed_scale * self.embed(token_ids)), start)
        if self.segment_embed is not None:
            x = x + self.segment_embed.weight[0]
        return self.embedding_norm(x)

    def pooled(self, encoded: Tensor) -> Tensor:
        """tanh(W·x + b) of the first token of what `encode` gave: (batch, d_model).

        What a text is classified by; Devlin et al. 2018, section 4.1. A model without a pooler
        gives the first token as it is.
        """
        first = encoded[:, 0]
        return first if self.pooler is None else self.pooler(first).tanh()

    def unembed_logits(self, x: Tensor) -> Tensor:
        """Unembed the final stream: logits (batch, seq, vocab_size)."""
        return _logits(self, x if self.prediction_head is None else self.prediction_head(x))


class PredictionHead(nn.Module):
    """norm(activation(W·x + b)): what an encoder predicts hidden tokens from, any shape.

    Devlin et al. 2018 leave it to their code (`get_masked_lm_output`). It has a bias where the
    feed-forward layers do.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        bias = config.feed_forward.feed_forward_bias
        self.dense = nn.Linear(config.d_model, config.d_model, bias=bias)
        self.activation = ACTIVATIONS[config.feed_forward.activation]
        self.norm = build_norm(config, Probe("prediction"))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, seq, d_model) to the same."""
        return self.norm(self.activation(self.dense(x)))


class UnembedBias(nn.Module):
    """The logit that each token has to begin with."""

    def __init__(self, vocab_size: int):
        super().__init__()
        self.bias = nn.Parameter(torch.empty(vocab_size))

    @classmethod
    def of(cls, config: ModelConfig) -> "UnembedBias | None":
        """Build the bias that the configuration asks for, or None."""
        return cls(config.vocab_size) if config.vocabulary.unembed_bias else None


class GPT(Encoder):
    """A causal decoder that predicts the next token at every position.

    Token ids (batch, seq) to logits (batch, seq, vocab_size). Radford et al. 2019.
    """

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        modules = [MTPModule(config) for _ in range(config.n_mtp_modules)]
        self.mtp = nn.ModuleList(modules) if modules else None

    def forward(
        self, token_ids: Tensor, mask: Tensor | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """Compute logits, causal unless a `mask` is given; a `cache` holds the tokens before."""
        if cache is not None:
            return self.forward_cached(token_ids, cache)
        if mask is None:
            mask = shared_causal(token_ids.shape[-1], token_ids.device)
        return self.unembed_logits(self.encode(token_ids, mask))

    def forward_cached(self, token_ids: Tensor, cache: KVCache) -> Tensor:
        """Compute logits of tokens that follow the cached ones, and cache their keys and values."""
        return self.unembed_logits(self.encode_cached(token_ids, cache))

    def encode_cached(self, token_ids: Tensor, cache: KVCache | HeldCache) -> Tensor:
        """Run all layers and the final norm on tokens that follow the cached ones."""
        x = self.embed_tokens(token_ids, cache.seen)
        for layer, past in zip(self.layers, cache.layers, strict=True):
            x = layer(x, past.mask(x.shape[1], x.device), past)
        return self.final_norm(x)

    def logits_ahead(self, token_ids: Tensor, mask: Tensor | None = None) -> tuple[Tensor, ...]:
        """Logits of the next token, and of as many after it as there are modules.

        The first are (batch, seq, vocab_size); those of module k (batch, seq − k, vocab_size): at
        token i, which knows the k tokens after it, of what follows them. DeepSeek-V3, section 2.2.
        """
        if mask is None:
            mask = shared_causal(token_ids.shape[-1], token_ids.device)
        hidden = self.encode(token_ids, mask)
        logits = [self.unembed_logits(hidden)]
        embedded = self.embed_scale * self.embed(token_ids)
        for k, module in enumerate(self.mtp or (), start=1):
            hidden = module(hidden[:, :-1], embedded[:, k:], mask[..., :-k, :-k])
            logits.append(self.unembed_logits(hidden))
        return tuple(logits)


class Stack(nn.Module):
    """One of the two halves of an encoder–decoder: position, layers, and a final norm.

    What both have; (batch, seq, d_model) to the same.
    """

    def __init__(self, config: ModelConfig, layers: Sequence[nn.Module], *, is_causal: bool):
        super().__init__()
        self.embedding = Stage("embedding")
        self.position = added_position(config)
        self.embedding_norm = _embedding_norm(config)
        self.layers = nn.ModuleList(layers)
        self.final_norm = build_final_norm(config)
        if config.encoder_decoder.relative_bias:
            self.relative_bias = RelativeBias(config.n_heads, is_causal=is_causal)
            for module in self.modules():
                if isinstance(module, Attention) and not isinstance(module, CrossAttention):
                    module.relative = (self.relative_bias,)

    def add_positions(self, x: Tensor, start: int = 0) -> Tensor:
        """Add positions from `start` on; the input of the first layer."""
        return self.embedding_norm(self.position(self.embedding(x), start))


class EncoderStack(Stack):
    """The half that reads the source, both ways. Vaswani et al. 2017, figure 1, left."""

    def __init__(self, config: ModelConfig):
        layers = [encoder_layer(config, i) for i in range(config.n_layers)]
        super().__init__(config, layers, is_causal=False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """`mask` is True where a query may see a key, broadcast to (batch, 1, query, key)."""
        x = self.add_positions(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x)


class DecoderStack(Stack):
    """The half that writes the target. Vaswani et al. 2017, figure 1, right."""

    def __init__(self, config: ModelConfig):
        layers = [DecoderLayer(config, i) for i in range(config.n_decoder_layers)]
        super().__init__(config, layers, is_causal=True)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """`memory` is the encoder's output.

        With a `cache`, x are the next tokens, and the mask is that of each layer's cache.
        """
        x = self.add_positions(x, 0 if cache is None else cache.seen)
        for i, layer in enumerate(self.layers):
            if cache is None:
                x = layer(x, memory, mask, memory_mask)
            else:
                past = cache.layers[i]
                own = past.mask(x.shape[1], x.device)
                x = layer(x, memory, own, memory_mask, past, cache.cross[i])
        return self.final_norm(x)


class EncoderDecoder(nn.Module):
    """A source is read whole, and a target is written token by token.

    Token ids (batch, source) and (batch, target) to logits (batch, target, vocab_size): what
    comes after each token of the target. Vaswani et al. 2017; embeddings scaled by √d_model and
    shared as in section 3.4.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        is_shared = config.encoder_decoder.share_embeddings
        sizes = config.vocab_size, config.d_model
        self.embed = _table(*sizes)
        self.source_embed = None if is_shared else _table(*sizes)
        self.embed_scale = config.embed_scale
        self.encoder = EncoderStack(config)
        self.decoder = DecoderStack(config)
        self.unembed, self.unembed_bias = _unembed(config), UnembedBias.of(config)
        self.linear: Callable[[Tensor, Tensor, Tensor | None], Tensor] = F.linear
        self.output_scale = config.output_scale
        self.logit_softcap = config.vocabulary.logit_softcap
        self.logits = Probe("logits")

    @property
    def layers(self) -> tuple[nn.Module, ...]:
        """All layers, those of the encoder first."""
        return (*self.encoder.layers, *self.decoder.layers)

    def forward(self, ids: SourceTarget, mask: SourceTargetMask | None = None) -> Tensor:
        """Both halves at once. Without a `mask` the source is seen whole, the target is causal."""
        mask = SourceTargetMask() if mask is None else mask
        memory = self.encode(ids.source, mask.source)
        return self.decode(ids.target, memory, mask=mask.target, memory_mask=mask.cross)

    def encode(self, source_ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """The memory that the decoder reads: (batch, source) to (batch, source, d_model)."""
        embed = self.embed if self.source_embed is None else self.source_embed
        return self.encoder(self.embed_scale * embed(source_ids), mask)

    def decode(
        self,
        target_ids: Tensor,
        memory: Tensor,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Logits after each token of the target: (batch, target) to (batch, target, vocab_size).

        `mask` is among the target, causal unless it says otherwise; `memory_mask` from target to
        source. With a `cache` the ids are those that follow, and the cache remembers them too.
        """
        if mask is None and cache is None:
            mask = shared_causal(target_ids.shape[-1], target_ids.device)
        x = self.embed_scale * self.embed(target_ids)
        return _logits(self, self.decoder(x, memory, mask, memory_mask, cache))


Model = Block | Encoder | EncoderDecoder
ARCHITECTURES: dict[Architecture, type[Model]] = {
    Architecture.BLOCK: Block,
    Architecture.ENCODER: Encoder,
    Architecture.GPT: GPT,
    Architecture.ENCODER_DECODER: EncoderDecoder,
}


def _table(n: int, d_model: int) -> nn.Embedding:
    """Rows that nobody draws yet; to draw them without memory torch loads modules for seconds."""
    return nn.Embedding.from_pretrained(torch.empty(n, d_model), freeze=False)


def _embedding_norm(config: ModelConfig) -> nn.Module:
    has_norm = config.norm.embedding_norm
    return build_norm(config, Stage("embedding_norm")) if has_norm else nn.Identity()


def _unembed(config: ModelConfig) -> nn.Linear | None:
    """None where the rows of the embedding serve (Press and Wolf 2016)."""
    if config.vocabulary.tie_embeddings:
        return None
    return nn.Linear(config.d_model, config.vocab_size, bias=False)


def _logits(model: Encoder | EncoderDecoder, x: Tensor) -> Tensor:
    """Unembed the stream: (batch, seq, d_model) to (batch, seq, vocab_size)."""
    weight = model.embed.weight if model.unembed is None else model.unembed.weight
    bias = None if model.unembed_bias is None else model.unembed_bias.bias
    scaled = times(x, model.output_scale)
    return model.logits(soft_cap(model.linear(scaled, weight, bias), model.logit_softcap))


def build(
    config: ModelConfig,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Model:
    """The model of a configuration, its weights drawn from `seed`; the same on every device.

    Up to 200 million parameters each weight is drawn by torch's generator; beyond, each number by
    the hash of its place.

    No global random state is touched. The model is in evaluation mode and may be shared between
    threads: nothing that `record` does changes it.
    """
    check_config(config)
    check_dtype(dtype)
    model = _unfilled(config).eval()
    initialize(model, config, seed, device=device, dtype=dtype)
    name_probes(model)
    return model


def assemble(config: ModelConfig, tensors: Mapping[str, Tensor]) -> Model:
    """The model of a configuration around these weights, by name: they are not copied."""
    model = _unfilled(config).eval()
    model.load_state_dict(tensors, assign=True)
    name_probes(model)
    return model


class Undrawn(TorchFunctionMode):
    """Where it is entered nothing of `torch.nn.init` is drawn, for the length of the block.

    A layer of torch fills its weights as it is made, and half of the time goes there.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Give back the tensor that was to be filled; all else goes on."""
        kwargs = kwargs or {}
        if getattr(func, "__module__", "") == nn.init.__name__:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def _unfilled(config: ModelConfig) -> Model:
    """Build the model without memory for its weights."""
    with torch.device("meta"), Undrawn():
        return ARCHITECTURES[config.architecture](config)


def count_built(config: ModelConfig) -> int:
    """Count the parameters of the model as it is built, one by one; nothing is allocated."""
    return sum(parameter.numel() for parameter in _unfilled(config).parameters())


def parameter_names(config: ModelConfig) -> list[str]:
    """Return the names of learned parameters, without running statistics; shared ones come once."""
    return [name for name, _ in _unfilled(config).named_parameters()]


def expected_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Name and shape of every weight, running statistics included; nothing is allocated."""
    return {name: tuple(value.shape) for name, value in _unfilled(config).state_dict().items()}

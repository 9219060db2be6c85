"""What a model is made of: frozen, checked at birth, and usable as a key.

The name of every field is used once in the whole tree, so a field has the same name in code,
in a link, in a file and on a widget: `config.attention.n_heads` is `n_heads` everywhere.
"""

import dataclasses
import reprlib
import typing
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any

from blocks.model import has, legal
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture, AttentionGate, Initialization, PositionKind, TokenMixer
from blocks.model.options import Bar, Between, Option, factors, option
from blocks.model.parts import (
    AttentionConfig,
    EncoderConfig,
    EncoderDecoderConfig,
    ExpertsConfig,
    FeedForwardConfig,
    LatentConfig,
    NormConfig,
    PositionConfig,
    ScalesConfig,
    StateConfig,
    VocabularyConfig,
)

CONV_WIDTH = 4  # tokens that the short convolution of a gated delta rule sees
DROPOUT = Between(
    0.0, 0.99, N_("dropout ({value}) must be a probability from 0 to 0.99: use {mend}")
)
FROM_LEFT = Bar(  # a state is passed on from left to right
    has.BOTH_WAYS,
    N_(
        "{value} reads only from left to right, which does not suit the architecture "
        "{kind}: use {mend}"
    ),
)


@dataclass(frozen=True, init=False)
class ModelConfig:
    """Everything that decides the shape and the maths of a model.

    Every field goes by its own name, whatever the nesting, and plain strings stand for enums:
    `ModelConfig(architecture="gpt", n_heads=4)`. `attention_only` leaves the feed-forward layers
    out. `token_mixer`: what stands in the place of attention, which keeps a state of fixed size
    instead of keys and values: a GRU (Cho et al. 2014) or a gated delta rule (Yang et al. 2024).
    With `attention_every` n every n-th layer attends all the same: 4 in Qwen3-Next and Kimi Linear.
    Hashable, so it is the cache key; flat (`flat()`, `replace(n_heads=4)`), so it is the link
    and the file. Raises `ConfigError`, which lists every fault with its mend.
    """

    architecture: Architecture = option(Architecture.BLOCK)
    n_layers: int = option(1)
    d_model: int = option(256)
    attention_only: bool = option(False)
    token_mixer: TokenMixer = option(TokenMixer.ATTENTION, bar=FROM_LEFT)
    attention_every: int = option(0, where=has.MIXER, acts=has.ATTENTION)
    dropout: float = option(0.1, DROPOUT)
    initialization: Initialization = option(Initialization.PYTORCH)
    attention: AttentionConfig = AttentionConfig()
    latent: LatentConfig = LatentConfig()
    state: StateConfig = StateConfig()
    feed_forward: FeedForwardConfig = FeedForwardConfig()
    experts: ExpertsConfig = ExpertsConfig()
    norm: NormConfig = NormConfig()
    position: PositionConfig = PositionConfig()
    vocabulary: VocabularyConfig = VocabularyConfig()
    scales: ScalesConfig = ScalesConfig()
    encoder: EncoderConfig = EncoderConfig()
    encoder_decoder: EncoderDecoderConfig = EncoderDecoderConfig()

    def __init__(self, **values: Any):
        own = {field.name: field.default for field in dataclasses.fields(self)}
        _check_names(values, FIELDS.keys() | own.keys())
        parts = own | {name: value for name, value in values.items() if name in own}
        _check_parts(parts, own)
        for name, part in parts.items():
            is_part = dataclasses.is_dataclass(own[name])
            whole = _replace(part, values) if is_part else _coerce(FIELDS[name], part)
            object.__setattr__(self, name, whole)
        if faults := legal.faults(self, OPTIONS):
            raise ConfigError(faults)

    def one_block(self) -> "ModelConfig":
        """One block of this model, on vectors: as most of its layers are."""
        return _one_block(self)

    def first_layers(self, n_layers: int) -> "ModelConfig":
        """Keep the first layers alone, and no module after them."""
        n_experts = 1 if n_layers <= self.n_dense_layers else self.n_experts
        return self.replace(n_layers=n_layers, n_experts=n_experts, n_mtp_modules=0)

    def like_last(self) -> "ModelConfig":
        """Make all layers as the last one is."""
        has_norm = self.norm.first_norm or self.n_layers > 1
        return self.like(self.n_layers - 1, n_dense_layers=0, first_norm=has_norm)

    def like(self, layer: int, **changes: Any) -> "ModelConfig":
        """Make all layers mix tokens as this one does, with other changes."""
        return self.replace(token_mixer=self.mixer_of(layer), attention_every=0, **changes)

    @property
    def n_decoder_layers(self) -> int:
        """Layers of the decoder of an encoder–decoder; no other architecture has one."""
        if self.architecture is not Architecture.ENCODER_DECODER:
            return 0
        return self.encoder_decoder.n_decoder_layers or self.n_layers

    @property
    def n_heads(self) -> int:
        """Query heads."""
        return self.attention.n_heads

    @property
    def n_kv_heads(self) -> int:
        """Key and value heads: n_heads is MHA, 1 is MQA, between them GQA."""
        has_own = self.has_attention and not self.is_latent
        return (self.attention.n_kv_heads if has_own else None) or self.attention.n_heads

    @property
    def attends(self) -> bool:
        """Whether tokens meet in attention in all layers, and nowhere through a state."""
        return self.token_mixer is TokenMixer.ATTENTION or self.attention_every == 1

    @property
    def is_hybrid(self) -> bool:
        """Whether some layers attend and others keep a state."""
        return self.has_attention and not self.attends

    @property
    def attention_layers(self) -> range:
        """The layers in which tokens meet in attention, counted from 0."""
        if self.attends:
            return range(self.n_layers)
        every = self.attention_every or self.n_layers + 1
        return range(every - 1, self.n_layers, every)

    @property
    def has_attention(self) -> bool:
        """Whether a layer at least attends."""
        return bool(self.attention_layers)

    @property
    def n_attention_layers(self) -> int:
        """Layers of the first stack that attend."""
        return len(self.attention_layers)

    @property
    def n_mixer_layers(self) -> int:
        """Layers that keep a state instead."""
        return self.n_layers - self.n_attention_layers

    def attends_in(self, layer: int) -> bool:
        """Whether tokens meet in attention in a layer, counted from 0."""
        every = self.attention_every
        return self.attends or (every > 0 and (layer + 1) % every == 0)

    def mixer_of(self, layer: int) -> TokenMixer:
        """Return the token mixer of a layer, counted from 0."""
        return TokenMixer.ATTENTION if self.attends_in(layer) else self.token_mixer

    @property
    def d_head(self) -> int:
        """Width of one head."""
        return self.attention.d_head or self.d_model // self.n_heads

    @property
    def width_of_heads(self) -> int:
        """All query heads side by side; equal to d_model unless a head has a width of its own."""
        return self.n_heads * self.d_head

    @property
    def gate_width(self) -> int:
        """Width of the gate on the output of attention; 0 without a gate."""
        widths = {AttentionGate.HEAD: self.n_heads, AttentionGate.ELEMENTWISE: self.width_of_heads}
        return widths.get(self.attention.attention_gate, 0)

    @property
    def is_latent(self) -> bool:
        """Whether keys and values are made of one latent vector a token (MLA)."""
        return self.has_attention and self.latent.d_kv_latent > 0

    @property
    def n_state_heads(self) -> int:
        """Heads that keep a state, where a gated delta rule stands in the place of attention."""
        return self.state.n_state_heads or self.n_heads

    def n_heads_in(self, layer: int) -> int:
        """Heads of a layer, of attention or of a state."""
        return self.n_heads if self.attends_in(layer) else self.n_state_heads

    @property
    def n_key_heads(self) -> int:
        """Heads of queries and keys of a state; several heads may share one."""
        return self.state.n_key_heads or self.n_state_heads

    @property
    def d_state(self) -> int:
        """Width of a query, key and value of a state, which is as wide squared."""
        return self.state.d_state or self.d_head

    @property
    def d_conv(self) -> int:
        """Numbers of one token that pass the short convolution: queries, keys and values."""
        return (2 * self.n_key_heads + self.n_state_heads) * self.d_state

    @property
    def d_kv_latent(self) -> int:
        """Width of the vector that keys and values are made of; 0 where there is none."""
        return self.latent.d_kv_latent

    @property
    def d_q_latent(self) -> int:
        """Width of the vector that queries are made of; 0 where that is the stream."""
        return self.latent.d_q_latent if self.is_latent else 0

    @property
    def d_rotary(self) -> int:
        """Numbers of a query beyond d_head, for RoPE to turn; 0 but in latent attention."""
        own = self.latent.d_rotary or max(2, self.d_head // 4 * 2)
        return own if self.is_latent else 0

    @property
    def d_value(self) -> int:
        """Width of a value, and of what a head reads."""
        return (self.latent.d_value or self.d_head) if self.is_latent else self.d_head

    @property
    def d_qk(self) -> int:
        """Width of a query, and of a key as it meets it."""
        return self.d_head + self.d_rotary

    @property
    def d_cached(self) -> int:
        """Numbers of one token that a layer of latent attention keeps."""
        return self.d_kv_latent + self.d_rotary

    @property
    def rotary_width(self) -> int:
        """Numbers of a head that RoPE turns: pairs, so an even number."""
        if self.is_latent:
            return self.d_rotary
        pairs = self.position.rotary_share * self.d_head / 2
        return max(2, 2 * int(round(pairs, 9)))  # a share may be a width divided by d_head

    @property
    def rope_factors(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Factors of LongRoPE for short and for long texts; none where they are of other pairs."""
        position, n_pairs = self.position, self.rotary_width // 2
        texts = position.rope_short_factors, position.rope_long_factors
        short, long = (factors(text) or () for text in texts)
        return (short if len(short) == n_pairs else ()), (long if len(long) == n_pairs else ())

    def window_of(self, layer: int) -> int:
        """Return the window of a layer in tokens, itself included; 0 where it sees all."""
        every, place = self.attention.global_every, layer + (not self.attention.global_first)
        is_global = every > 0 and place % every == 0
        return 0 if is_global else self.local_window

    @property
    def local_window(self) -> int:
        """Window of a local layer in tokens; 0 where no layer is local."""
        return self.attention.local_window if self.has_attention else 0

    def n_local(self, n_layers: int) -> int:
        """Count the local layers among the first `n_layers`."""
        if not self.local_window:
            return 0
        if self.is_hybrid:
            attending = range(self.attention_every - 1, n_layers, self.attention_every)
            return sum(self.window_of(layer) > 0 for layer in attending)
        every, more = self.attention.global_every, self.attention.global_first
        return n_layers - ((n_layers + more * (every - 1)) // every if every else 0)

    def turns(self, layer: int) -> bool:
        """Whether a layer turns queries and keys by RoPE."""
        every = self.position.nope_every
        is_rope = self.attends_in(layer) and self.position.position_kind is PositionKind.ROPE
        return is_rope and not (every > 0 and (layer + 1) % every == 0)

    @property
    def has_equal_layers(self) -> bool:
        """Whether all layers of a stack are made alike."""
        nope_every = self.position.nope_every if self.has_attention else 0
        n_layers = max(self.n_layers, self.n_decoder_layers)
        is_mixed = 0 < self.n_local(n_layers) < n_layers or 1 < nope_every <= n_layers
        is_partly_normed = 0 < self.n_normed_layers < n_layers
        return not (is_mixed or self.is_hybrid or self.n_dense_layers or is_partly_normed)

    def norms_attention(self, layer: int) -> bool:
        """Whether attention reads through a norm of its own, where such norms are."""
        return layer > 0 or not self.lacks_first_norm

    @property
    def lacks_first_norm(self) -> bool:
        """Whether the first layer's attention reads the stream as it is, and others do not.

        Both halves of an encoder–decoder have their first norm in any case.
        """
        return has.FIRST_NORM(self) and not self.norm.first_norm

    @property
    def n_normed_layers(self) -> int:
        """Layers whose attention reads through a norm, where such norms are."""
        return self.n_layers - self.lacks_first_norm

    @property
    def out_bias(self) -> bool:
        """Whether the output projection of attention has a bias."""
        own = self.attention.out_bias
        return self.attention.attention_bias if own is None else own

    @property
    def n_segments(self) -> int:
        """Texts that an encoder tells apart; 0 where it does not."""
        is_encoder = self.architecture is Architecture.ENCODER
        return self.encoder.n_segments if is_encoder else 0

    @property
    def has_pooler(self) -> bool:
        """Whether an encoder makes one vector of its first token."""
        return self.architecture is Architecture.ENCODER and self.encoder.pooler

    @property
    def has_prediction_head(self) -> bool:
        """Whether an encoder has a layer and a norm between its last layer and the logits."""
        return self.architecture is Architecture.ENCODER and self.encoder.prediction_head

    @property
    def n_mtp_modules(self) -> int:
        """Layers that predict tokens after the next one; only a GPT has any."""
        is_gpt = self.architecture is Architecture.GPT
        return self.vocabulary.n_mtp_modules if is_gpt else 0

    @property
    def query_scale(self) -> float:
        """Factor on queries, whose product with keys is then divided by √d_qk."""
        own = self.scales.attention_multiplier
        if own:
            return own * self.d_qk**0.5
        return 1.0 if self.attention.scale_scores else self.d_qk**0.5

    @property
    def embed_scale(self) -> float:
        """Factor on the rows of the embedding when they are read."""
        root = self.d_model**0.5 if self.scale_embeddings else 1.0
        return root * self.scales.embedding_multiplier

    @property
    def output_scale(self) -> float:
        """Factor on the stream before the unembedding."""
        root = self.d_model**-0.5 if self.vocabulary.scale_output else 1.0
        return root / self.scales.logits_scaling

    @property
    def scale_embeddings(self) -> bool:
        """Whether embeddings are multiplied by √d_model when they are read."""
        own = self.vocabulary.scale_embeddings
        return self.architecture is not Architecture.GPT if own is None else own

    @property
    def d_ff(self) -> int:
        """Width of the feed-forward layer."""
        return self.feed_forward.d_ff or 4 * self.d_model

    @property
    def n_experts(self) -> int:
        """Feed-forward layers side by side: 1 is dense."""
        return self.experts.n_experts

    @property
    def n_active_experts(self) -> int:
        """Experts that one token passes; a dense layer is one."""
        return self.experts.n_active_experts if self.n_experts > 1 else 1

    @property
    def n_shared_experts(self) -> int:
        """Experts beside them that every token passes."""
        return self.experts.n_shared_experts if self.n_experts > 1 else 0

    @property
    def has_shared_gate(self) -> bool:
        """Whether a gate decides how much of what they say passes."""
        return self.n_shared_experts > 0 and self.experts.shared_expert_gate

    @property
    def d_expert(self) -> int:
        """Width of one expert; a dense layer is one."""
        own = self.experts.d_expert if self.n_experts > 1 else None
        return own or self.d_ff

    @property
    def n_dense_layers(self) -> int:
        """First layers of a mixture that have no experts; one layer at least has them.

        An encoder–decoder has them everywhere.
        """
        is_mixture = self.n_experts > 1 and not self.attention_only
        if not is_mixture or self.architecture is Architecture.ENCODER_DECODER:
            return 0
        return min(self.experts.n_dense_layers, self.n_layers - 1)

    @property
    def n_expert_layers(self) -> int:
        """Layers that are a mixture, of both stacks where there are two."""
        if self.n_experts == 1 or self.attention_only:
            return 0
        return self.n_layers + self.n_decoder_layers - self.n_dense_layers

    @property
    def n_hidden(self) -> int:
        """Hidden values that one token has in its widest feed-forward layer."""
        if self.n_experts == 1:
            return self.d_ff
        of_experts = (self.n_active_experts + self.n_shared_experts) * self.d_expert
        return max(of_experts, self.d_ff if self.n_dense_layers else 0)

    def has_experts(self, layer: int) -> bool:
        """Whether this layer, counted from 0, is a mixture."""
        return self.n_experts > 1 and layer >= self.n_dense_layers

    @property
    def max_seq_len(self) -> int:
        """Longest context, in tokens."""
        return self.position.max_seq_len

    @property
    def vocab_size(self) -> int:
        """Tokens that a whole model knows."""
        return self.vocabulary.vocab_size

    def flat(self) -> dict[str, Any]:
        """Every field by its own name, without the nesting; enums as plain strings."""
        return {name: self.plain(name) for name in OPTIONS}

    def plain(self, name: str) -> Any:
        """One field, as `flat` has it."""
        return _plain(OPTIONS[name].read(self))

    def counted(self, name: str) -> Any:
        """Return the value of a field that counts: of what it follows, where it is not given."""
        return _plain(
            getattr(self, name) if hasattr(type(self), name) else OPTIONS[name].read(self)
        )

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> "ModelConfig":
        """The configuration with these fields, and defaults for the rest."""
        return cls(**values)

    def replace(self, **changes: Any) -> "ModelConfig":
        """Return a copy with other values, given by field name whatever the nesting."""
        if not changes:
            return self
        _check_names(changes, FIELDS.keys())
        return dataclasses.replace(self, **changes)

    def nearest(self, **changes: Any) -> tuple["ModelConfig", tuple[Fault, ...]]:
        """`replace`, mending what cannot be; returns the faults that were mended."""
        mended: list[Fault] = []
        while True:
            try:
                return self.replace(**changes), tuple(mended)
            except ConfigError as error:
                if any(not fault.mend for fault in error.faults):
                    raise
                mended += error.faults
                for fault in error.faults:
                    changes |= fault.mend


def check_config(config: object) -> None:
    """Raise `ConfigError` for what stands in the place of a configuration, such as its name."""
    if not isinstance(config, ModelConfig):
        text = N_("{value} is not a ModelConfig: use PRESETS[{value}], or ModelConfig(…)")
        if not isinstance(config, str):
            text = N_("{value} is not a ModelConfig: use ModelConfig(…)")
        raise ConfigError([Fault(text, {"value": reprlib.repr(config)})])


@lru_cache(maxsize=256)
def _one_block(config: ModelConfig) -> ModelConfig:
    """Made once: a page about a block asks for it several times."""
    return config.replace(architecture=Architecture.BLOCK, n_layers=1, first_norm=True)


def _check_names(values: Mapping[str, Any], known: Collection[str]) -> None:
    if unknown := sorted(map(str, values.keys() - known)):
        raise ConfigError(legal.unknown_field(name, known) for name in unknown)


def _check_parts(parts: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse a plain value where a part of several fields is meant."""
    wrong = [
        legal.part_fault(name, default)
        for name, default in defaults.items()
        if dataclasses.is_dataclass(default) and type(parts[name]) is not type(default)
    ]
    if wrong:
        raise ConfigError(wrong)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, StrEnum) else value


def _replace(part: Any, changes: Mapping[str, Any]) -> Any:
    """A part with the changes that are of its fields; itself where there are none."""
    values = {
        field.name: _coerce(FIELDS[field.name], changes.get(field.name, getattr(part, field.name)))
        for field in dataclasses.fields(part)
    }
    is_same = all(value is getattr(part, name) for name, value in values.items())
    return part if is_same else type(part)(**values)


def _coerce(kind: Any, value: Any) -> Any:
    """A plain string as the enum it stands for, where it is one."""
    if isinstance(kind, type) and issubclass(kind, StrEnum) and value in list(kind):
        return kind(value)
    return value


def _options(part: Any, prefix: str = "") -> Iterator[Option]:
    kinds = typing.get_type_hints(part)
    for field in dataclasses.fields(part):
        path = f"{prefix}{field.name}"
        if declared := field.metadata.get("option"):
            yield declared.named(field.name, kinds[field.name], attrgetter(path))
        else:
            yield from _options(kinds[field.name], f"{path}.")


OPTIONS: dict[str, Option] = {each.name: each for each in _options(ModelConfig)}
FIELDS: dict[str, Any] = {name: each.kind for name, each in OPTIONS.items()}
DEFAULTS: dict[str, Any] = {name: each.default for name, each in OPTIONS.items()}

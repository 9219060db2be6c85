"""What a model is made of: frozen, checked at birth, and usable as a key.

The name of every field is used once in the whole tree, so a field has the same name in code,
in a link, in a file and on a widget: `config.attention.n_heads` is `n_heads` everywhere.
"""

import dataclasses
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Any

from blocks.model import legal
from blocks.model.faults import ConfigError, Fault
from blocks.model.kinds import (
    Activation,
    Architecture,
    Initialization,
    NormKind,
    NormPlacement,
    PositionKind,
)


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """Heads. `n_kv_heads` of None follows `n_heads`, `d_head` of None is d_model / n_heads.

    `attention_bias` is that of q, k and v; `out_bias` of None follows it. `qk_norm` gives queries
    and keys RMS 1, and with `qk_norm_scale` a learned scale, as in Qwen3. Without `scale_scores`
    nothing divides by √d_head, as in T5.
    """

    n_heads: int = 8
    n_kv_heads: int | None = None
    d_head: int | None = None
    attention_bias: bool = True
    out_bias: bool | None = None
    qk_norm: bool = False
    qk_norm_scale: bool = False
    scale_scores: bool = True


@dataclass(frozen=True, kw_only=True)
class FeedForwardConfig:
    """The position-wise layer. `d_ff` of None follows 4·d_model.

    With more than one expert each token is sent to `n_active_experts` of them, and an expert takes
    at most `expert_capacity` times its even share of the tokens (0: as many as come).
    """

    d_ff: int | None = None
    activation: Activation = Activation.GELU
    feed_forward_bias: bool = True
    n_experts: int = 1
    n_active_experts: int = 2
    expert_capacity: float = 0.0


@dataclass(frozen=True, kw_only=True)
class NormConfig:
    """Norm and residual connection; `norm_affine`: a norm scales (and shifts) by what it learns.

    `norm_offset`: what is learned is added to 1 before it scales, as in Gemma.
    `parallel_norms`: where both sub-layers read the stream at once, they share one norm (GPT-J,
    Falcon) or have one each (GPT-NeoX, Pythia). `embedding_norm`: a norm after embedding and
    position, as in BERT and BART; a block has none.
    """

    norm_kind: NormKind = NormKind.LAYER_NORM
    norm_placement: NormPlacement = NormPlacement.PRE
    norm_eps: float = 1e-5
    norm_affine: bool = True
    norm_offset: bool = False
    parallel_norms: int = 1
    embedding_norm: bool = False
    residual: bool = True


@dataclass(frozen=True, kw_only=True)
class PositionConfig:
    """Position. `max_seq_len` is the longest context; the learned table has a row for each token.

    Before these rows stand `position_offset` others (BART, OPT, RoBERTa: 2), which nothing reads.
    RoPE turns `rotary_share` of each head and leaves the rest as it is (GPT-NeoX: a quarter).
    """

    position_kind: PositionKind = PositionKind.SINUSOIDAL
    max_seq_len: int = 512
    position_offset: int = 0
    rope_base: float = 10_000.0
    rotary_share: float = 1.0


@dataclass(frozen=True, kw_only=True)
class VocabularyConfig:
    """Tokens that a whole model knows; tied, the rows that read them also write them.

    `scale_embeddings`: rows are multiplied by √d_model when read; None follows the architecture,
    where a GPT does not. `scale_output`: the stream is divided by √d_model before it meets the
    table again, as in T5. `unembed_bias`: each token has a logit of its own to begin with.
    """

    vocab_size: int = 1024
    tie_embeddings: bool = True
    scale_embeddings: bool | None = None
    scale_output: bool = False
    unembed_bias: bool = False


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """What an encoder alone has, as in BERT; other architectures leave it aside.

    `n_segments`: rows that say to which text a token belongs, 0 for none. `pooler`: a layer that
    makes one vector of the first token, to classify the text by. `prediction_head`: a layer and a
    norm before the unembedding, which predict the hidden tokens.
    """

    n_segments: int = 0
    pooler: bool = False
    prediction_head: bool = False


@dataclass(frozen=True, kw_only=True)
class EncoderDecoderConfig:
    """What an encoder–decoder alone has; other architectures leave it aside.

    `n_decoder_layers` of None follows n_layers, which counts those of the encoder. With
    `share_embeddings` one table reads source and target. `relative_bias`: scores of
    self-attention learn what to add for each distance, as in T5.
    """

    n_decoder_layers: int | None = None
    share_embeddings: bool = True
    relative_bias: bool = False


@dataclass(frozen=True, init=False)
class ModelConfig:
    """Everything that decides the shape and the maths of a model.

    Every field goes by its own name, whatever the nesting, and plain strings stand for enums:
    `ModelConfig(architecture="gpt", n_heads=4)`. `attention_only` leaves the feed-forward layers
    out. Hashable, so it is the cache key; flat (`flat()`, `replace(n_heads=4)`), so it is the link
    and the file. Raises `ConfigError`, which lists every fault with its mend.
    """

    architecture: Architecture = Architecture.BLOCK
    n_layers: int = 1
    d_model: int = 256
    attention_only: bool = False
    dropout: float = 0.1
    initialization: Initialization = Initialization.PYTORCH
    attention: AttentionConfig = AttentionConfig()
    feed_forward: FeedForwardConfig = FeedForwardConfig()
    norm: NormConfig = NormConfig()
    position: PositionConfig = PositionConfig()
    vocabulary: VocabularyConfig = VocabularyConfig()
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
        leaves = {name: value_of(self) for name, value_of in GETTERS.items()}
        if faults := legal.faults(leaves, FIELDS, DEFAULTS):
            raise ConfigError(faults)

    def one_block(self) -> "ModelConfig":
        """One block of this model, on vectors."""
        return self.replace(architecture=Architecture.BLOCK, n_layers=1)

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
        return self.attention.n_kv_heads or self.attention.n_heads

    @property
    def d_head(self) -> int:
        """Width of one head."""
        return self.attention.d_head or self.d_model // self.n_heads

    @property
    def width_of_heads(self) -> int:
        """All query heads side by side; equal to d_model unless a head has a width of its own."""
        return self.n_heads * self.d_head

    @property
    def rotary_width(self) -> int:
        """How many numbers of a head RoPE turns: pairs, so an even number."""
        pairs = self.position.rotary_share * self.d_head / 2
        return max(2, 2 * int(round(pairs, 9)))  # a share may be a width divided by d_head

    @property
    def has_out_bias(self) -> bool:
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
    def scales_embeddings(self) -> bool:
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
        return self.feed_forward.n_experts

    @property
    def n_active_experts(self) -> int:
        """Experts that one token passes; a dense layer is one."""
        return self.feed_forward.n_active_experts if self.n_experts > 1 else 1

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
        return {name: _plain(value_of(self)) for name, value_of in GETTERS.items()}

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> "ModelConfig":
        """The configuration with these fields, and defaults for the rest."""
        return cls(**values)

    def replace(self, **changes: Any) -> "ModelConfig":
        """A copy with other values, given by field name whatever the nesting."""
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


def _check_names(values: Mapping[str, Any], known: Collection[str]) -> None:
    if unknown := sorted(map(str, values.keys() - known)):
        raise ConfigError(map(legal.unknown_field, unknown))


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


def _field_types(part: Any) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for name, kind in typing.get_type_hints(part).items():
        types |= _field_types(kind) if dataclasses.is_dataclass(kind) else {name: kind}
    return types


def _defaults(part: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {}
    for field in dataclasses.fields(part):
        is_part = dataclasses.is_dataclass(field.default)
        defaults |= _defaults(field.default) if is_part else {field.name: field.default}
    return defaults


def _getters(part: Any, prefix: str = "") -> dict[str, Callable[[Any], Any]]:
    """What reads each field of a configuration, by the field's own name."""
    getters: dict[str, Callable[[Any], Any]] = {}
    for field in dataclasses.fields(part):
        path = f"{prefix}{field.name}"
        if dataclasses.is_dataclass(field.default):
            getters |= _getters(field.default, f"{path}.")
        else:
            getters[field.name] = attrgetter(path)
    return getters


FIELDS: dict[str, Any] = _field_types(ModelConfig)
GETTERS = _getters(ModelConfig)
DEFAULTS: dict[str, Any] = _defaults(ModelConfig)

"""Exact parameter counts, by formula, without building anything."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

import pandas as pd

from blocks.model.config import CONV_WIDTH, ModelConfig, check_config
from blocks.model.kinds import (
    Architecture,
    AttentionGate,
    NormKind,
    NormPlacement,
    PositionKind,
    TokenMixer,
)
from blocks.model.positions import N_BUCKETS

Product = tuple[str | int, ...]


@dataclass(frozen=True)
class Part:
    """Some of a model's parameters; their number is a sum of products of sizes.

    `layers` names the size that says how many layers each have as much; "": outside of layers.
    Dense layers of a mixture are its first ones, a layer without a norm is the first; see `holds`.
    """

    name: str
    group: str
    products: tuple[Product, ...]
    layers: str = ""

    def formula(self) -> str:
        """The count in letters: d_model · n_heads · d_head."""
        return " + ".join(" · ".join(map(str, product)) for product in self.products)

    def numbers(self, sizes: dict[str, int]) -> str:
        """The formula with this configuration's numbers: 256 · 8 · 32."""
        return " + ".join(
            " · ".join(f"{_size(factor, sizes):,}" for factor in product)
            for product in self.products
        )

    def count(self, sizes: dict[str, int]) -> int:
        """Count the parameters."""
        return sum(prod(_size(factor, sizes) for factor in product) for product in self.products)


def count_parameters(config: ModelConfig) -> pd.DataFrame:
    """One row per part: part, group, formula, numbers, count. The sum of `count` is exact.

    Nothing is allocated, whatever the size.
    """
    check_config(config)
    sizes = config_sizes(config)
    return pd.DataFrame(
        [
            (part.name, part.group, part.formula(), part.numbers(sizes), part.count(sizes))
            for part in parts(config)
        ],
        columns=["part", "group", "formula", "numbers", "count"],
    )


def parts(config: ModelConfig) -> list[Part]:
    """All that a model is made of, in the order in which a token meets it."""
    if config.architecture is Architecture.ENCODER_DECODER:
        return [*_encoder_decoder(config)]
    return [*_embedding(config), *_layers(config, _layer(config)), *_head(config), *_mtp(config)]


@lru_cache(maxsize=256)
def total_parameters(config: ModelConfig) -> int:
    """Count the parameters of a model: a Python integer, exact at any size."""
    check_config(config)
    sizes = config_sizes(config)
    return sum(part.count(sizes) for part in parts(config))


def active_parameters(config: ModelConfig) -> int:
    """Count the parameters that one token meets: all of them, but only its own experts.

    Modules that predict further ahead are left out: they have no say in the next token. Equal to
    `total_parameters` where there are none and the feed-forward layers are dense.
    """
    sizes = config_sizes(config)
    ahead = sum(part.count(sizes) for part in _mtp(config))
    return total_parameters(config) - ahead - config.n_expert_layers * _idle_in_a_layer(config)


def idle_parameters(config: ModelConfig) -> int:
    """Count the parameters that one token does not meet in training: those of other experts."""
    n_layers = config.n_expert_layers
    n_ahead = config.n_mtp_modules if n_layers else 0
    return (n_layers + n_ahead) * _idle_in_a_layer(config)


def _idle_in_a_layer(config: ModelConfig) -> int:
    n_idle = config.n_experts - config.n_active_experts
    expert = _dense(config, (expert_width(config),))
    return n_idle * sum(part.count(config_sizes(config)) for part in expert)


def config_sizes(config: ModelConfig) -> dict[str, int]:
    """Every size that a formula may name."""
    return {
        "n_layers": config.n_layers,
        "n_decoder_layers": config.n_decoder_layers,
        "n_mtp_modules": config.n_mtp_modules,
        "n_attention_layers": config.n_attention_layers,
        "n_mixer_layers": config.n_mixer_layers,
        "attention_every": config.attention_every,
        "vocab_size": config.vocab_size,
        "d_model": config.d_model,
        "n_heads": config.n_heads,
        "n_kv_heads": config.n_kv_heads,
        "d_head": config.d_head,
        "n_state_heads": config.n_state_heads,
        "n_key_heads": config.n_key_heads,
        "d_state": config.d_state,
        "d_conv": config.d_conv,
        "d_kv_latent": config.d_kv_latent,
        "d_q_latent": config.d_q_latent,
        "d_rotary": config.d_rotary,
        "d_value": config.d_value,
        "d_qk": config.d_qk,
        "d_kv": config.d_head + config.d_value,
        "d_cached": config.d_cached,
        "d_ff": config.d_ff,
        "n_experts": config.n_experts,
        "d_expert": config.d_expert,
        "n_shared_experts": config.n_shared_experts,
        "n_dense_layers": config.n_dense_layers,
        "n_expert_layers": config.n_expert_layers,
        "n_normed_layers": config.n_normed_layers,
        "n_segments": config.n_segments,
        "max_seq_len": config.position.max_seq_len,
        "position_offset": config.position.position_offset,
    }


def holds(part: Part, sizes: dict[str, int], layer: int) -> bool:
    """Whether a layer of its stack, counted from 0, has a part."""
    match part.layers:
        case "n_dense_layers" | "n_expert_layers":
            return (layer < sizes["n_dense_layers"]) == (part.layers == "n_dense_layers")
        case "n_attention_layers" | "n_mixer_layers":
            is_attending = (layer + 1) % sizes["attention_every"] == 0
            return is_attending == (part.layers == "n_attention_layers")
        case "n_normed_layers":
            return layer >= sizes["n_layers"] - sizes["n_normed_layers"]
        case _:
            return True


def _size(factor: str | int, sizes: dict[str, int]) -> int:
    return factor if isinstance(factor, int) else sizes[factor]


def _embedding(config: ModelConfig) -> Iterator[Part]:
    if config.architecture.reads_tokens:
        yield Part("embed", "embedding", (("vocab_size", "d_model"),))
    if config.position.position_kind is PositionKind.LEARNED:
        yield _position_table(config, "position")
    if config.n_segments:
        yield Part("segment_embed", "embedding", (("n_segments", "d_model"),))
    if config.architecture.reads_tokens:
        yield from _embedding_norm(config)


def _position_table(config: ModelConfig, name: str) -> Part:
    """A row for each token, and those before the first one."""
    rows: tuple[Product, ...] = (("max_seq_len", "d_model"),)
    unread: tuple[Product, ...] = (("position_offset", "d_model"),)
    return Part(name, "embedding", (*rows, *(unread if config.position.position_offset else ())))


def _embedding_norm(config: ModelConfig) -> Iterator[Part]:
    if config.norm.embedding_norm and (vectors := _vectors_per_norm(config)):
        yield Part("embedding_norm", "norm", ((vectors, "d_model"),))


def _encoder_decoder(config: ModelConfig) -> Iterator[Part]:
    """Both stacks; parts are named after the stack that they belong to."""
    table: Product = ("vocab_size", "d_model")
    yield Part("embed", "embedding", (table,))
    if not config.encoder_decoder.share_embeddings:
        yield Part("source_embed", "embedding", (table,))
    yield from _stack(config, "encoder", "n_layers", _layer(config))
    decoder_layer = [*_layer(config, n_attentions=2), *cross_attention_parts(config)]
    yield from _stack(config, "decoder", "n_decoder_layers", decoder_layer)
    yield from _unembed(config)


def _stack(config: ModelConfig, name: str, n_layers: str, layer: list[Part]) -> Iterator[Part]:
    """One half of an encoder–decoder."""
    extra = config.encoder_decoder
    if config.position.position_kind is PositionKind.LEARNED:
        yield _position_table(config, f"{name}.position")
    for part in (*_embedding_norm(config), *_repeated(layer, n_layers, (n_layers,))):
        yield replace(part, name=f"{name}.{part.name}")
    if extra.relative_bias:
        yield Part(f"{name}.relative_bias", "attention", ((N_BUCKETS, "n_heads"),))
    yield from (replace(part, name=f"{name}.{part.name}") for part in _final_norm(config))


def _layer(config: ModelConfig, n_attentions: int = 1) -> list[Part]:
    """The parts of one layer: of a block, of an encoder, or what a decoder's has in common."""
    return [*attention_parts(config), *feed_forward_parts(config), *_norms(config, n_attentions)]


def _layers(config: ModelConfig, parts: list[Part]) -> Iterator[Part]:
    """The parts of one layer, as often as there are layers."""
    is_one_block = config.n_layers == 1 and not config.architecture.reads_tokens
    yield from _repeated(parts, "n_layers", () if is_one_block else ("n_layers",))


def _repeated(parts: list[Part], layers: str, times: Product) -> Iterator[Part]:
    for part in parts:
        own = (part.layers,) if part.layers else times
        products = tuple((*own, *product) for product in part.products)
        yield Part(part.name, part.group, products, part.layers or layers)


def _head(config: ModelConfig) -> Iterator[Part]:
    """Yield what stands between the last layer and the logits."""
    if not config.architecture.reads_tokens:
        return
    yield from _final_norm(config)
    if config.has_pooler:
        yield Part("pooler", "pooler", (("d_model", "d_model"), ("d_model",)))
    if config.has_prediction_head:
        bias: tuple[Product, ...] = (("d_model",),) if config.feed_forward.feed_forward_bias else ()
        yield Part("prediction_head", "embedding", (("d_model", "d_model"), *bias))
        if vectors := _vectors_per_norm(config):
            yield Part("prediction_norm", "norm", ((vectors, "d_model"),))
    yield from _unembed(config)


def _mtp(config: ModelConfig) -> Iterator[Part]:
    """Modules that predict further ahead; embedding and unembedding are the model's."""
    if not config.n_mtp_modules:
        return
    parts = [Part("join_proj", "mtp", ((2, "d_model", "d_model"),))]
    if vectors := _vectors_per_norm(config):
        parts.insert(0, Part("join_norms", "mtp", ((2, vectors, "d_model"),)))
    parts += [*_layer(config.like_last()), *_final_norm(config)]
    for part in _repeated(parts, "n_mtp_modules", ("n_mtp_modules",)):
        yield replace(part, name=f"mtp.{part.name}", group="mtp")


def _unembed(config: ModelConfig) -> Iterator[Part]:
    if not config.vocabulary.tie_embeddings:
        yield Part("unembed", "embedding", (("d_model", "vocab_size"),))
    if config.vocabulary.unembed_bias:
        yield Part("unembed_bias", "embedding", (("vocab_size",),))


def _final_norm(config: ModelConfig) -> Iterator[Part]:
    is_post = config.norm.norm_placement is NormPlacement.POST
    if not is_post and (vectors := _vectors_per_norm(config)):
        yield Part("final_norm", "norm", ((vectors, "d_model"),))


def cross_attention_parts(config: ModelConfig) -> Iterator[Part]:
    """Yield the parts of cross-attention, as large as self-attention: both texts are as wide."""
    for part in attention_parts(config):
        yield replace(part, name=f"cross_{part.name}", group="cross_attention")


GATE_WIDTHS: dict[AttentionGate, Product] = {
    AttentionGate.HEAD: ("n_heads",),
    AttentionGate.ELEMENTWISE: ("n_heads", "d_head"),
}


def _latent_attention(config: ModelConfig) -> Iterator[Part]:
    source = "d_q_latent" if config.d_q_latent else "d_model"
    of_latent = (("d_kv_latent",), ("d_rotary",))
    of_query = (("d_q_latent",),) if config.d_q_latent else ()
    if config.d_q_latent:
        yield Part("q_latent_proj", "attention", (("d_model", "d_q_latent"),))
    of_two_kinds = tuple((source, "n_heads", each) for each in ("d_head", "d_rotary"))
    yield Part("q_proj", "attention", of_two_kinds)
    yield Part("kv_latent_proj", "attention", tuple(("d_model", *each) for each in of_latent))
    both = tuple(("d_kv_latent", "n_heads", each) for each in ("d_head", "d_value"))
    yield Part("kv_proj", "attention", both)
    yield Part("out_proj", "attention", (("n_heads", "d_value", "d_model"),))
    yield from _biases(config, (*of_query, *of_latent) if config.attention.attention_bias else ())
    yield Part("latent_norms", "attention", (*of_query, ("d_kv_latent",)))


def _gru(config: ModelConfig) -> Iterator[Part]:
    square: Product = ("d_model", "d_model")
    yield Part("input_proj", "mixer", ((3, *square),))
    yield Part("state_proj", "mixer", ((3, *square),))
    yield Part("out_proj", "mixer", (square,))
    of_gates: tuple[Product, ...] = ((2, 3, "d_model"),) if config.attention.attention_bias else ()
    yield from _biases(config, of_gates, "mixer")


def _gated_delta(config: ModelConfig) -> Iterator[Part]:
    heads: Product = ("n_state_heads", "d_state")
    for name in ("q_proj", "k_proj"):
        yield Part(name, "mixer", (("d_model", "n_key_heads", "d_state"),))
    yield Part("v_proj", "mixer", (("d_model", *heads),))
    yield Part("conv", "mixer", ((CONV_WIDTH, "d_conv"),))
    for name in ("write_proj", "decay_proj"):
        yield Part(name, "mixer", (("d_model", "n_state_heads"),))
    yield Part("decay", "mixer", ((2, "n_state_heads"),))
    yield Part("out_gate_proj", "mixer", (("d_model", *heads),))
    yield Part("head_norm", "mixer", (("d_state",),))
    yield Part("out_proj", "mixer", ((*heads, "d_model"),))
    of_input: tuple[Product, ...] = (("d_conv",), heads) if config.attention.attention_bias else ()
    yield from _biases(config, of_input, "mixer")


def _biases(
    config: ModelConfig, of_input: tuple[Product, ...], group: str = "attention"
) -> Iterator[Part]:
    of_out: tuple[Product, ...] = (("d_model",),) if config.out_bias else ()
    if biases := (*of_input, *of_out):
        yield Part(f"{group}_bias", group, biases)


def attention_parts(config: ModelConfig) -> Iterator[Part]:
    """Attention, or what stands in its place; of a hybrid both, each with its layers."""
    is_hybrid = config.is_hybrid
    if config.has_attention:
        attention = _latent_attention(config) if config.is_latent else _full_attention(config)
        yield from of_hybrid(attention, "n_attention_layers") if is_hybrid else attention
    if config.n_mixer_layers:
        mixer = _gru(config) if config.token_mixer is TokenMixer.GRU else _gated_delta(config)
        yield from of_hybrid(mixer, "n_mixer_layers") if is_hybrid else mixer


def of_hybrid(parts: Iterable[Part], layers: str) -> Iterator[Part]:
    """Parts that only these layers have; those of the token mixer are called after it."""
    prefix = "mixer." if layers == "n_mixer_layers" else ""
    for part in parts:
        yield replace(part, name=f"{prefix}{part.name}", layers=layers)


def _full_attention(config: ModelConfig) -> Iterator[Part]:
    queries: Product = ("n_heads", "d_head")
    keys: Product = ("n_kv_heads", "d_head")
    yield Part("q_proj", "attention", (("d_model", *queries),))
    yield Part("k_proj", "attention", (("d_model", *keys),))
    yield Part("v_proj", "attention", (("d_model", *keys),))
    gate: Product = GATE_WIDTHS.get(config.attention.attention_gate, ())
    if gate:
        yield Part("out_gate_proj", "attention", (("d_model", *gate),))
    yield Part("out_proj", "attention", ((*queries, "d_model"),))
    if config.attention.attention_sink:
        yield Part("sinks", "attention", (("n_heads",),))
    of_three: tuple[Product, ...] = ()
    if config.attention.attention_bias:
        of_three = (queries, (2, *keys), *((gate,) if gate else ()))
    yield from _biases(config, of_three)
    if config.attention.qk_norm and config.attention.qk_norm_scale:
        whole: tuple[Product, ...] = (queries, keys)
        each: tuple[Product, ...] = ((2, "d_head"),)
        yield Part("qk_norm", "attention", whole if config.attention.qk_norm_whole else each)


def feed_forward_parts(config: ModelConfig) -> Iterator[Part]:
    """Yield the parts of the feed-forward layer: one, or experts and what chooses among them."""
    if config.attention_only:
        return
    if config.n_experts == 1:
        yield from _dense(config, ("d_ff",))
        return
    layers = "n_expert_layers" if config.n_dense_layers else ""
    if layers:
        for part in _dense(config, ("d_ff",)):
            yield replace(part, name=f"dense_{part.name}", layers="n_dense_layers")
    width = expert_width(config)
    yield Part("router", "feed_forward", (("n_experts", "d_model"),), layers)
    if config.experts.router_bias:
        yield Part("router_bias", "feed_forward", (("n_experts",),), layers)
    for part in _dense(config, (width,)):
        products = tuple(("n_experts", *product) for product in part.products)
        yield replace(part, products=products, layers=layers)
    if config.n_shared_experts:
        for part in _dense(config, ("n_shared_experts", width)):
            yield replace(part, name=f"shared_{part.name}", layers=layers)
    if config.has_shared_gate:
        yield Part("shared_expert_gate", "feed_forward", (("d_model",),), layers)


def expert_width(config: ModelConfig) -> str:
    """Return the name of an expert's width: its own size, or that of the dense layer."""
    return "d_expert" if config.experts.d_expert else "d_ff"


def _dense(config: ModelConfig, width: Product) -> Iterator[Part]:
    """One feed-forward layer of this width: all of a dense one, or one expert."""
    is_gated = config.feed_forward.activation.is_gated
    if is_gated:
        yield Part("gate_proj", "feed_forward", (("d_model", *width),))
    yield Part("up_proj", "feed_forward", (("d_model", *width),))
    yield Part("down_proj", "feed_forward", ((*width, "d_model"),))
    if config.feed_forward.feed_forward_bias:
        wide: Product = (2, *width) if is_gated else width
        yield Part("feed_forward_bias", "feed_forward", (wide, ("d_model",)))


VECTORS_PER_NORM = {
    NormKind.LAYER_NORM: 2,
    NormKind.RMS_NORM: 1,
    NormKind.BATCH_NORM: 2,
    NormKind.NONE: 0,
}


def _norms(config: ModelConfig, n_attentions: int) -> Iterator[Part]:
    if n_vectors := _vectors_per_norm(config):
        n_sublayers = n_attentions if config.attention_only else n_attentions + 1
        n_norms = _n_norms(config, n_sublayers) - config.lacks_first_norm
        if config.lacks_first_norm and config.n_normed_layers:
            own: Product = (n_vectors, "d_model")
            yield Part("attention_norms", "norm", (own,), "n_normed_layers")
        if n_norms:
            yield Part("norms", "norm", ((n_norms, n_vectors, "d_model"),))


def _n_norms(config: ModelConfig, n_sublayers: int) -> int:
    """Norms of one layer."""
    match config.norm.norm_placement:
        case NormPlacement.PARALLEL:
            return config.norm.parallel_norms
        case NormPlacement.SANDWICH:
            return 2 * n_sublayers
        case _:
            return n_sublayers


def _vectors_per_norm(config: ModelConfig) -> int:
    if not config.norm.norm_affine:
        return 0
    has_shift = config.norm.norm_kind is not NormKind.RMS_NORM and config.norm.norm_bias
    return min(VECTORS_PER_NORM[config.norm.norm_kind], 1 + has_shift)

"""Activation memory saved for backward: bytes by formula, for the modules that run here.

In the spirit of Korthikanti et al. 2022 (section 4.1), but term by term for these modules: norms
that are no single kernel keep two or three tensors where one keeps its input. Left out: what is
smaller by a factor of d_model (statistics of a row, log-sums, indices), angles of RoPE that all
layers and passes share, what a kernel uses inside itself, and what an allocator rounds up.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from blocks.cost.parameters import GATE_WIDTHS, Part, Product, config_sizes, expert_width
from blocks.model.config import ModelConfig
from blocks.model.gated_delta import CHUNK
from blocks.model.kinds import (
    Activation,
    Architecture,
    NormKind,
    NormPlacement,
    PositionKind,
    TokenMixer,
)

FLOAT32_BYTES, INDEX_BYTES = 4, 8
TOKENS: Product = ("batch", "n")
ROW: Product = (*TOKENS, "d_model", "bytes")
EXACT_ROW: Product = (*TOKENS, "d_model", "exact_bytes")
QUERIES: Product = (*TOKENS, "n_heads", "d_head", "bytes")
KEYS: Product = (*TOKENS, "n_kv_heads", "d_head", "bytes")
PAIRS: Product = ("batch", "n_heads", "n", "n", "bytes")
LOGITS: Product = (*TOKENS, "vocab_size", "bytes")
EXACT_LOGITS: Product = (*TOKENS, "vocab_size", "exact_bytes")
TABLE: Product = ("vocab_size", "d_model", "bytes")
STACKS = {
    "n_decoder_layers": "decoder.",
    "n_dense_layers": "dense.",
    "n_dense_attention_layers": "dense.",
    "n_mixer_layers": "mixer.",
    "n_expert_mixer_layers": "mixer.",
    "n_dense_mixer_layers": "dense.mixer.",
    "n_mtp_modules": "mtp.",
}
Sizes = dict[str, int]
Moment = tuple[tuple[int, Product], ...]  # allocated terms, and (times -1) freed ones
# Tensors of the hidden width saved for backward, where they are fewer than what a function reads
# and gives (two, and of a gated layer four): some need only what they have given.
KEPT_HIDDEN = {Activation.RELU: 1, Activation.GLU: 3, Activation.REGLU: 3}
OF_LIMITS = 2  # what is read before it is cut
# More of them, alive for a moment in the backward pass.
WORKING_HIDDEN = {Activation.RELU: 2, Activation.RELU_SQUARED: 3}


class Term(NamedTuple):
    """Bytes of one kind of activations, and their formula."""

    name: str
    n_bytes: int
    formula: str


@dataclass(frozen=True)
class Activations:
    """Memory at the peak of a training step, beyond weights and gradients.

    `parts`: what is kept, in bytes by formula; `working`: what comes on top at that moment, and
    `working_formula` the same in letters.
    """

    parts: tuple[Part, ...]
    sizes: Sizes
    working: int
    working_formula: str

    @property
    def kept(self) -> int:
        """Bytes saved for the backward pass."""
        return sum(part.count(self.sizes) for part in self.parts)

    @property
    def peak(self) -> int:
        """Bytes at the peak."""
        return self.kept + self.working

    @property
    def terms(self) -> tuple[Term, ...]:
        """Terms of the peak; what is alive for that moment alone is last."""
        kept = (Term(part.name, part.count(self.sizes), part.formula()) for part in self.parts)
        return (*kept, Term("working", self.working, self.working_formula))


def training_activations(
    config: ModelConfig,
    *,
    batch: int,
    n: int,
    itemsize: int,
    fused: bool = True,
    checkpointing: bool = False,
) -> Activations:
    """Return the activations of one step on `batch` texts of n tokens (encoder–decoder: two each).

    Without `fused`, and with what no fused kernel takes (learned biases of distances),
    each layer keeps its patterns. Where some layers see a window, all are counted with a mask. With
    `checkpointing` each layer keeps its input alone, and one at a time is computed again.
    """
    sizes = _sizes(config, batch, n, itemsize)
    is_narrow = itemsize < FLOAT32_BYTES
    stacks = {
        count: (kind, [*_layer(kind, fused=fused, is_narrow=is_narrow, is_decoder=is_decoder)])
        for count, kind, is_decoder in _stacks(config)
    }
    ends = [*_ends(config, is_narrow=is_narrow)]
    moments = [_peak_at_loss(config, sizes)]
    if checkpointing:
        kept = [_input(count) for count in stacks]
        moments += [
            (*_terms(layer), *_negated(_product_terms(ROW)), *_peak_in_layer(kind, layer, sizes))
            for kind, layer in stacks.values()  # its input is kept already
        ]
    else:
        kept = [part for count, (_, layer) in stacks.items() for part in _repeated(count, layer)]
        moments.append(_peak_in_layer(*[*stacks.values()][-1], sizes))
    parts = (*kept, *ends)
    moments.append((*_peak_at_embedding(config), *_negated(_terms(parts))))
    worst = max(moments, key=lambda moment: _total_bytes(moment, sizes))
    return Activations(parts, sizes, _total_bytes(worst, sizes), _formula(worst))


def _sizes(config: ModelConfig, batch: int, n: int, itemsize: int) -> Sizes:
    return {
        **config_sizes(config),
        "n_active_experts": config.n_active_experts,
        "n_normed_dense_layers": config.n_dense_layers - config.lacks_first_norm,
        "tokens_of_an_expert": batch * n * config.n_active_experts // config.n_experts,
        "rotary_width": config.rotary_width,
        **_hybrid_sizes(config),
        "batch": batch,
        "n": n,
        "n_chunks": -(-n // CHUNK),
        "pairs_in_chunks": n // CHUNK * CHUNK**2 + (n % CHUNK) ** 2,
        "bytes": itemsize,
        "exact_bytes": max(itemsize, FLOAT32_BYTES),
        "index_bytes": INDEX_BYTES,
    }


def _hybrid_sizes(config: ModelConfig) -> Sizes:
    """Count the layers that attend and that keep a state, dense and with experts."""
    if not config.is_hybrid:
        return {}
    n_dense = config.n_dense_layers
    n_attending = n_dense // config.attention_every
    lacks = int(config.lacks_first_norm)  # the first layer keeps a state
    return {
        "n_normed_mixer_layers": config.n_mixer_layers - lacks,
        "n_normed_dense_mixer_layers": n_dense - n_attending - lacks,
        "n_dense_attention_layers": n_attending,
        "n_dense_mixer_layers": n_dense - n_attending,
        "n_expert_attention_layers": config.n_attention_layers - n_attending,
        "n_expert_mixer_layers": config.n_mixer_layers - n_dense + n_attending,
    }


def _stacks(config: ModelConfig) -> Iterator[tuple[str, ModelConfig, bool]]:
    """Yield what counts the layers of a kind, such a layer, and whether it reads a second text.

    The last layer is of the last kind of its stack.
    """
    for count, kind in _of_width(config):
        if not config.is_hybrid:
            yield count, kind, False
            continue
        width = count.removeprefix("n_").removesuffix("layers")
        both = {"mixer": config.token_mixer, "attention": TokenMixer.ATTENTION}
        last = config.mixer_of(config.n_layers - 1)
        for name, mixer in sorted(both.items(), key=lambda each: each[1] is last):
            one = kind.replace(token_mixer=mixer, attention_every=0)
            yield f"n_{width}{name}_layers", one, False
    if config.architecture is Architecture.ENCODER_DECODER:
        yield "n_decoder_layers", config, True
    if config.n_mtp_modules:
        yield "n_mtp_modules", config.like_last(), False


ATTENTION_NORMS = "attention_norms"  # which the first layer may lack
NORMED = {
    "n_layers": "n_normed_layers",
    "n_dense_layers": "n_normed_dense_layers",
    "n_mixer_layers": "n_normed_mixer_layers",
    "n_dense_mixer_layers": "n_normed_dense_mixer_layers",
}


def _of_width(config: ModelConfig) -> Iterator[tuple[str, ModelConfig]]:
    """Yield what counts dense layers and those with experts, and such a layer."""
    if config.n_dense_layers:
        yield "n_dense_layers", config.replace(n_experts=1)
        yield "n_expert_layers", config
    else:
        yield "n_layers", config


def _stack(count: str) -> str:
    return STACKS.get(count, "")


def _repeated(count: str, parts: list[Part]) -> Iterator[Part]:
    for part in parts:
        layers = NORMED.get(count, count) if part.name == ATTENTION_NORMS else count
        products = tuple((layers, *product) for product in part.products)
        yield replace(part, name=f"{_stack(count)}{part.name}", products=products)


def _input(count: str) -> Part:
    return Part(f"{_stack(count)}layer_input", "residual", ((count, *ROW),))


def _layer(
    config: ModelConfig, *, fused: bool, is_narrow: bool, is_decoder: bool
) -> Iterator[Part]:
    """Yield what one layer keeps."""
    n_sublayers = 1 + is_decoder + (not config.attention_only)
    n_normed = n_sublayers - config.lacks_first_norm
    if config.lacks_first_norm:
        yield Part(ATTENTION_NORMS, "norm", _of_norms(config, 1, 1, is_narrow=is_narrow))
    if n_normed and (norms := _norms(config, n_normed, is_narrow=is_narrow)):
        yield Part("norms", "norm", norms)
    if config.attends:
        yield from _attention(config, fused=fused, is_narrow=is_narrow)
    else:
        yield Part("mixer_in", "mixer", (ROW,))
        is_gru = config.token_mixer is TokenMixer.GRU
        yield Part("state", "mixer", ((9, *ROW),)) if is_gru else _gated_delta(is_narrow=is_narrow)
    if is_decoder:
        for part in _attention(config, fused=fused, is_cross=True, is_narrow=is_narrow):
            yield replace(part, name=f"cross_{part.name}", group="cross_attention")
    if config.dropout:
        yield Part("dropout", "residual", ((n_sublayers, *ROW),))
    if not config.attention_only:
        yield from _feed_forward(config)


def _norms(config: ModelConfig, n_sublayers: int, *, is_narrow: bool) -> tuple[Product, ...]:
    """Norms of one layer; two that stand side by side read the same stream."""
    match config.norm.norm_placement:
        case NormPlacement.PARALLEL:
            n_norms, n_inputs = config.norm.parallel_norms, 1
        case NormPlacement.SANDWICH:
            n_norms, n_inputs = 2 * n_sublayers, 2 * n_sublayers
        case _:
            n_norms, n_inputs = n_sublayers, n_sublayers
    return _of_norms(config, n_norms, n_inputs, is_narrow=is_narrow)


def _of_norms(
    config: ModelConfig, n_norms: int, n_inputs: int, *, is_narrow: bool
) -> tuple[Product, ...]:
    """Their inputs; where a norm is no single kernel, also what comes between.

    Of an RMSNorm, on a CPU, that is what a learned scale multiplies, and of narrower numbers both
    are float32; a batch norm keeps what it has centered, too.
    """
    exact = EXACT_ROW if is_narrow else ROW
    n_copies = n_norms if is_narrow else n_inputs
    is_scaled = config.norm.norm_affine
    match config.norm.norm_kind:
        case NormKind.NONE:
            return ()
        case NormKind.LAYER_NORM:
            return ((n_inputs, *ROW),)
        case NormKind.RMS_NORM:
            return ((n_copies, *exact), *(((n_norms, *exact),) if is_scaled else ()))
        case NormKind.BATCH_NORM:
            scaled = ((n_norms, *ROW),) if is_scaled else ()
            return ((n_copies, *EXACT_ROW), (n_norms, *EXACT_ROW), *scaled)


def _attention(
    config: ModelConfig, *, fused: bool, is_narrow: bool, is_cross: bool = False
) -> Iterator[Part]:
    """Input, queries, keys and values as they meet, pattern, and what the heads read."""
    is_fused = fused and can_be_fused(config.replace(relative_bias=False) if is_cross else config)
    yield Part("attention_in", "attention", (ROW,))
    keys = KEYS if is_fused else QUERIES  # in steps, each query head has a copy of its own
    if config.is_latent:
        yield from _latents(config)
    else:
        yield Part("q_k_v", "attention", (QUERIES, (2, *keys)))
    if config.attention.qk_norm and not config.is_latent:
        yield _qk_norm(config, is_narrow=is_narrow)
    if not is_fused:
        kept = (3, *PAIRS) if config.dropout else PAIRS  # itself, what is dropped, what is left
        yield Part("pattern", "attention", (kept,))
    elif _has_alibi(config) and not is_cross:  # what is added to the scores, and the mask in it
        yield Part("mask", "attention", (("n_heads", "n", "n", "bytes"),))
    elif config.local_window and not is_cross:  # a plain causal mask is not read
        yield Part("mask", "attention", (("n", "n", "bytes"),))
    if config.attention.score_softcap:
        yield Part("soft_cap", "attention", (PAIRS,))
    is_turned = config.position.position_kind is PositionKind.ROPE and not is_cross
    is_joined = is_fused and is_turned  # turned queries lie head by head, and so does what is read
    heads: Product = (*TOKENS, "n_heads", "d_value", "bytes")
    yield Part("head_out", "attention", ((2, *heads) if is_joined else heads,))
    if gate := GATE_WIDTHS.get(config.attention.attention_gate):
        yield Part("out_gate", "attention", (QUERIES, (*TOKENS, *gate, "bytes")))


def _gated_delta(*, is_narrow: bool) -> Part:
    """Before, in and behind the convolution and the gate; in float32 the rule, by chunks.

    Of a chunk five squares of its tokens, and the state before it. Of narrower numbers there are
    copies of queries and keys, whose length is taken, and of what is read, which is normed. Where
    heads share queries and keys, this is the upper bound.
    """
    heads: Product = (*TOKENS, "n_state_heads", "d_state")
    n_exact = 10 if is_narrow else 7
    exact: Product = (n_exact, *heads, "exact_bytes")
    squares = ("batch", "n_state_heads", 5, "pairs_in_chunks", "exact_bytes")
    states = ("batch", "n_chunks", "n_state_heads", "d_state", "d_state", "exact_bytes")
    numbers = (9, *TOKENS, "n_state_heads", "exact_bytes")
    return Part("state", "mixer", ((15, *heads, "bytes"), exact, squares, states, numbers))


def _latents(config: ModelConfig) -> Iterator[Part]:
    """Latents before their norms, normed and scaled; queries, keys, and what values are part of."""
    widths: tuple[Product, ...] = ((2, "d_kv_latent"), ("d_cached",))
    if config.d_q_latent:
        widths = ((3, "d_q_latent"), *widths)
    yield Part("latents", "attention", tuple((*TOKENS, *each, "bytes") for each in widths))
    heads: tuple[Product, ...] = ((2, "d_qk"), ("d_kv",))
    products = tuple((*TOKENS, "n_heads", *each, "bytes") for each in heads)
    yield Part("q_k_v", "attention", products)


def can_be_fused(config: ModelConfig) -> bool:
    """Whether fused kernels take its self-attention.

    Not what bends scores or learns to add any, nor values of another width than keys.
    """
    is_bent = config.attention.score_softcap > 0 or config.attention.attention_sink
    return not _has_relative_bias(config) and not is_bent and config.d_value == config.d_qk


def _has_alibi(config: ModelConfig) -> bool:
    return config.position.position_kind is PositionKind.ALIBI


def _has_relative_bias(config: ModelConfig) -> bool:
    is_two = config.architecture is Architecture.ENCODER_DECODER
    return is_two and config.encoder_decoder.relative_bias


def _qk_norm(config: ModelConfig, *, is_narrow: bool) -> Part:
    kept = "exact_bytes" if is_narrow else "bytes"
    times = (2,) if config.attention.qk_norm_scale else ()  # what it multiplies too
    both = tuple((*times, *each[:-1], kept) for each in (QUERIES, KEYS))
    return Part("qk_norm", "attention", both)


def _feed_forward(config: ModelConfig) -> Iterator[Part]:
    """Input, and the hidden values that the function and the products want again."""
    is_shared = config.norm.norm_placement is NormPlacement.PARALLEL
    if not is_shared or config.norm.parallel_norms > 1:
        yield Part("feed_forward_in", "feed_forward", (ROW,))
    activation = config.feed_forward.activation
    widths: tuple[Product, ...] = (("d_ff",),)
    if config.n_experts > 1:
        moved = (3, "n_active_experts", *ROW)  # to the experts, back from them, and weighted
        probs = (*TOKENS, "n_experts", "exact_bytes")
        yield Part("routed", "feed_forward", (moved, probs))
        experts = ("n_active_experts", "n_shared_experts")[: 1 + bool(config.n_shared_experts)]
        widths = tuple((name, expert_width(config)) for name in experts)
    if config.has_shared_gate:
        yield Part("shared_expert_gate", "feed_forward", (ROW, (*TOKENS, "bytes")))
    n_hidden = KEPT_HIDDEN.get(activation, 4 if activation.is_gated else 2)
    if activation.is_gated and config.feed_forward.gate_limit:
        n_hidden += OF_LIMITS
    if config.dropout:
        n_hidden += 2 if activation is Activation.RELU else 1
    times: Product = (n_hidden,) if n_hidden > 1 else ()
    hidden = tuple((*times, *TOKENS, *width, "bytes") for width in widths)
    yield Part("hidden", "feed_forward", hidden)


def _ends(config: ModelConfig, *, is_narrow: bool) -> Iterator[Part]:
    """Activations saved before the first layer and after the last; a block has neither."""
    if not config.architecture.reads_tokens:
        return
    n_texts = 2 if config.architecture is Architecture.ENCODER_DECODER else 1
    norms = _of_norms(config, n_texts, n_texts, is_narrow=is_narrow)
    yield Part("token_ids", "embedding", ((n_texts + 1, *TOKENS, "index_bytes"),))
    if _has_relative_bias(config):
        yield Part("distances", "attention", ((n_texts, "n", "n", "index_bytes"),))
    if config.norm.embedding_norm and norms:
        yield Part("embedding_norm", "norm", norms)
    if config.norm.norm_placement is not NormPlacement.POST and norms:
        yield Part("final_norm", "norm", norms)
    if config.has_prediction_head:
        yield Part("prediction_head", "embedding", (ROW, ROW))
        if norms:
            yield Part("prediction_norm", "norm", norms)
    yield Part("unembed_in", "embedding", (ROW,) * n_texts)
    if config.vocabulary.logit_softcap:
        yield Part("logit_soft_cap", "embedding", (LOGITS,))
    yield Part("log_probs", "embedding", (EXACT_LOGITS,))
    yield from _of_modules(config, is_narrow=is_narrow)


def _of_modules(config: ModelConfig, *, is_narrow: bool) -> Iterator[Part]:
    """Yield what stands around the layer of each module that predicts further ahead.

    Its first norm reads what a head has kept, its second the embeddings, which all modules share.
    """
    if not config.n_mtp_modules:
        return
    has_last = config.norm.norm_placement is not NormPlacement.POST
    norms = _of_norms(config, 2 + has_last, int(has_last), is_narrow=is_narrow)
    kept = [*(each for each in norms if 0 not in each), (3, *ROW), EXACT_LOGITS]
    if config.vocabulary.logit_softcap:
        kept.append(LOGITS)
    products = tuple(("n_mtp_modules", *each) for each in kept)
    yield Part("mtp.ends", "mtp", (*products, *((ROW,) if norms else ())))


def _product_terms(*products: Product) -> Moment:
    return tuple((1, product) for product in products)


def _terms(parts: Iterable[Part]) -> Moment:
    return _product_terms(*(product for part in parts for product in part.products))


def _negated(moment: Moment) -> Moment:
    """Turn the sign of terms: memory that is freed."""
    return tuple((-times, product) for times, product in moment)


def _total_bytes(moment: Moment, sizes: Sizes) -> int:
    """Bytes of all terms."""
    return sum(times * Part("", "", (product,)).count(sizes) for times, product in moment)


def _formula(moment: Moment) -> str:
    """Write the terms as a formula, each product once."""
    found: dict[tuple[str, ...], int] = {}
    for times, product in moment:
        letters = tuple(factor for factor in product if isinstance(factor, str))
        numbers = prod(factor for factor in product if isinstance(factor, int))
        found[letters] = found.get(letters, 0) + times * numbers
    terms = sorted((item for item in found.items() if item[1]), key=lambda item: item[1] < 0)
    said = " ".join(_term(letters, times) for letters, times in terms)
    return said.removeprefix("+ ")


def _term(letters: tuple[str, ...], times: int) -> str:
    number = (str(abs(times)),) if abs(times) > 1 else ()
    return f"{'−' if times < 0 else '+'} {' · '.join((*number, *letters))}"


def _peak_at_loss(config: ModelConfig, sizes: Sizes) -> Moment:
    """Peak at the loss: logits with two gradients, or with one and the unembedding's gradient."""
    if not config.architecture.reads_tokens:
        return ()
    both = _product_terms(LOGITS, (2, *EXACT_LOGITS))
    one = (*_product_terms((2, *LOGITS), TABLE), *_negated(_product_terms(EXACT_LOGITS)))
    return max(both, one, key=lambda moment: _total_bytes(moment, sizes))


def _peak_at_embedding(config: ModelConfig) -> Moment:
    """Peak at the embedding's backward: logits, and a tied embedding's partial gradient."""
    if not config.architecture.reads_tokens:
        return ()
    n_tables = 3 if config.vocabulary.tie_embeddings else 1
    return _product_terms(LOGITS, (n_tables, *TABLE))


def _peak_in_layer(config: ModelConfig, layer: list[Part], sizes: Sizes) -> Moment:
    """Peak in the backward pass of one layer: gradients allocated, activations freed."""
    after = _peak_after_head(config, sizes) if config.architecture.reads_tokens else ()
    wide = _terms(part for part in layer if part.group == "feed_forward")
    has_pattern = any(part.name == "pattern" for part in layer)
    in_attention = (*_product_terms((2, *PAIRS) if has_pattern else (3, *QUERIES)), *_negated(wide))
    either = (in_attention, _peak_in_feed_forward(config))
    worst = max(either, key=lambda moment: _total_bytes(moment, sizes))
    return (*after, *_product_terms((2, *ROW)), *worst)


def _peak_after_head(config: ModelConfig, sizes: Sizes) -> Moment:
    """Terms after the unembedding's backward: logits and a tied gradient stay, inputs go."""
    let_go = [EXACT_LOGITS, ROW]
    if config.norm.norm_placement is not NormPlacement.POST:
        let_go += _of_norms(config, 1, 1, is_narrow=sizes["bytes"] < FLOAT32_BYTES)
    there = [LOGITS, TABLE] if config.vocabulary.tie_embeddings else [LOGITS]
    return (*_product_terms(*there), *_negated(_product_terms(*let_go)))


def _peak_in_feed_forward(config: ModelConfig) -> Moment:
    """Peak in the feed-forward backward: hidden gradients and one weight's, expert by expert."""
    if config.attention_only:
        return ()
    activation = config.feed_forward.activation
    n_hidden = WORKING_HIDDEN.get(activation, 2 if activation.is_gated else 1)
    tokens: Product = ("tokens_of_an_expert",) if config.n_experts > 1 else TOKENS
    width = expert_width(config) if config.n_experts > 1 else "d_ff"
    hidden = (n_hidden, *tokens, width, "bytes")
    return _product_terms(hidden, ("d_model", width, "bytes"))

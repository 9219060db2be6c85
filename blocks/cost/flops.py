"""Exact FLOPs of the matrix products of a pass, by formula, without building anything.

A product of (m, k) and (k, n) counts 2·m·n·k: a multiplication and an addition for each number.
Norms, activations, softmax and additions are left out, as is usual (Kaplan et al. 2020,
section 2.1); a mask saves nothing, since masked scores are computed and thrown away.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from blocks.cost.parameters import Part, Product, config_sizes
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture

QUERIES: Product = ("n_heads", "d_head")
KEYS: Product = ("n_kv_heads", "d_head")


@dataclass(frozen=True)
class Pass:
    """What goes through once: new tokens, and what they meet.

    `n_new`: tokens that are computed, `n_keys`: tokens that each of them meets in self-attention
    (those in a cache too), `n_logits`: tokens after which the vocabulary is scored.
    """

    n_new: int
    n_keys: int
    n_logits: int = 0


def count_flops(config: ModelConfig, tokens: Pass) -> pd.DataFrame:
    """One row a product of a model of one text: part, group, formula, numbers, flops."""
    return _frame(products(config, tokens), pass_sizes(config, tokens))


def count_encoder_flops(config: ModelConfig, n_source: int) -> pd.DataFrame:
    """One row a product of the encoder, and of cross-attention's keys and values.

    Keys and values of cross-attention are computed once for the whole target.
    """
    return _frame(encoder_products(config), pass_sizes(config, Pass(n_source, n_source)))


def count_decoder_flops(config: ModelConfig, tokens: Pass, n_source: int) -> pd.DataFrame:
    """One row a product of the decoder: new target tokens, a source of `n_source` tokens."""
    sizes = pass_sizes(config, tokens, n_source=n_source)
    return _frame(decoder_products(config, tokens), sizes)


def products(config: ModelConfig, tokens: Pass) -> list[Part]:
    """Matrix products of a model of one text, by formula; its sizes are `pass_sizes`."""
    return [*_repeated(_layer(config), ("n_layers",)), *_unembed(config, tokens)]


def encoder_products(config: ModelConfig) -> list[Part]:
    """Matrix products of the encoder, and of cross-attention's keys and values."""
    memory = [_product(f"cross_{name}", "n_new", "d_model", *KEYS) for name in ("k_proj", "v_proj")]
    return [
        *_repeated(_layer(config), ("n_layers",)),
        *_repeated(memory, ("n_decoder_layers",)),
    ]


def decoder_products(config: ModelConfig, tokens: Pass) -> list[Part]:
    """Matrix products of the decoder."""
    cross = [
        _product("cross_q_proj", "n_new", "d_model", *QUERIES),
        _product("cross_scores", "n_new", "n_source", *QUERIES),
        _product("cross_values", "n_new", "n_source", *QUERIES),
        _product("cross_out_proj", "n_new", *QUERIES, "d_model"),
    ]
    layer = [*_layer(config), *cross]
    return [*_repeated(layer, ("n_decoder_layers",)), *_unembed(config, tokens)]


def pass_sizes(config: ModelConfig, tokens: Pass, *, n_source: int = 0) -> dict[str, int]:
    """Every size that the formula of a product may name."""
    return {
        **config_sizes(config),
        "n_active_experts": config.n_active_experts,
        "n_new": tokens.n_new,
        "n_keys": tokens.n_keys,
        "n_logits": tokens.n_logits,
        "n_source": n_source,
    }


def task_flops(config: ModelConfig, n_source: int, n_target: int) -> tuple[int, tuple[int, ...]]:
    """Reading a source, and then each token of the target, with caches.

    An encoder reads the source and scores `n_target` of its tokens at once: the price of each is
    its share. A GPT reads the source as its prompt; that gives the first token of the target.
    """
    match config.architecture:
        case Architecture.ENCODER:
            read = _total(count_flops(config, Pass(n_source, n_source)))
            score = _total(count_flops(config, Pass(0, 0, 1)))
            return read, (score,) * n_target
        case Architecture.ENCODER_DECODER:
            read = _total(count_encoder_flops(config, n_source))
            steps = (
                _total(count_decoder_flops(config, Pass(1, n, 1), n_source))
                for n in range(1, n_target + 1)
            )
            return read, tuple(steps)
        case _:
            read = _total(count_flops(config, Pass(n_source, n_source)))
            first = _total(count_flops(config, Pass(0, 0, 1)))
            later = (
                _total(count_flops(config, Pass(1, n_source + n, 1))) for n in range(1, n_target)
            )
            return read, (first, *later)[:n_target]


def _total(table: pd.DataFrame) -> int:
    return int(table["flops"].sum())


def _product(name: str, *factors: str | int) -> Part:
    group = "cross_attention" if name.startswith("cross_") else "attention"
    return Part(name, group, ((2, *factors),))


def _layer(config: ModelConfig) -> Iterator[Part]:
    """Self-attention and feed-forward of the new tokens."""
    yield _product("q_proj", "n_new", "d_model", *QUERIES)
    yield _product("k_proj", "n_new", "d_model", *KEYS)
    yield _product("v_proj", "n_new", "d_model", *KEYS)
    yield _product("scores", "n_new", "n_keys", *QUERIES)
    yield _product("values", "n_new", "n_keys", *QUERIES)
    yield _product("out_proj", "n_new", *QUERIES, "d_model")
    yield from _feed_forward(config)


def _feed_forward(config: ModelConfig) -> Iterator[Part]:
    if config.attention_only:
        return
    active: Product = ()
    if config.n_experts > 1:
        active = ("n_active_experts",)
        yield Part("router", "feed_forward", ((2, "n_new", "d_model", "n_experts"),))
    is_gated = config.feed_forward.activation.is_gated
    names = ("gate_proj", "up_proj", "down_proj") if is_gated else ("up_proj", "down_proj")
    for name in names:
        yield Part(name, "feed_forward", ((2, "n_new", *active, "d_model", "d_ff"),))


def _unembed(config: ModelConfig, tokens: Pass) -> Iterator[Part]:
    if config.has_prediction_head and tokens.n_logits:
        yield Part("prediction_head", "embedding", ((2, "n_logits", "d_model", "d_model"),))
    if config.architecture.reads_tokens and tokens.n_logits:
        yield Part("unembed", "embedding", ((2, "n_logits", "d_model", "vocab_size"),))


def _repeated(parts: Iterator[Part] | list[Part], times: Product) -> Iterator[Part]:
    for part in parts:
        yield Part(part.name, part.group, tuple((*times, *each) for each in part.products))


def _frame(parts: list[Part], sizes: dict[str, int]) -> pd.DataFrame:
    rows = [
        (part.name, part.group, part.formula(), part.numbers(sizes), part.count(sizes))
        for part in parts
    ]
    return pd.DataFrame(rows, columns=["part", "group", "formula", "numbers", "flops"])

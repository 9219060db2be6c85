"""Exact FLOPs of the matrix products of a pass, by formula, without building anything.

A product of (m, k) and (k, n) counts 2·m·n·k: a multiplication and an addition for each number.
Norms, activations, softmax and additions are left out, as is usual (Kaplan et al. 2020,
section 2.1). A causal mask saves nothing (Chowdhery et al. 2022, appendix B), a window does: each
token of a local layer is counted with as many keys as its window has, as a kernel for windows
computes it. A masked product computes them all (`Pass.computes_masked`); a kernel that skips what a
causal mask hides computes half in a full layer, too (`Pass.skips_masked`), and so the two kinds are
compared by one rule. A layer with a state is counted as its recurrence: in chunks it takes more
products, but fewer steps.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pandas as pd

from blocks.cost.pairs import n_seen
from blocks.cost.parameters import (
    Part,
    Product,
    attention_parts,
    config_sizes,
    cross_attention_parts,
    feed_forward_parts,
)
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.kinds import Architecture

MATRICES = "conv", "router", "shared_expert_gate"  # beside all that are called a projection
OF_SOURCE = "cross_k_proj", "cross_v_proj"


@dataclass(frozen=True)
class Pass:
    """One pass: its new tokens, and the keys that they attend to.

    `n_new`: tokens that are computed, `n_keys`: tokens that each of them meets in self-attention
    (those in a cache too), `n_logits`: tokens after which the vocabulary is scored.
    `computes_masked`: pairs outside a window are computed too and thrown away, as by the modules
    that run here and as torch counts them. `skips_masked`: of a decoder the pairs that its mask
    allows alone, in closed form. Raises `ConfigError` for a pass that cannot be.
    """

    n_new: int
    n_keys: int
    n_logits: int = 0
    computes_masked: bool = False
    skips_masked: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.n_new <= self.n_keys:
            text = N_("n_new ({n_new}) must be from 0 to n_keys ({n_keys})")
            raise ConfigError([Fault(text, {"n_new": self.n_new, "n_keys": self.n_keys})])


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
    is_continued = tokens.n_keys > tokens.n_new
    layers = _stack(config, "n_layers", is_continued=is_continued)
    if tokens.skips_masked and config.architecture is Architecture.GPT:
        layers = map(_of_seen, layers)
    return [*layers, *_unembed(config, tokens)]


def _of_seen(part: Part) -> Part:
    """The product of the pairs that are not masked, where it is one of pairs."""
    seen = {"n_keys": "n_seen", "n_local_keys": "n_local_seen"}

    def of(product: Product) -> Product:
        is_of_pairs = any(keys in product for keys in seen)
        kept = (each for each in product if not (is_of_pairs and each == "n_new"))
        return tuple(seen.get(each, each) if isinstance(each, str) else each for each in kept)

    return replace(part, products=tuple(map(of, part.products)))


def ahead_products(config: ModelConfig) -> list[Part]:
    """Matrix products of modules that predict further ahead: what training adds to `products`.

    Module k reads n − k tokens of a text of n: `n_ahead` are those of all modules, `n_ahead_pairs`
    the pairs that they make.
    """
    if not config.n_mtp_modules:
        return []
    join = Part("join_proj", "mtp", ((2, "n_new", 2, "d_model", "d_model"),))
    unembed = Part("unembed", "mtp", ((2, "n_new", "d_model", "vocab_size"),))
    parts = [join, *_layer(config.like_last()), unembed]
    return [
        Part(f"mtp.{part.name}", "mtp", tuple(map(_of_all_modules, part.products)))
        for part in parts
    ]


def _of_all_modules(product: Product) -> Product:
    is_of_pairs = "n_keys" in product
    tokens = "n_ahead_pairs" if is_of_pairs else "n_ahead"
    return tuple(tokens if each == "n_new" else each for each in product if each != "n_keys")


def encoder_products(config: ModelConfig) -> list[Part]:
    """Matrix products of the encoder, and of cross-attention's keys and values."""
    memory = [part for part in _cross(config) if part.name in OF_SOURCE]
    return [*_stack(config, "n_layers"), *_repeated(memory, ("n_decoder_layers",))]


def decoder_products(config: ModelConfig, tokens: Pass) -> list[Part]:
    """Matrix products of the decoder."""
    cross = [part for part in _cross(config) if part.name not in OF_SOURCE]
    layers = "n_decoder_layers"
    return [*_stack(config, layers), *_repeated(cross, (layers,)), *_unembed(config, tokens)]


def _cross(config: ModelConfig) -> Iterator[Part]:
    return _multiplied(cross_attention_parts(config), n_keys="n_source")


def pass_sizes(config: ModelConfig, tokens: Pass, *, n_source: int | None = None) -> dict[str, int]:
    """Every size that the formula of a product may name; `n_source`: of what a decoder reads."""
    is_causal = n_source is not None or config.architecture is Architecture.GPT
    ahead = [max(tokens.n_new - k, 0) for k in range(1, config.n_mtp_modules + 1)]
    return {
        **config_sizes(config),
        "n_local_keys": min(tokens.n_keys, _window(config, tokens, is_causal=is_causal)),
        "n_active_experts": config.n_active_experts,
        "n_new": tokens.n_new,
        "n_ahead": sum(ahead),
        "n_ahead_pairs": sum(n**2 for n in ahead),
        "n_keys": tokens.n_keys,
        "n_seen": n_seen(tokens.n_new, tokens.n_keys),
        "n_local_seen": n_seen(tokens.n_new, tokens.n_keys, config.local_window),
        "n_logits": tokens.n_logits,
        "n_source": n_source or 0,
    }


def _window(config: ModelConfig, tokens: Pass, *, is_causal: bool) -> int:
    """Keys that a token of a local layer meets at most: before it, and without a causal mask after.

    Masked, those of all new tokens.
    """
    if tokens.computes_masked:
        return config.local_window - 1 + tokens.n_new
    return config.local_window if is_causal else 2 * config.local_window - 1


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


def _stack(config: ModelConfig, layers: str, *, is_continued: bool = False) -> Iterator[Part]:
    """All layers of a stack: in local ones a new token meets what is left in their cache."""
    for part in _repeated(_layer(config, is_continued=is_continued), (layers,)):
        is_of_pairs = config.local_window and part.name in ("scores", "values")
        yield _local_and_global(part, config, layers) if is_of_pairs else part


def _local_and_global(part: Part, config: ModelConfig, layers: str) -> Part:
    n_layers = config.n_decoder_layers if layers == "n_decoder_layers" else config.n_layers
    n_local = config.n_local(n_layers)
    counts = {"n_keys": n_layers - config.n_mixer_layers - n_local, "n_local_keys": n_local}
    (rest,) = (product[1:] for product in part.products)
    found = tuple(
        (n, *(keys if factor == "n_keys" else factor for factor in rest))
        for keys, n in counts.items()
        if n
    )
    return Part(part.name, part.group, found)


def _layer(config: ModelConfig, *, is_continued: bool = False) -> Iterator[Part]:
    """Self-attention and feed-forward of the new tokens; `is_continued`: others are cached."""
    parts = (*attention_parts(config), *feed_forward_parts(config))
    return _multiplied(parts, is_absorbed=is_continued)


def _multiplied(
    parts: Iterable[Part], *, n_keys: str = "n_keys", is_absorbed: bool = False
) -> Iterator[Part]:
    """Yield the products of new tokens: with each matrix of `parts`, with keys, values and states.

    Keys and values are made of latents, or, `is_absorbed`, W_K stands in the queries and W_V in the
    heads. A token meets of all experts its own.
    """
    for part in parts:
        stack, _dot, name = part.name.rpartition(".")
        between = _between(part.group, name.removeprefix("cross_"), n_keys, is_absorbed=is_absorbed)
        is_matrix = name.endswith("_proj") or name in MATRICES
        if is_matrix and not (is_absorbed and name == "kv_proj"):
            yield replace(part, products=tuple(_of_new(part.name, each) for each in part.products))
        prefix = "cross_" if name.startswith("cross_") else ""
        for own, product in between.items():
            made = f"{stack}.{own}" if stack else f"{prefix}{own}"
            yield replace(part, name=made, products=((2, "n_new", *product),))


def _of_new(name: str, matrix: Product) -> Product:
    is_chosen = name != "router"
    factors = ("n_active_experts" if is_chosen and n == "n_experts" else n for n in matrix)
    return (2, "n_new", *factors)


def _between(group: str, after: str, n_keys: str, *, is_absorbed: bool) -> dict[str, Product]:
    """Return the products without weights that come after a matrix.

    Of a state: what is read under a key, what is written there, what a query reads. d_qk is
    d_head + d_rotary, d_cached d_kv_latent + d_rotary.
    """
    heads: Product = (n_keys, "n_heads")
    match after:
        case "decay_proj":
            return {"state": (3, "n_state_heads", "d_state", "d_state")}
        case "kv_proj" if is_absorbed:
            return {
                "absorbed_k_proj": ("n_heads", "d_head", "d_kv_latent"),
                "scores": (*heads, "d_cached"),
                "values": (*heads, "d_kv_latent"),
                "absorbed_v_proj": ("n_heads", "d_kv_latent", "d_value"),
            }
        case "kv_proj":
            return {"scores": (*heads, "d_qk"), "values": (*heads, "d_value")}
        case "v_proj" if group != "mixer":
            return {"scores": (*heads, "d_head"), "values": (*heads, "d_head")}
        case _:
            return {}


def _unembed(config: ModelConfig, tokens: Pass) -> Iterator[Part]:
    if config.has_prediction_head and tokens.n_logits:
        yield Part("prediction_head", "embedding", ((2, "n_logits", "d_model", "d_model"),))
    if config.architecture.reads_tokens and tokens.n_logits:
        yield Part("unembed", "embedding", ((2, "n_logits", "d_model", "vocab_size"),))


def _repeated(parts: Iterator[Part] | list[Part], times: Product) -> Iterator[Part]:
    for part in parts:
        own = (part.layers,) if part.layers else times
        yield replace(part, products=tuple((*own, *each) for each in part.products))


def _frame(parts: list[Part], sizes: dict[str, int]) -> pd.DataFrame:
    rows = [
        (part.name, part.group, part.formula(), part.numbers(sizes), part.count(sizes))
        for part in parts
    ]
    return pd.DataFrame(rows, columns=["part", "group", "formula", "numbers", "flops"])

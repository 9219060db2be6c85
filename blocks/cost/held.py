"""What each device holds of a model that several serve: its part of weights, caches and vectors.

A matrix is divided by heads, hidden values, vocabulary or experts, whichever it has (Shoeybi et al.
2019, section 3): the same formula as for all parameters, with a share of these sizes. What has none
of them is on each device: norms, routers, the latents of latent attention, the state of a GRU.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from blocks.cost.parameters import Part, config_sizes, expert_width, parts
from blocks.cost.setup import Layout, Setup, WeightFormat
from blocks.model.config import ModelConfig
from blocks.model.faults import N_, Fault
from blocks.model.kinds import Architecture, TokenMixer
from blocks.model.kv_cache import state_bytes

TABLES = ("embed", "position")
SHARED = ("n_heads", "n_kv_heads", "n_state_heads", "n_key_heads", "d_ff", "d_expert", "vocab_size")
LAST = ("final_norm", "pooler", "prediction_head", "prediction_norm", "unembed", "unembed_bias")
Sizes = dict[str, int]
Span = tuple[int, int]


class Holding(NamedTuple):
    """What the devices of one pipeline stage hold each.

    `per_token`: bytes of one more token of a text, with the window that bounds how many are kept
    (0: none does); `per_text`: bytes of a text however long it is; `is_last`: it has the logits.
    """

    weights: int
    per_token: tuple[tuple[int, int], ...]
    per_text: int
    is_last: bool

    def cache(self, texts: int, n: int) -> int:
        """Bytes of the caches of texts of n tokens."""
        kept = self.per_text if n else 0
        for size, window in self.per_token:
            kept += size * (min(n, window - 1) if window else n)
        return texts * kept


@lru_cache(maxsize=512)
def holdings(config: ModelConfig, setup: Setup) -> tuple[Holding, ...]:
    """Every stage that differs from the others: layers from the first on, the rest of them later.

    Tables stand before the first layer, the output matrix after the last; tied, both have it.
    """
    n = setup.serves_as.pipeline
    stages = (stage_holding(config, setup, stage, n) for stage in _telling_stages(config, n))
    return tuple(dict.fromkeys(stages))


def _telling_stages(config: ModelConfig, n: int) -> Iterator[int]:
    """Stages of which at least one is the fullest: of equal ones between the ends the first."""
    has_kinds = config.n_dense_layers or config.local_window or config.n_mixer_layers
    first_short = (config.n_decoder_layers or config.n_layers) % n
    is_small = n <= config.n_layers
    yield from range(n) if has_kinds and is_small else {0, min(1, n - 1), first_short, n - 1}


def span(n_layers: int, stage: int, n_stages: int) -> Span:
    """Return the first layer of a stage, and the one behind its last; the first have one more."""
    size, more = divmod(n_layers, n_stages)
    first = stage * size + min(stage, more)
    return first, first + size + (stage < more)


def stage_holding(config: ModelConfig, setup: Setup, stage: int, n: int) -> Holding:
    """What each device of a stage holds, of n stages."""
    n_layers = config.n_decoder_layers or config.n_layers
    is_last = stage == n - 1
    weights = round(sum(n_bytes for _part, n_bytes in held_parts(config, setup, stage, n)))
    is_tied = config.vocabulary.tie_embeddings and config.architecture.reads_tokens
    if n > 1 and is_last and is_tied:
        table = config.d_model * setup.serves_as.share(config.vocab_size)
        weights += table * setup.itemsize
    return Holding(weights, *_kept(config, setup, span(n_layers, stage, n)), is_last)


def held_parts(
    config: ModelConfig, setup: Setup, stage: int = 0, n_stages: int = 1
) -> Iterator[tuple[Part, float]]:
    """Each part with the bytes of it on one device of a stage; of one stage, of all layers."""
    whole = config_sizes(config)
    sizes = {**whole, **shared_sizes(config, setup.serves_as)}
    of_experts = {**whole, **_expert_sizes(config, setup.serves_as)}
    for part in parts(config):
        own = of_experts if is_routed(part) else sizes
        if "router" in part.name:
            own = whole
        n_held = _layers_held(part, whole, stage, n_stages)
        if n_held is None:
            is_after = part.group == "mtp" or part.name.endswith(LAST)
            is_here = stage == (n_stages - 1 if is_after else 0)
            n_weights = part.count(own) * is_here
        else:
            n_weights = part.count(own) * n_held // whole[part.layers]
        if n_weights:
            yield part, _bytes(part, n_weights, config, setup)


def is_routed(part: Part) -> bool:
    """Whether a part is the matrices or biases of experts among which a token has its own."""
    is_router = "router" in part.name
    return not is_router and any("n_experts" in product for product in part.products)


def looked_up(config: ModelConfig) -> int:
    """Parameters of tables of which a pass reads the rows of its tokens alone."""
    sizes = config_sizes(config)
    return sum(part.count(sizes) for part in parts(config) if is_looked_up(part, config))


def is_looked_up(part: Part, config: ModelConfig) -> bool:
    """Whether a pass reads rows of this table alone; tied, it scores the vocabulary too."""
    return part.name in TABLES and not (part.name == "embed" and config.vocabulary.tie_embeddings)


def uneven_heads(config: ModelConfig, layout: Layout) -> Fault | None:
    """The fault of heads that so many devices cannot divide evenly: servers refuse to start.

    Sizes are counted even so, of the device with most heads.
    """
    n_heads, tensor = config.n_heads, layout.tensor
    if n_heads % tensor == 0 or config.n_mixer_layers == config.n_layers:
        return None
    ways = [n for n in range(1, n_heads + 1) if n_heads % n == 0]
    choice = min(ways, key=lambda n: abs(n - tensor))
    text = N_(
        "Inference servers refuse a tensor-parallel size of {tensor} here, because it does "
        "not divide the {n_heads} heads evenly: use {choice}"
    )
    values = {"tensor": tensor, "n_heads": n_heads, "choice": choice}
    return Fault(text, values, {"tensor": choice})


def shared_sizes(config: ModelConfig, layout: Layout) -> Sizes:
    """Sizes that are divided, on one device: of what all tokens meet."""
    whole = config_sizes(config)
    shares = {name: layout.share(whole[name]) for name in SHARED}
    of_conv = 2 * shares["n_key_heads"] + shares["n_state_heads"]
    return {**shares, "d_conv": of_conv * config.d_state}


def _expert_sizes(config: ModelConfig, layout: Layout) -> Sizes:
    """Sizes of the experts on one device: whole ones, or parts of all."""
    width = expert_width(config)
    within = max(1, layout.tensor // layout.expert)
    n_experts = -(-config.n_experts // layout.expert)
    return {"n_experts": n_experts, width: -(-config_sizes(config)[width] // within)}


def _layers_held(part: Part, sizes: Sizes, stage: int, n_stages: int) -> int | None:
    """How many layers of a stage have a part; None where it is outside of layers."""
    if not part.layers or part.layers == "n_mtp_modules":
        return None
    stack = "n_decoder_layers" if part.name.startswith("decoder.") else "n_layers"
    first, end = span(sizes[stack], stage, n_stages)
    dense = min(end, sizes["n_dense_layers"]) - min(first, sizes["n_dense_layers"])
    match part.layers:
        case "n_dense_layers":
            return dense
        case "n_expert_layers":
            return end - first - dense
        case "n_attention_layers" | "n_mixer_layers":
            every = sizes["attention_every"] or 1
            attending = end // every - first // every
            return attending if part.layers == "n_attention_layers" else end - first - attending
        case "n_normed_layers":
            return max(0, end - max(first, sizes["n_layers"] - sizes["n_normed_layers"]))
        case _:
            return end - first


def is_rounded(part: Part, config: ModelConfig, setup: Setup) -> bool:
    """Whether a part is stored in few bits: matrices of layers, as in files of GPTQ, AWQ and fp8.

    In mxfp4 those of experts alone, where there are any (OpenAI 2025, gpt-oss). Tables, norms,
    routers and biases stay exact.
    """
    has_only_experts = setup.weight_format is WeightFormat.MXFP4 and config.n_experts > 1
    is_matrix = setup.is_packed and part.name.endswith("_proj")
    return is_matrix and (is_routed(part) or not has_only_experts)


def _bytes(part: Part, n_weights: int, config: ModelConfig, setup: Setup) -> float:
    if setup.stored is not None:
        return n_weights * setup.stored.bits_per_weight / 8
    if not is_rounded(part, config, setup):
        return n_weights * setup.itemsize
    return n_weights * setup.bits_per_rounded_weight / 8


def _kept(
    config: ModelConfig, setup: Setup, layers: Span
) -> tuple[tuple[tuple[int, int], ...], int]:
    """Bytes of a token in all layers of a stage, by window, and of a text."""
    if not config.architecture.generates:
        return (), 0
    of_layer = token_bytes(config, setup)
    n_local = config.n_local(layers[1]) - config.n_local(layers[0])
    n_all = layers[1] - layers[0]
    n_mixers = 0
    if config.n_mixer_layers:
        every = config.attention_every
        n_mixers = n_all - (layers[1] // every - layers[0] // every if every else 0)
    n_global = n_all - n_mixers - n_local
    is_of_two = config.architecture is Architecture.ENCODER_DECODER
    kept = [(n_global * of_layer, 0), (n_local * of_layer, config.local_window)]
    kept += [(n_all * of_layer, 0)] if is_of_two else []
    states = _state_share(config, setup) * n_mixers // max(1, config.n_mixer_layers)
    return tuple((size, window) for size, window in kept if size), states


def token_bytes(config: ModelConfig, setup: Setup) -> int:
    """Bytes that one layer keeps of a token, on one device, which holds whole heads.

    More devices than heads of keys and values hold the same ones again (Pope et al. 2022, section
    3.3); the latent vector of latent attention is on each.
    """
    if config.is_latent:
        return setup.caches_in.bytes_of(1, config.d_cached)
    n_heads = setup.serves_as.share(config.n_kv_heads)
    return setup.caches_in.bytes_of(2 * n_heads, config.d_head)


def _state_share(config: ModelConfig, setup: Setup) -> int:
    """Bytes of the states of a text on one device; those of a gated delta rule by heads."""
    n_bytes = state_bytes(config, setup.itemsize)
    if config.token_mixer is not TokenMixer.GATED_DELTA:
        return n_bytes
    return n_bytes * setup.serves_as.share(config.n_state_heads) // config.n_state_heads

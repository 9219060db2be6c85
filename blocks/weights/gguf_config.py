"""The metadata of a GGUF file as the config.json of its family: what is not understood is refused.

llama.cpp writes sizes under the name of an architecture ("llama.block_count"). Several families of
`transformers` share one: Mistral, Mixtral and SmolLM2 are all "llama".
"""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from blocks.model.faults import N_, nearest_names
from blocks.model.kinds import RopeScaling
from blocks.model.positions import Rope
from blocks.weights.config_rope import FULL, LOCAL
from blocks.weights.folder import Stored, refusal

ARCHITECTURE, TOKEN, EMBED = "general.architecture", "tokenizer.ggml.", "token_embd.weight"
Tensors = Mapping[str, Stored]
Values = dict[str, Any]

SIZES = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.key_length": "head_dim",
    "rope.freq_base": "rope_theta",
}
OF_GPT2 = {
    "context_length": "n_positions",
    "embedding_length": "n_embd",
    "block_count": "n_layer",
    "feed_forward_length": "n_inner",
    "attention.head_count": "n_head",
    "attention.layer_norm_epsilon": "layer_norm_epsilon",
}
WINDOW = {"attention.sliding_window": "sliding_window"}
EXPERTS = {"expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok"}
CAPS = {
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
}
MULTIPLIERS = {
    "attention.scale": "attention_multiplier",
    "embedding_scale": "embedding_multiplier",
    "residual_scale": "residual_multiplier",
    "logit_scale": "logits_scaling",
}
OWN_EPS = {"attention.layer_norm_epsilon": "norm_epsilon"}
SCALING = ("type", "factor", "original_context_length", "attn_factor", "finetuned")
TOLD = ("vocab_size", "rope.dimension_count")  # they follow from the rest
MARKS = {
    "bos_token_id": "bos_token_id",
    "eos_token_id": "eos_token_id",
    "pad_token_id": "padding_token_id",
}
FACTORS, LLAMA3_TRAINED = "rope_freqs.weight", 8192
LONG_FACTORS = {
    "short_factor": "rope_factors_short.weight",
    "long_factor": "rope_factors_long.weight",
}
NOT_UNDERSTOOD = N_("{name} in the GGUF file is not supported here: use the safetensors files")


class Metadata:
    """The values of one architecture; what was asked for is known, the rest is refused."""

    def __init__(self, metadata: Mapping[str, Any], tensors: Tensors):
        self.architecture = metadata.get(ARCHITECTURE)
        self.tensors = tensors
        start = f"{self.architecture}."
        self.own = {
            key.removeprefix(start): value
            for key, value in metadata.items()
            if key.startswith(start)
        }
        self.asked: set[str] = set()

    def get(self, name: str) -> Any:
        """The value, None where there is none. A list that says the same of each layer is one."""
        self.asked.add(name)
        value = self.own.get(name)
        if isinstance(value, list) and value and value == value[:1] * len(value):
            return value[0]
        return value

    def flags(self, name: str) -> Any:
        """The value as it is, a list included."""
        self.asked.add(name)
        return self.own.get(name)

    def named(self, names: Mapping[str, str]) -> Values:
        """Those that are there, by the names of config.json."""
        found = {theirs: self.get(name) for name, theirs in names.items()}
        return {theirs: value for theirs, value in found.items() if value is not None}

    def has(self, name: str) -> bool:
        """Whether there is a tensor of this name."""
        return name in self.tensors

    def check(self) -> None:
        """Refuse a value that nobody asked for: it may change what the model computes."""
        for name in sorted(self.own.keys() - self.asked):
            raise refusal(NOT_UNDERSTOOD, name=f"{self.architecture}.{name}"[:80])


Addition = Callable[[Metadata, Values], Values]  # what a family has beside, of the file and so far


def config_values(metadata: Mapping[str, Any], tensors: Tensors) -> Values:
    """Return what a config.json would say of this model. Raises `ConfigError`."""
    found = Metadata(metadata, tensors)
    if not isinstance(found.architecture, str) or found.architecture not in READERS:
        text = N_("GGUF files of {name} models cannot be read here; supported: {known}")
        name = ascii(found.architecture)[1:-1][:40]
        raise refusal(text, name=name, known=nearest_names(name, READERS, len(READERS)))
    values = READERS[found.architecture](found)
    for name in TOLD:
        found.get(name)
    found.check()
    table, title = tensors.get(EMBED), metadata.get("general.name")
    return {
        **values,
        **{
            ours: metadata[key] for ours, name in MARKS.items() if (key := TOKEN + name) in metadata
        },
        "vocab_size": table.shape[0] if table else None,
        "tie_word_embeddings": not found.has("output.weight"),
        "_name_or_path": title if isinstance(title, str) else "",
    }


def _llama(found: Metadata) -> Values:
    """Llama; Mistral, where a window is told; Mixtral, where there are experts."""
    values = _of_llama_kind(found, "llama")
    window, experts = found.named(WINDOW), found.named(EXPERTS)
    if experts.get("num_local_experts"):
        return {**values, **window, **experts, "model_type": "mixtral"}
    if window.get("sliding_window"):
        return {**values, **window, "model_type": "mistral"}
    return {**values, **BIAS(found, values), **WIDE_BIAS(found, values)}


def _has(**tensors: str) -> Addition:
    """Flags of biases: each is told by whether the first layer has one."""
    return lambda found, _values: {
        name: found.has(f"blk.0.{tensor}.bias") for name, tensor in tensors.items()
    }


def _named(names: Mapping[str, str]) -> Addition:
    return lambda found, _values: found.named(names)


def _always(**values: Any) -> Addition:
    return lambda _found, _values: values


def _windows(found: Metadata, _values: Values) -> Values:
    """Which layers see a window: every how many one does not, or a list with one flag a layer."""
    values = found.named(WINDOW)
    pattern = found.flags("attention.sliding_window_pattern")
    if isinstance(pattern, list):
        values["layer_types"] = [LOCAL if each else FULL for each in pattern]
    elif pattern is not None:
        values["sliding_window_pattern"] = pattern
    return values


def _divisor(largest: int) -> Addition:
    """What scores are divided by the root of: the largest model, of 27 B, has its own, not told."""

    def read(_found: Metadata, values: Values) -> Values:
        if values.get("num_hidden_layers") == largest:
            divisor = values["hidden_size"] // values["num_attention_heads"]
            return {"query_pre_attn_scalar": divisor}
        return {"query_pre_attn_scalar": values.get("head_dim")}

    return read


def _olmo(found: Metadata, _values: Values) -> Values:
    """OLMo 2; OLMo 3, where a window is told."""
    return {"model_type": "olmo3"} if found.get("attention.sliding_window") else {}


def _long_factors(found: Metadata, _values: Values) -> Values:
    """Factors of Phi-3 for long texts lie among the tensors."""
    trained = found.get("rope.scaling.original_context_length")
    if not all(map(found.has, LONG_FACTORS.values())):
        return {}
    factors = {name: _listed(found, key) for name, key in LONG_FACTORS.items()}
    rope = {"rope_type": "longrope", **factors}
    return {"rope_scaling": rope, "original_max_position_embeddings": trained}


def _turned_share(found: Metadata, values: Values) -> Values:
    turned, d_head = found.get("rope.dimension_count"), values.get("head_dim")
    if type(turned) is int and type(d_head) is int and d_head > 0:
        return {"partial_rotary_factor": turned / d_head}
    return {}


def _listed(found: Metadata, key: str) -> list[float]:
    """The numbers of a vector; those of a file that lies about its size are not read."""
    each = found.tensors[key]
    return each.tensor().flatten().tolist() if len(each.shape) == 1 else []


def _of_llama_kind(found: Metadata, family: str) -> Values:
    """What Llama and its descendants have in common."""
    values = {"model_type": family, **found.named(SIZES)}
    d_model, n_heads = values.get("hidden_size"), values.get("num_attention_heads")
    if "head_dim" not in values and type(d_model) is type(n_heads) is int and n_heads > 0:
        values["head_dim"] = d_model // n_heads
    n_values = found.get("attention.value_length")
    if n_values not in (None, values.get("head_dim")):
        text = N_("Heads with keys of {keys} and values of {values} numbers are not supported here")
        raise refusal(text, keys=values.get("head_dim"), values=ascii(n_values)[:40])
    return {**values, **_stretched(found, values)}


def _stretched(found: Metadata, values: Values) -> Values:
    """How RoPE is stretched; of Llama 3's rule llama.cpp keeps only the factors that it gives."""
    told = {name: found.get(f"rope.scaling.{name}") for name in SCALING}
    if told["type"] in (None, "none", "longrope"):
        return _by_llama3(found, values) if found.has(FACTORS) else {}
    rope = {"rope_type": told["type"], "factor": told["factor"]}
    if told["type"] == "yarn":
        rope["original_max_position_embeddings"] = told["original_context_length"]
    return {"rope_scaling": rope}


def _by_llama3(found: Metadata, values: Values) -> Values:
    """The rule as published, where it gives just the factors that are in the file."""
    factors, d_head = found.tensors[FACTORS].tensor().flatten(), values.get("head_dim")
    base, n = values.get("rope_theta", 10_000.0), len(factors)
    factor = round(float(factors.max()), 3)
    is_possible = type(base) is float and base > 0 and factor > 0 and 2 * n == d_head
    if is_possible and _llama3_factors(2 * n, base, factor).allclose(factors, rtol=1e-4):
        rope = {"rope_type": "llama3", "factor": factor}
        return {"rope_scaling": {**rope, "original_max_position_embeddings": LLAMA3_TRAINED}}
    raise refusal(NOT_UNDERSTOOD, name=FACTORS)


def _llama3_factors(width: int, base: float, factor: float) -> Tensor:
    """By what the published rule divides the speed of each pair."""
    rope = Rope(width, base, RopeScaling.LLAMA3, factor, LLAMA3_TRAINED)
    return Rope(width, base).speeds() / rope.speeds()


def _like(family: str, *additions: Addition) -> Callable[[Metadata], Values]:
    """A descendant of Llama, with what it has beside."""

    def read(found: Metadata) -> Values:
        values = _of_llama_kind(found, family)
        for each in additions:
            values |= each(found, values)
        return values

    return read


BIAS, WIDE_BIAS = _has(attention_bias="attn_q"), _has(mlp_bias="ffn_up")
USE_BIAS = _has(use_bias="attn_q")
OWN_BASE = {"rope.freq_base_swa": "rope_local_base_freq"}
FINE_EXPERTS = {**EXPERTS, "expert_feed_forward_length": "moe_intermediate_size"}
READERS: Mapping[str, Callable[[Metadata], Values]] = {
    "gpt2": lambda found: {"model_type": "gpt2", **found.named(OF_GPT2)},
    "llama": _llama,
    "granite": lambda found: {**_llama(found), "model_type": "granite", **found.named(MULTIPLIERS)},
    "qwen2": _like("qwen2"),
    "qwen3": _like("qwen3", BIAS),
    # llama.cpp always makes the chosen experts' shares add up to 1
    "qwen3moe": _like("qwen3_moe", BIAS, _named(FINE_EXPERTS), _always(norm_topk_prob=True)),
    "gemma": _like("gemma"),
    "gemma2": _like("gemma2", _named({**WINDOW, **CAPS}), _divisor(largest=46)),
    "gemma3": _like("gemma3_text", _named({**CAPS, **OWN_BASE}), _windows, _divisor(largest=62)),
    "olmo2": _like("olmo2", _olmo, BIAS, _windows),
    # every fourth layer turns nothing: llama.cpp knows no other model of this name
    "smollm3": _like("smollm3", BIAS, WIDE_BIAS),
    # no window told is no window; the family's own stands for absence in a config.json
    "exaone4": _like("exaone4", _always(sliding_window=None), _windows),
    "seed_oss": _like("seed_oss", BIAS, _has(attention_out_bias="attn_output"), WIDE_BIAS),
    "ernie4_5": _like("ernie4_5", USE_BIAS),
    "glm4": _like("glm4", BIAS, _turned_share),
    # llama.cpp reads it without its window
    "starcoder2": _like("starcoder2", _named(OWN_EPS), USE_BIAS),
    "phi3": _like("phi3", _named(WINDOW), _turned_share, _long_factors),
}

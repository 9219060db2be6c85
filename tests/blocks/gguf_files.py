"""GGUF files of toys of `transformers`, as llama.cpp's converter makes them.

Names of tensors and the writer are the `gguf` package's; what the converter does to a tensor beyond
that is written down here from its description, not from our reader.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Kind
from tokenizers.pre_tokenizers import ByteLevel
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

ARCHITECTURES = {
    "llama": "llama",
    "mistral": "llama",
    "mixtral": "llama",
    "granite": "granite",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3",
    "olmo2": "olmo2",
    "olmo3": "olmo2",
    "smollm3": "smollm3",
    "exaone4": "exaone4",
    "seed_oss": "seed_oss",
    "ernie4_5": "ernie4_5",
    "glm4": "glm4",
    "starcoder2": "starcoder2",
    "phi3": "phi3",
    "gpt2": "gpt2",
}
PERMUTED = ("llama", "granite", "smollm3")  # of llama.cpp's class LlamaModel
EXPERT = ("w1", "w2", "w3", "gate_proj", "up_proj", "down_proj")
Arrays = dict[str, "np.ndarray[Any, Any]"]


def write_gguf(
    path: Path,
    model: nn.Module,
    *,
    kind: Kind = Kind.F32,
    said: Mapping[str, Any] | None = None,
    tokens: Mapping[str, Any] | None = None,
    more: Arrays | None = None,
) -> Path:
    """Write a model; matrices whose rows are whole blocks in the format `kind`.

    `said`: metadata in the place of what is written, None to leave it out; `tokens`: of a
    tokenizer; `more`: further tensors.
    """
    config = model.config
    architecture = ARCHITECTURES[config.model_type]
    values = {**_metadata(config, architecture), **(said or {})}
    writer = gguf.GGUFWriter(path, values.pop("general.architecture", architecture))
    writer.data_alignment = 32
    for key, value in {**values, **(tokens or {})}.items():
        _add(writer, key, value)
    for name, array in {**_converted(model, architecture), **(more or {})}.items():
        block, _bytes = gguf.GGML_QUANT_SIZES[kind]
        if array.ndim > 1 and array.shape[-1] % block == 0 and kind is not Kind.F32:
            rounded = gguf.quants.quantize(array, kind)
            writer.add_tensor(name, rounded, raw_dtype=kind)
        else:
            writer.add_tensor(name, array)
    for write in ("header", "kv_data", "tensors"):
        getattr(writer, f"write_{write}_to_file")()
    writer.close()
    return path


def wide_llama() -> nn.Module:
    """A Llama whose rows are whole blocks of 32."""
    config = LlamaConfig(
        vocab_size=259,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
    )
    model = LlamaForCausalLM._from_config(config, attn_implementation="eager").eval()
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for each in model.parameters():
            each.normal_(float(each.dim() == 1), 0.2, generator=random)
    return model


def bytes_tokens() -> dict[str, Any]:
    """A tokenizer of 256 bytes, one merge and two special tokens, by GPT-2's names of bytes."""
    names = [*sorted(ByteLevel.alphabet()), "ab", "<s>", "</s>"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": names,
        "tokenizer.ggml.token_type": [1] * 257 + [3, 3],
        "tokenizer.ggml.merges": ["a b"],
    }


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    kinds = {bool: "bool", int: "uint32", float: "float32", str: "string", list: "array"}
    if value is not None:
        getattr(writer, f"add_{kinds[type(value)]}")(key, value)


def _metadata(config: Any, architecture: str) -> dict[str, Any]:
    """What the converter writes of the sizes, by its own names."""
    if architecture == "gpt2":
        own = {
            "block_count": config.n_layer,
            "context_length": config.n_positions,
            "embedding_length": config.n_embd,
            "feed_forward_length": config.n_inner or 4 * config.n_embd,
            "attention.head_count": config.n_head,
            "attention.layer_norm_epsilon": float(config.layer_norm_epsilon),
        }
        return {f"gpt2.{name}": value for name, value in own.items()}
    rope, d_head = config.rope_parameters, getattr(config, "head_dim", None)
    d_head = d_head or config.hidden_size // config.num_attention_heads
    full = rope.get("full_attention", rope)
    turned = int(d_head * full.get("partial_rotary_factor", 1.0))
    own = {
        "block_count": config.num_hidden_layers,
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        **_epsilon(config),
        "attention.key_length": d_head,
        "attention.value_length": d_head,
        "rope.freq_base": float(full["rope_theta"]),
        "rope.dimension_count": turned,
        "attention.sliding_window": getattr(config, "sliding_window", None),
        "expert_used_count": getattr(config, "num_experts_per_tok", None),
        "expert_count": getattr(config, "num_local_experts", getattr(config, "num_experts", None)),
        "expert_feed_forward_length": getattr(config, "moe_intermediate_size", None),
        "attn_logit_softcapping": getattr(config, "attn_logit_softcapping", None),
        "final_logit_softcapping": getattr(config, "final_logit_softcapping", None),
        "attention.scale": getattr(config, "attention_multiplier", None),
        "embedding_scale": getattr(config, "embedding_multiplier", None),
        "residual_scale": getattr(config, "residual_multiplier", None),
        "logit_scale": getattr(config, "logits_scaling", None),
    }
    if full["rope_type"] == "linear":
        own |= {"rope.scaling.type": "linear", "rope.scaling.factor": full["factor"]}
    if full["rope_type"] == "yarn":
        own |= {
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": full["factor"],
            "rope.scaling.attn_factor": 0.1 * math.log(full["factor"]) + 1,
            "rope.scaling.original_context_length": full["original_max_position_embeddings"],
        }
    if architecture == "starcoder2":
        del own["attention.sliding_window"]
    if architecture == "gemma3":
        own["rope.freq_base_swa"] = float(rope["sliding_attention"]["rope_theta"])
    if architecture in ("gemma3", "olmo2", "exaone4") and own["attention.sliding_window"]:
        own["attention.sliding_window_pattern"] = [
            kind == "sliding_attention" for kind in config.layer_types
        ]
    return {f"{architecture}.{name}": value for name, value in own.items()}


def _epsilon(config: Any) -> dict[str, float]:
    if hasattr(config, "norm_epsilon"):
        return {"attention.layer_norm_epsilon": config.norm_epsilon}
    return {"attention.layer_norm_rms_epsilon": float(config.rms_norm_eps)}


def _converted(model: nn.Module, architecture: str) -> Arrays:
    config = model.config
    arch = next(each for each, name in gguf.MODEL_ARCH_NAMES.items() if name == architecture)
    n_layers = getattr(config, "num_hidden_layers", None) or config.n_layer
    names = gguf.get_tensor_name_map(arch, n_layers)
    found: Arrays = {}
    for key, tensor in _as_saved(model).items():
        array = tensor.detach().float().numpy()
        name = names.get_name(key, try_suffixes=(".weight", ".bias"))
        assert name, key
        if architecture in PERMUTED and ".attn_q." in name:
            array = _paired(array, config.num_attention_heads)
        if architecture in PERMUTED and ".attn_k." in name:
            array = _paired(array, config.num_key_value_heads)
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            array = array + 1
        if architecture == "gpt2" and any(
            key.endswith(f"{each}.weight") for each in ("c_attn", "c_proj", "c_fc")
        ):
            array = array.T
        found[name] = np.ascontiguousarray(array)
    return found


def _as_saved(model: nn.Module) -> dict[str, Any]:
    """The tensors under the names of saved files, experts of a layer stacked; tied ones once."""
    tensors = dict(model.state_dict())
    if model.config.tie_word_embeddings:
        del tensors["lm_head.weight"]
    for key in [*tensors]:
        if key.endswith("mlp.experts.gate_up_proj"):
            gate, up = tensors.pop(key).chunk(2, dim=1)
            start = key.removesuffix("gate_up_proj")
            tensors |= {f"{start}gate_proj.weight": gate, f"{start}up_proj.weight": up}
        elif key.endswith("mlp.experts.down_proj"):
            tensors[f"{key}.weight"] = tensors.pop(key)
    return tensors


def _paired(rows: "np.ndarray[Any, Any]", n_heads: int) -> "np.ndarray[Any, Any]":
    """The two halves of a head's rows by turns, so that a rotary pair stands side by side."""
    halves = rows.reshape(n_heads, 2, rows.shape[0] // n_heads // 2, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape)

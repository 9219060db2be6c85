"""Families of published models at toy size, as `transformers` builds them, in our names."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertModel,
    FalconConfig,
    FalconForCausalLM,
    GemmaConfig,
    GemmaForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from blocks import ModelConfig

VOCAB_SIZE, N_LAYERS, D_MODEL, N_HEADS, D_FF, MAX_SEQ_LEN = 13, 2, 16, 4, 24, 8
EAGER = {"attn_implementation": "eager"}
LLAMA_SIZES = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": D_MODEL,
    "intermediate_size": D_FF,
    "num_hidden_layers": N_LAYERS,
    "num_attention_heads": N_HEADS,
    "max_position_embeddings": MAX_SEQ_LEN,
    **EAGER,
}
OURS = {
    "architecture": "gpt",
    "vocab_size": VOCAB_SIZE,
    "n_layers": N_LAYERS,
    "d_model": D_MODEL,
    "n_heads": N_HEADS,
    "d_ff": D_FF,
    "max_seq_len": MAX_SEQ_LEN,
    "position_kind": "rope",
    "dropout": 0.0,
}
LLAMA = {
    **OURS,
    "norm_kind": "rmsnorm",
    "activation": "swiglu",
    "attention_bias": False,
    "feed_forward_bias": False,
    "norm_eps": 1e-6,
}
LLAMA_LAYER = {
    "attention_residual.norm": "input_layernorm",
    "feed_forward_residual.norm": "post_attention_layernorm",
    "attention.q_proj": "self_attn.q_proj",
    "attention.k_proj": "self_attn.k_proj",
    "attention.v_proj": "self_attn.v_proj",
    "attention.out_proj": "self_attn.o_proj",
    "feed_forward.gate_proj": "mlp.gate_proj",
    "feed_forward.up_proj": "mlp.up_proj",
    "feed_forward.down_proj": "mlp.down_proj",
}
LLAMA_ENDS = {"embed": "model.embed_tokens", "final_norm": "model.norm"}

Weights = Mapping[str, Tensor]
Family = tuple[ModelConfig, nn.Module, Callable[[Weights], dict[str, Tensor]]]


def renamed(theirs: Weights, ends: Mapping[str, str], layer: Mapping[str, str], layers: str):
    """Their weights under our names; a layer's names stand without its number."""
    names = {**ends}
    for i in range(N_LAYERS):
        names |= {f"layers.{i}.{our}": f"{layers}.{i}.{their}" for our, their in layer.items()}
    return {
        f"{our}.{kind}": theirs[f"{their}.{kind}"]
        for our, their in names.items()
        for kind in ("weight", "bias")
        if f"{their}.{kind}" in theirs
    }


def qwen3() -> Family:
    """A head wider than d_model / n_heads; queries and keys with a norm that scales."""
    sizes = {**LLAMA_SIZES, "num_key_value_heads": 2, "head_dim": 6, "tie_word_embeddings": True}
    changes = {"n_kv_heads": 2, "d_head": 6, "qk_norm": True, "qk_norm_scale": True}
    layer = {
        **LLAMA_LAYER,
        "attention.q_norm": "self_attn.q_norm",
        "attention.k_norm": "self_attn.k_norm",
    }
    return (
        ModelConfig.from_flat({**LLAMA, **changes}),
        Qwen3ForCausalLM(Qwen3Config(**sizes)),
        lambda theirs: renamed(theirs, LLAMA_ENDS, layer, "model.layers"),
    )


def qwen2() -> Family:
    """Biases of q, k and v alone."""
    sizes = {**LLAMA_SIZES, "num_key_value_heads": 2, "tie_word_embeddings": False}
    changes = {"n_kv_heads": 2, "attention_bias": True, "out_bias": False, "tie_embeddings": False}
    ends = {**LLAMA_ENDS, "unembed": "lm_head"}
    return (
        ModelConfig.from_flat({**LLAMA, **changes}),
        Qwen2ForCausalLM(Qwen2Config(**sizes)),
        lambda theirs: renamed(theirs, ends, LLAMA_LAYER, "model.layers"),
    )


def gemma() -> Family:
    """One head of keys, wide heads; theirs scales the embedding and adds 1 to what norms learn."""
    sizes = {**LLAMA_SIZES, "num_key_value_heads": 1, "head_dim": 8}
    changes = {"n_kv_heads": 1, "d_head": 8, "activation": "geglu_tanh", "tie_embeddings": False}

    def ours(theirs: Weights) -> dict[str, Tensor]:
        found = renamed(theirs, LLAMA_ENDS, LLAMA_LAYER, "model.layers")
        found = {name: value + 1 if "norm" in name else value for name, value in found.items()}
        table = found["embed.weight"]
        return {**found, "embed.weight": D_MODEL**0.5 * table, "unembed.weight": table}

    config = GemmaConfig(**sizes, hidden_act="gelu_pytorch_tanh")
    return ModelConfig.from_flat({**LLAMA, **changes}), GemmaForCausalLM(config), ours


PARALLEL = {**OURS, "norm_placement": "parallel", "activation": "gelu"}


def pythia() -> Family:
    """Both sub-layers read the stream, each through its own norm; a quarter of a head turns."""
    sizes = {
        **LLAMA_SIZES,
        "intermediate_size": D_FF,
        "rotary_pct": 0.5,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "partial_rotary_factor": 0.5,
        },
        "tie_word_embeddings": False,
    }
    changes = {"parallel_norms": 2, "rotary_share": 0.5, "tie_embeddings": False}
    ends = {
        "embed": "gpt_neox.embed_in",
        "final_norm": "gpt_neox.final_layer_norm",
        "unembed": "lm_head",
    }
    layer = {
        "norm": "input_layernorm",
        "feed_forward_norm": "post_attention_layernorm",
        "attention.out_proj": "attention.dense",
        "feed_forward.up_proj": "mlp.dense_h_to_4h",
        "feed_forward.down_proj": "mlp.dense_4h_to_h",
    }

    def ours(theirs: Weights) -> dict[str, Tensor]:
        found = renamed(theirs, ends, layer, "gpt_neox.layers")
        for i in range(N_LAYERS):
            for kind in ("weight", "bias"):
                whole = theirs[f"gpt_neox.layers.{i}.attention.query_key_value.{kind}"]
                heads = whole.unflatten(0, (N_HEADS, 3, -1))  # q, k, v of a head side by side
                for name, part in zip("qkv", heads.unbind(1), strict=True):
                    found[f"layers.{i}.attention.{name}_proj.{kind}"] = part.flatten(0, 1)
        return found

    config = GPTNeoXConfig(**sizes)
    return ModelConfig.from_flat({**PARALLEL, **changes}), GPTNeoXForCausalLM(config), ours


def falcon() -> Family:
    """Both sub-layers read one norm; one head of keys for all queries."""
    sizes = {
        "vocab_size": VOCAB_SIZE,
        "hidden_size": D_MODEL,
        "num_hidden_layers": N_LAYERS,
        "num_attention_heads": N_HEADS,
        "ffn_hidden_size": D_FF,
        "bias": False,
        "multi_query": True,
        "parallel_attn": True,
        "new_decoder_architecture": False,
        "alibi": False,
        **EAGER,
    }
    changes = {"n_kv_heads": 1, "attention_bias": False, "feed_forward_bias": False}
    ends = {"embed": "transformer.word_embeddings", "final_norm": "transformer.ln_f"}
    layer = {
        "norm": "input_layernorm",
        "attention.out_proj": "self_attention.dense",
        "feed_forward.up_proj": "mlp.dense_h_to_4h",
        "feed_forward.down_proj": "mlp.dense_4h_to_h",
    }

    def ours(theirs: Weights) -> dict[str, Tensor]:
        found = renamed(theirs, ends, layer, "transformer.h")
        for i in range(N_LAYERS):
            whole = theirs[f"transformer.h.{i}.self_attention.query_key_value.weight"]
            d_head = D_MODEL // N_HEADS
            parts = whole.split((D_MODEL, d_head, d_head))
            for name, part in zip("qkv", parts, strict=True):
                found[f"layers.{i}.attention.{name}_proj.weight"] = part
        return found

    config = FalconConfig(**sizes)
    return ModelConfig.from_flat({**PARALLEL, **changes}), FalconForCausalLM(config), ours


def bert() -> Family:
    """An encoder with segments, a norm after the embedding, and a pooler."""
    sizes = {**LLAMA_SIZES, "type_vocab_size": 2, "layer_norm_eps": 1e-5}
    changes = {
        "architecture": "encoder",
        "position_kind": "learned",
        "norm_placement": "post",
        "embedding_norm": True,
        "n_segments": 2,
        "pooler": True,
    }
    ends = {
        "segment_embed": "embeddings.token_type_embeddings",
        "embedding_norm": "embeddings.LayerNorm",
        "pooler": "pooler.dense",
    }
    layer = {
        "attention.q_proj": "attention.self.query",
        "attention.k_proj": "attention.self.key",
        "attention.v_proj": "attention.self.value",
        "attention.out_proj": "attention.output.dense",
        "attention_residual.norm": "attention.output.LayerNorm",
        "feed_forward.up_proj": "intermediate.dense",
        "feed_forward.down_proj": "output.dense",
        "feed_forward_residual.norm": "output.LayerNorm",
    }

    def ours(theirs: Weights) -> dict[str, Tensor]:
        found = renamed(theirs, ends, layer, "encoder.layer")
        table = theirs["embeddings.word_embeddings.weight"] / D_MODEL**0.5  # ours scales it up
        position = theirs["embeddings.position_embeddings.weight"]
        return {**found, "embed.weight": table, "position.weight": position}

    config = BertConfig(**sizes)
    return ModelConfig.from_flat({**OURS, **changes}), BertModel(config), ours


def scrambled(model: nn.Module) -> nn.Module:
    """Every weight drawn anew, so that each of them matters."""
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.4, generator=random)
    return model.eval()

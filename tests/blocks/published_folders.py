"""Folders as `transformers` saves them: each family at two odd sizes, every weight drawn anew."""

from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from brought_folders import CONFIGS, SIZES
from torch import nn

OTHER = {
    "vocab_size": 53,
    "hidden_size": 20,
    "num_hidden_layers": 3,
    "num_attention_heads": 5,
    "intermediate_size": 31,
    "max_position_embeddings": 23,
}
GROUPED = {**SIZES, "num_key_value_heads": 2}
OTHER_GROUPED = {**OTHER, "num_key_value_heads": 1}
GPT2, BART = CONFIGS["gpt2"], CONFIGS["bart"]
MARIAN = {**BART, "pad_token_id": 36, "decoder_start_token_id": 36}
OTHER_GPT2 = {"vocab_size": 53, "n_embd": 20, "n_layer": 3, "n_head": 5, "n_positions": 23}
FALCON = {"vocab_size": 37, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6}
NEW_FALCON = {"new_decoder_architecture": True, "num_kv_heads": 2, "ffn_hidden_size": 50}
T5 = {"vocab_size": 37, "d_model": 24, "d_kv": 5, "d_ff": 29, "num_layers": 2, "num_heads": 6}
DISTIL = {"vocab_size": 37, "dim": 24, "n_layers": 2, "n_heads": 6, "hidden_dim": 29}
OPT = {"ffn_dim": 29, "word_embed_proj_dim": 24}
OTHER_OPT = {"ffn_dim": 31, "word_embed_proj_dim": 20, "enable_bias": False}

GEMMA2 = {
    "head_dim": 10,
    "query_pre_attn_scalar": 10,
    "sliding_window": 4,
    "attn_logit_softcapping": 5.0,
    "final_logit_softcapping": 3.0,
}
GEMMA3 = {
    "head_dim": 10,
    "query_pre_attn_scalar": 10,
    "sliding_window": 4,
    "rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e3},
    },
}

MODERNBERT = {
    "num_hidden_layers": 4,
    "local_attention": 4,
    "pad_token_id": 0,
    "rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 1e3},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e2},
    },
}

# the grouped product of torch wants widths of whole 16 bytes
EXPERTS = {"intermediate_size": 28, "num_local_experts": 5, "num_experts_per_tok": 3}
GPT_OSS = {
    "intermediate_size": 28,
    "num_local_experts": 5,
    "num_experts_per_tok": 3,
    "sliding_window": 4,
    "swiglu_limit": 0.7,
    "rope_parameters": {
        "rope_type": "yarn",
        "factor": 4.0,
        "rope_theta": 1e3,
        "original_max_position_embeddings": 400,
        "truncate": False,
    },
}
OF_QWEN3_5 = {
    "head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 6,
    "linear_key_head_dim": 7,
    "linear_value_head_dim": 7,
}
OF_OLMO3 = {
    "rope_parameters": {
        "full_attention": {
            "rope_type": "yarn",
            "factor": 4.0,
            "rope_theta": 1e3,
            "original_max_position_embeddings": 40,
        },
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e3},
    }
}
FINE = {"num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 8}
SHARED = {"shared_expert_intermediate_size": 16}
LATENT = {
    "kv_lora_rank": 10,
    "q_lora_rank": 7,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 6,
    "v_head_dim": 5,
    "n_routed_experts": 6,
    "num_experts_per_tok": 3,
    "n_shared_experts": 2,
    "moe_intermediate_size": 8,
    "first_k_dense_replace": 1,
    "routed_scaling_factor": 1.5,
}
LONG = {  # one factor for each pair that is turned
    "max_position_embeddings": 32,
    "original_max_position_embeddings": 10,
    "pad_token_id": 0,
}
FACTORS = {"short_factor": [1.0, 1.25], "long_factor": [1.5, 4]}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 40}
SCALES = {
    "embedding_multiplier": 12.0,
    "attention_multiplier": 0.015625,
    "residual_multiplier": 0.22,
    "logits_scaling": 8.0,
}
OTHER_EXPERTS = {"intermediate_size": 36, "num_local_experts": 3, "num_experts_per_tok": 1}


def rope(base: float, **more: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": base, **more}}


# family, class of transformers, its configuration; two sizes of each and the variants
# fmt: off
FOLDERS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2":         ("GPT2LMHeadModel", GPT2),
    "gpt2-odd":     ("GPT2LMHeadModel", {**OTHER_GPT2, "n_inner": 31,
                                         "tie_word_embeddings": False}),
    "bert":         ("BertForMaskedLM", SIZES),
    "bert-odd":     ("BertForMaskedLM", {**OTHER, "type_vocab_size": 3, "hidden_act": "relu"}),
    "bert-base":    ("BertModel", SIZES),
    "roberta":      ("RobertaForMaskedLM", SIZES),
    "roberta-odd":  ("RobertaForMaskedLM", {**OTHER, "type_vocab_size": 1, "pad_token_id": 0}),
    "distilbert":   ("DistilBertForMaskedLM", {**DISTIL, "max_position_embeddings": 17}),
    "distil-odd":   ("DistilBertForMaskedLM", {**DISTIL, "n_layers": 3, "n_heads": 3,
                                               "max_position_embeddings": 23}),
    "modernbert":   ("ModernBertForMaskedLM", {**SIZES, **MODERNBERT}),
    "modernbert-odd": ("ModernBertForMaskedLM", {**OTHER, "local_attention": 5, "norm_bias": True,
                                                 "attention_bias": True, "mlp_bias": True,
                                                 "classifier_bias": True, "decoder_bias": False,
                                                 "pad_token_id": 0, "global_attn_every_n_layers": 2,
                                                 "hidden_activation": "silu",
                                                 "classifier_activation": "silu"}),
    "llama":        ("LlamaForCausalLM", GROUPED),
    "llama-odd":    ("LlamaForCausalLM", {**OTHER_GROUPED, "head_dim": 10, "mlp_bias": True,
                                          "attention_bias": True, "tie_word_embeddings": True,
                                          **rope(5e5)}),
    "mistral":      ("MistralForCausalLM", {**GROUPED, "sliding_window": None}),
    "mistral-odd":  ("MistralForCausalLM", {**OTHER_GROUPED, "sliding_window": 9}),
    "mixtral":      ("MixtralForCausalLM", {**GROUPED, **EXPERTS}),
    "mixtral-odd":  ("MixtralForCausalLM", {**OTHER_GROUPED, **OTHER_EXPERTS, **rope(1e6)}),
    "qwen2":        ("Qwen2ForCausalLM", GROUPED),
    "qwen2-odd":    ("Qwen2ForCausalLM", {**OTHER_GROUPED, "tie_word_embeddings": True}),
    "qwen3":        ("Qwen3ForCausalLM", {**GROUPED, "head_dim": 10}),
    "qwen3-odd":    ("Qwen3ForCausalLM", {**OTHER_GROUPED, "head_dim": 6, "attention_bias": True,
                                          "tie_word_embeddings": True}),
    "granite":      ("GraniteForCausalLM", {**GROUPED, **SCALES}),
    "granite-odd":  ("GraniteForCausalLM", {**OTHER_GROUPED, "attention_bias": True,
                                            "attention_multiplier": 0.3, "mlp_bias": True,
                                            "tie_word_embeddings": True}),
    "qwen3_moe":    ("Qwen3MoeForCausalLM", {**GROUPED, **FINE, "head_dim": 10,
                                             "norm_topk_prob": True}),
    "qwen3_moe-odd": ("Qwen3MoeForCausalLM", {**OTHER_GROUPED, **FINE, "head_dim": 6,
                                              "mlp_only_layers": [0], **rope(1e6)}),
    "qwen2_moe":    ("Qwen2MoeForCausalLM", {**GROUPED, **FINE, **SHARED}),
    "qwen2_moe-odd": ("Qwen2MoeForCausalLM", {**OTHER_GROUPED, **FINE, "qkv_bias": False,
                                              "shared_expert_intermediate_size": 8,
                                              "mlp_only_layers": [0], "norm_topk_prob": True}),
    "qwen3_next":   ("Qwen3NextForCausalLM", {**GROUPED, **FINE, **SHARED, **OF_QWEN3_5,
                                              "num_hidden_layers": 4}),
    "qwen3_next-odd": ("Qwen3NextForCausalLM", {**OTHER_GROUPED, **FINE, **OF_QWEN3_5,
                                                "shared_expert_intermediate_size": 8,
                                                "head_dim": 16, "linear_num_key_heads": 3,
                                                "mlp_only_layers": [0], "norm_topk_prob": False,
                                                "layer_types": ["linear_attention",
                                                                "full_attention",
                                                                "linear_attention"]}),
    "gpt_oss":      ("GptOssForCausalLM", {**GROUPED, **GPT_OSS, "head_dim": 8}),
    "gpt_oss-odd":  ("GptOssForCausalLM", {**OTHER_GROUPED, **GPT_OSS, "sliding_window": 2,
                                           "attention_bias": False, "num_experts_per_tok": 1,
                                           "tie_word_embeddings": True, "swiglu_limit": 2.5,
                                           "head_dim": 6, "rope_parameters": None,
                                           "layer_types": ["sliding_attention"] * 3}),
    "gpt_oss-wide": ("GptOssForCausalLM", {**GROUPED, **GPT_OSS, "hidden_size": 64, "head_dim": 8,
                                           "intermediate_size": 32}),
    "deepseek_v2":  ("DeepseekV2ForCausalLM", {**SIZES, **LATENT, "num_key_value_heads": 6}),
    "deepseek_v2-odd": ("DeepseekV2ForCausalLM", {**OTHER, **LATENT, "q_lora_rank": None,
                                                  "num_key_value_heads": 5,
                                                  "topk_method": "group_limited_greedy",
                                                  "n_group": 3, "topk_group": 2}),
    "deepseek_v3":  ("DeepseekV3ForCausalLM", {**SIZES, **LATENT, "num_key_value_heads": 6,
                                             "n_group": 3, "topk_group": 2}),
    "deepseek_v3-odd": ("DeepseekV3ForCausalLM", {**OTHER, **LATENT, "num_key_value_heads": 5,
                                                  "n_group": 1,
                                                  "topk_group": 1, "norm_topk_prob": False,
                                                  "attention_bias": True, **rope(1e3)}),
    "deepseek_v2-yarn": ("DeepseekV2ForCausalLM", {**SIZES, **LATENT, "num_key_value_heads": 6,
                                                   **rope(1e2, **YARN, mscale=0.707,
                                                          mscale_all_dim=0.707)}),
    "deepseek_v3-yarn": ("DeepseekV3ForCausalLM", {**SIZES, **LATENT, "num_key_value_heads": 6,
                                                   "n_group": 3, "topk_group": 2,
                                                   **rope(1e2, **YARN, mscale=1.0,
                                                          mscale_all_dim=0.5)}),
    "gemma":        ("GemmaForCausalLM", {**GROUPED, "head_dim": 10}),
    "gemma-odd":    ("GemmaForCausalLM", {**OTHER_GROUPED, "head_dim": 6,
                                          "tie_word_embeddings": False}),
    "llama3":       ("LlamaForCausalLM", {**GROUPED, **rope(1e3, rope_type="llama3", factor=4.0,
                                                            low_freq_factor=1.0,
                                                            high_freq_factor=4.0,
                                                            original_max_position_embeddings=8)}),
    "gemma2":       ("Gemma2ForCausalLM", {**GROUPED, **GEMMA2}),
    "gemma2-odd":   ("Gemma2ForCausalLM", {**OTHER_GROUPED, **GEMMA2, "sliding_window": 2,
                                           "query_pre_attn_scalar": 7,
                                           "attn_logit_softcapping": None}),
    "gemma3":       ("Gemma3ForCausalLM", {**GROUPED, **GEMMA3}),
    "gemma3-odd":   ("Gemma3ForCausalLM", {**OTHER_GROUPED, **GEMMA3, "sliding_window": 2,
                                           "layer_types": ["sliding_attention",
                                                           "full_attention",
                                                           "sliding_attention"]}),
    "olmo2":        ("Olmo2ForCausalLM", GROUPED),
    "olmo2-odd":    ("Olmo2ForCausalLM", {**OTHER_GROUPED, "attention_bias": True,
                                          "tie_word_embeddings": True, **rope(5e5)}),
    "olmo3":        ("Olmo3ForCausalLM", {**GROUPED, "num_hidden_layers": 5, "sliding_window": 4,
                                          **OF_OLMO3}),
    "olmo3-odd":    ("Olmo3ForCausalLM", {**OTHER_GROUPED, "sliding_window": 2,
                                          "attention_bias": True, "tie_word_embeddings": True,
                                          "layer_types": ["sliding_attention", "full_attention",
                                                          "sliding_attention"]}),
    "smollm3":      ("SmolLM3ForCausalLM", {**GROUPED, "num_hidden_layers": 5, "pad_token_id": 0}),
    "smollm3-odd":  ("SmolLM3ForCausalLM", {**OTHER_GROUPED, "no_rope_layers": [1, 0, 1],
                                            "attention_bias": True, "mlp_bias": True,
                                            "tie_word_embeddings": False, "pad_token_id": 0}),
    "ministral":    ("MinistralForCausalLM", {**GROUPED, "head_dim": 10, "sliding_window": 4,
                                              "layer_types": ["sliding_attention",
                                                              "full_attention"]}),
    "ministral-odd": ("MinistralForCausalLM", {**OTHER_GROUPED, "head_dim": 6,
                                               "sliding_window": 3}),
    "exaone4":      ("Exaone4ForCausalLM", {**GROUPED, "num_hidden_layers": 5,
                                            "sliding_window": 4}),
    "exaone4-odd":  ("Exaone4ForCausalLM", {**OTHER_GROUPED, "sliding_window": None,
                                            "layer_types": ["full_attention"] * 3,
                                            "tie_word_embeddings": True}),
    "seed_oss":     ("SeedOssForCausalLM", {**GROUPED, "head_dim": 10, "pad_token_id": 0}),
    "seed_oss-odd": ("SeedOssForCausalLM", {**OTHER_GROUPED, "head_dim": 4, "mlp_bias": True,
                                            "attention_bias": False, "attention_out_bias": True}),
    "ernie4_5":     ("Ernie4_5ForCausalLM", {**GROUPED, "head_dim": 10}),
    "ernie4_5-odd": ("Ernie4_5ForCausalLM", {**OTHER_GROUPED, "head_dim": 6, "use_bias": True,
                                             "tie_word_embeddings": False, **rope(1e3)}),
    "glm":          ("GlmForCausalLM", {**GROUPED, "head_dim": 8, "pad_token_id": 0}),
    "glm-odd":      ("GlmForCausalLM", {**OTHER_GROUPED, "head_dim": 8, "attention_bias": False,
                                        "pad_token_id": 0, "tie_word_embeddings": True,
                                        **rope(1e3, partial_rotary_factor=0.75)}),
    "glm4":         ("Glm4ForCausalLM", {**GROUPED, "head_dim": 8, "pad_token_id": 0}),
    "glm4-odd":     ("Glm4ForCausalLM", {**OTHER_GROUPED, "head_dim": 12, "attention_bias": False,
                                         "pad_token_id": 0, "tie_word_embeddings": True}),
    "starcoder2":   ("Starcoder2ForCausalLM", GROUPED),
    "starcoder2-odd": ("Starcoder2ForCausalLM", {**OTHER_GROUPED, "use_bias": False,
                                                 "sliding_window": 4,
                                                 "tie_word_embeddings": False,
                                                 "hidden_act": "relu", **rope(1e3)}),
    "qwen3_5":      ("Qwen3_5ForCausalLM", {**GROUPED, "num_hidden_layers": 5, **OF_QWEN3_5}),
    "qwen3_5-odd":  ("Qwen3_5ForCausalLM", {**OTHER_GROUPED, **OF_QWEN3_5, "head_dim": 16,
                                            "linear_num_key_heads": 4, "tie_word_embeddings": True,
                                            "linear_num_value_heads": 4,
                                            "layer_types": ["linear_attention", "full_attention",
                                                            "linear_attention"]}),
    "phi":          ("PhiForCausalLM", GROUPED),
    "phi-odd":      ("PhiForCausalLM", {**OTHER, **rope(1e4, partial_rotary_factor=1.0)}),
    "phi3":         ("Phi3ForCausalLM", {**GROUPED, "pad_token_id": 0}),
    "phi3-odd":     ("Phi3ForCausalLM", {**OTHER_GROUPED, "hidden_size": 40, "sliding_window": 4,
                                         "tie_word_embeddings": True, "pad_token_id": None,
                                         **rope(1e3, partial_rotary_factor=0.75)}),
    "phi3-long":    ("Phi3ForCausalLM", {**GROUPED, **LONG,
                                         **rope(1e2, rope_type="longrope", **FACTORS,
                                                original_max_position_embeddings=10)}),
    "phi3-longer":  ("Phi3ForCausalLM", {**GROUPED, **LONG, "original_max_position_embeddings": 4,
                                         **rope(1e2, rope_type="longrope", **FACTORS,
                                                attention_factor=1.3,
                                                original_max_position_embeddings=4)}),
    "gpt_neox":     ("GPTNeoXForCausalLM", {**SIZES, **rope(1e4, partial_rotary_factor=0.5)}),
    "neox-odd":     ("GPTNeoXForCausalLM", {**OTHER, "use_parallel_residual": False,
                                            "attention_bias": False,
                                            **rope(1e3, partial_rotary_factor=0.5)}),
    "gptj":         ("GPTJForCausalLM", {**GPT2, "rotary_dim": 2}),
    "gptj-odd":     ("GPTJForCausalLM", {**OTHER_GPT2, "n_inner": 31, "rotary_dim": 4}),
    "opt":          ("OPTForCausalLM", {**SIZES, **OPT}),
    "opt-odd":      ("OPTForCausalLM", {**OTHER, **OTHER_OPT}),
    "bloom":        ("BloomForCausalLM", {**FALCON, "n_layer": 2, "n_head": 6}),
    "bloom-odd":    ("BloomForCausalLM", {"vocab_size": 53, "hidden_size": 20, "n_layer": 3,
                                          "n_head": 5}),
    "falcon":       ("FalconForCausalLM", FALCON),
    "falcon-heads": ("FalconForCausalLM", {**FALCON, "bias": True, "multi_query": False,
                                           "parallel_attn": False}),
    "falcon-new":   ("FalconForCausalLM", {**FALCON, **NEW_FALCON}),
    "falcon-one":   ("FalconForCausalLM", {**FALCON, **NEW_FALCON, "num_ln_in_parallel_attn": 1,
                                           "tie_word_embeddings": False}),
    "t5":           ("T5ForConditionalGeneration", T5),
    "t5-gated":     ("T5ForConditionalGeneration", {**T5, "num_decoder_layers": 3,
                                                    "feed_forward_proj": "gated-gelu",
                                                    "tie_word_embeddings": False}),
    "mt5":          ("MT5ForConditionalGeneration", T5),
    "mt5-odd":      ("MT5ForConditionalGeneration", {**T5, "num_decoder_layers": 1, "num_heads": 5,
                                                     "feed_forward_proj": "gated-silu"}),
    "bart":         ("BartForConditionalGeneration", BART),
    "bart-odd":     ("BartForConditionalGeneration", {**BART, "scale_embedding": True,
                                                      "encoder_layers": 1, "vocab_size": 53}),
    "marian":       ("MarianMTModel", {**MARIAN, "scale_embedding": True}),
    "marian-odd":   ("MarianMTModel", {**MARIAN, "vocab_size": 53, "decoder_vocab_size": 53,
                                       "d_model": 25, "encoder_attention_heads": 5,
                                       "decoder_attention_heads": 5, "activation_function": "swish",
                                       "share_encoder_decoder_embeddings": False}),
}
# fmt: on


class Folder(NamedTuple):
    path: Path
    theirs: nn.Module


def model_of(name: str, **more: Any) -> nn.Module:
    """The model of `transformers`, all that it learned and every saved buffer drawn anew."""
    kind, sizes = FOLDERS[name]
    cls = getattr(transformers, kind)
    model = cls._from_config(cls.config_class(**{**sizes, **more}), attn_implementation="eager")
    random = torch.Generator().manual_seed(0)
    is_bart = cls.config_class.model_type in ("bart", "marian")
    std = 0.1 if is_bart else 0.3  # norms after three writes a layer leave little of what came
    with torch.no_grad():
        for name, each in model.named_parameters():
            if each.requires_grad:  # all but fixed waves
                is_scale = each.dim() == 1 and name.endswith("weight")  # of a norm: about 1
                each.normal_(float(is_scale), std, generator=random)
        if (bias := getattr(model, "final_logits_bias", None)) is not None:
            bias.normal_(0, 0.3, generator=random)
    return model.eval()


def saved(name: str, path: Path, sizes: dict[str, Any] | None = None, **more: Any) -> Folder:
    """A model in a folder, as its users find it; `sizes` in the place of its own."""
    theirs = model_of(name, **(sizes or {}))
    theirs.save_pretrained(path, **more)
    return Folder(path, theirs)

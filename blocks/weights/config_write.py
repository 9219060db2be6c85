"""A configuration as the config.json of a family that can say it: `config_json` read backwards."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.in_use import settings_in_use
from blocks.model.kinds import Activation, Architecture, NormPlacement, RopeScaling
from blocks.model.options import factors
from blocks.model.positions import yarn_size
from blocks.weights.config_json import (
    FAMILIES,
    FULL,
    GATED,
    LINEAR,
    LOCAL,
    OF_T5,
    PLAIN,
    read_config_file,
)
from blocks.weights.families import LAYOUTS

Values = dict[str, Any]
ONLY_TRAINED_WITH = ("dropout", "initialization")
FACTORS = {"rope_short_factors", "rope_long_factors"}


def _word(config: ModelConfig, words: Mapping[str, Activation]) -> str:
    """Raises `StopIteration` where the family has no such activation."""
    wanted = config.feed_forward.activation
    return next(word for word, activation in words.items() if activation is wanted)


def _common(config: ModelConfig) -> Values:
    return {
        "vocab_size": config.vocab_size,
        "tie_word_embeddings": config.vocabulary.tie_embeddings,
    }


def _gpt2(config: ModelConfig) -> Values:
    return {
        **_common(config),
        "n_layer": config.n_layers,
        "n_embd": config.d_model,
        "n_head": config.n_heads,
        "n_inner": config.d_ff,
        "n_positions": config.max_seq_len,
        "activation_function": _word(config, PLAIN),
        "layer_norm_epsilon": config.norm.norm_eps,
    }


def _gptj(config: ModelConfig) -> Values:
    return {**_gpt2(config), "rotary_dim": config.rotary_width}


def _sizes(config: ModelConfig) -> Values:
    return {
        **_common(config),
        "num_hidden_layers": config.n_layers,
        "hidden_size": config.d_model,
        "num_attention_heads": config.n_heads,
        "max_position_embeddings": config.max_seq_len,
    }


def _bert(config: ModelConfig) -> Values:
    return {
        **_sizes(config),
        "intermediate_size": config.d_ff,
        "type_vocab_size": config.n_segments,
        "hidden_act": _word(config, PLAIN),
        "layer_norm_eps": config.norm.norm_eps,
    }


def _roberta(config: ModelConfig) -> Values:
    offset = config.position.position_offset
    rows = {"max_position_embeddings": offset + config.max_seq_len, "pad_token_id": offset - 1}
    return {**_bert(config), **rows}


def _distilbert(config: ModelConfig) -> Values:
    return {
        **_common(config),
        "n_layers": config.n_layers,
        "dim": config.d_model,
        "n_heads": config.n_heads,
        "hidden_dim": config.d_ff,
        "max_position_embeddings": config.max_seq_len,
        "activation": _word(config, PLAIN),
    }


def _modernbert(config: ModelConfig) -> Values:
    bias, word = config.feed_forward.feed_forward_bias, _word(config, GATED)
    return {
        **_sizes(config),
        **_turns_of_each_kind(config),
        "intermediate_size": config.d_ff,
        "hidden_activation": word,
        "classifier_activation": word,
        "layer_types": _kinds_of_layers(config),
        "local_attention": 2 * (config.local_window - 1) if config.local_window else 0,
        "norm_eps": config.norm.norm_eps,
        "norm_bias": config.norm.norm_bias,
        "attention_bias": config.attention.attention_bias,
        "mlp_bias": bias,
        "classifier_bias": bias,
        "pad_token_id": None,
    }


def _kinds_of_layers(config: ModelConfig) -> list[str]:
    return [LOCAL if config.window_of(layer) else FULL for layer in range(config.n_layers)]


def _rope(config: ModelConfig, **more: Any) -> Values:
    return {"rope_parameters": {**_turns(config), **more}}


def _turns(config: ModelConfig) -> Values:
    """How queries and keys are turned, and how that is stretched."""
    position = config.position
    found: Values = {"rope_type": "default", "rope_theta": position.rope_base}
    if position.rope_scaling is RopeScaling.NONE:
        return found
    found |= {"rope_type": str(position.rope_scaling), "factor": position.rope_factor}
    if position.rope_scaling is not RopeScaling.LINEAR:
        found["original_max_position_embeddings"] = position.rope_trained_len
    if position.rope_scaling is RopeScaling.YARN and not position.yarn_whole_pairs:
        found["truncate"] = False
    if position.rope_scaling is RopeScaling.LLAMA3:
        found |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    if position.rope_scaling is RopeScaling.LONGROPE:
        found["short_factor"] = factors(position.rope_short_factors)
        found["long_factor"] = factors(position.rope_long_factors)
    if position.rope_attention_factor:
        found["attention_factor"] = position.rope_attention_factor
    return found


def _llama(config: ModelConfig) -> Values:
    return {**_of_llama_kind(config), "hidden_act": _word(config, GATED)}


def _of_llama_kind(config: ModelConfig) -> Values:
    return {
        **_sizes(config),
        **_rope(config),
        "num_key_value_heads": config.n_kv_heads,
        "head_dim": config.d_head,
        "intermediate_size": config.d_ff,
        "rms_norm_eps": config.norm.norm_eps,
        "attention_bias": config.attention.attention_bias,
        "mlp_bias": config.feed_forward.feed_forward_bias,
    }


def _granite(config: ModelConfig) -> Values:
    return {**_llama(config), **vars(config.scales)}


def _of_full_attention(config: ModelConfig) -> Values:
    return {**_llama(config), "use_sliding_window": False, "sliding_window": None}


def _mistral(config: ModelConfig) -> Values:
    return {**_llama(config), "sliding_window": config.attention.local_window or None}


def _ministral(config: ModelConfig) -> Values:
    return {**_mistral(config), "layer_types": _kinds_of_layers(config)}


def _olmo3(config: ModelConfig) -> Values:
    return {**_ministral(config), **_turns_of_each_kind(config)}


def _smollm3(config: ModelConfig) -> Values:
    turned = [int(config.turns(layer)) for layer in range(config.n_layers)]
    full = {"use_sliding_window": False, "layer_types": [FULL] * config.n_layers}
    return {**_llama(config), **full, "no_rope_layers": turned, "pad_token_id": None}


def _seed_oss(config: ModelConfig) -> Values:
    return {**_llama(config), "attention_out_bias": config.out_bias}


def _ernie4_5(config: ModelConfig) -> Values:
    return {**_llama(config), "use_bias": config.feed_forward.feed_forward_bias}


def _glm(config: ModelConfig) -> Values:
    share = config.position.rotary_share
    turns = _rope(config, partial_rotary_factor=share)
    return {**_llama(config), **turns, "pad_token_id": None}


def _starcoder2(config: ModelConfig) -> Values:
    return {
        **_of_llama_kind(config),
        "hidden_act": _word(config, PLAIN),
        "sliding_window": config.attention.local_window or None,
        "norm_epsilon": config.norm.norm_eps,
        "use_bias": config.feed_forward.feed_forward_bias,
    }


def _phi3(config: ModelConfig) -> Values:
    return {
        **_mistral(config),
        **_rope(config, partial_rotary_factor=config.position.rotary_share),
        "original_max_position_embeddings": _trained_len(config),
        "pad_token_id": None,
    }


def _trained_len(config: ModelConfig) -> int:
    """After so many tokens `transformers` reads a Phi-3's text anew."""
    position = config.position
    is_stretched = position.rope_scaling is not RopeScaling.NONE
    return position.rope_trained_len if is_stretched else config.max_seq_len


def _mixtral(config: ModelConfig) -> Values:
    n_experts, n_active = config.n_experts, config.n_active_experts
    return {**_mistral(config), "num_local_experts": n_experts, "num_experts_per_tok": n_active}


def _qwen3_moe(config: ModelConfig) -> Values:
    return {**_of_full_attention(config), **_experts_of_qwen(config)}


def _qwen2_moe(config: ModelConfig) -> Values:
    bias = {"qkv_bias": config.attention.attention_bias}
    return {**_qwen3_moe(config), **_shared_of_qwen(config), **bias}


def _qwen3_next(config: ModelConfig) -> Values:
    return {**_qwen3_5(config), **_experts_of_qwen(config), **_shared_of_qwen(config)}


def _shared_of_qwen(config: ModelConfig) -> Values:
    return {"shared_expert_intermediate_size": config.n_shared_experts * config.d_expert}


def _experts_of_qwen(config: ModelConfig) -> Values:
    return {
        "num_experts": config.n_experts,
        "num_experts_per_tok": config.n_active_experts,
        "moe_intermediate_size": config.d_expert,
        "mlp_only_layers": [*range(config.n_dense_layers)],
        "norm_topk_prob": config.experts.normalize_top_k,
    }


def _qwen3_5(config: ModelConfig) -> Values:
    layers = range(config.n_layers)
    return {
        **_glm(config),
        "hidden_act": "silu",
        "layer_types": [FULL if config.attends_in(layer) else LINEAR for layer in layers],
        "linear_num_value_heads": config.n_state_heads,
        "linear_num_key_heads": config.n_key_heads,
        "linear_key_head_dim": config.d_state,
        "linear_value_head_dim": config.d_state,
    }


def _gpt_oss(config: ModelConfig) -> Values:
    return {
        **_of_llama_kind(config),
        "hidden_act": "silu",
        "sliding_window": config.attention.local_window or None,
        "layer_types": _kinds_of_layers(config),
        "swiglu_limit": config.feed_forward.gate_limit,
        "num_local_experts": config.n_experts,
        "num_experts_per_tok": config.n_active_experts,
    }


def _deepseek(config: ModelConfig) -> Values:
    experts = config.experts
    return {
        **_llama(config),
        **_rope(config, **_size_of_scores(config)),
        "num_key_value_heads": config.n_heads,
        "head_dim": config.d_rotary,
        "qk_nope_head_dim": config.d_head,
        "qk_rope_head_dim": config.d_rotary,
        "kv_lora_rank": config.d_kv_latent,
        "q_lora_rank": config.d_q_latent or None,
        "v_head_dim": config.d_value,
        "n_routed_experts": config.n_experts,
        "num_experts_per_tok": config.n_active_experts,
        "moe_intermediate_size": config.d_expert,
        "n_shared_experts": config.n_shared_experts,
        "first_k_dense_replace": config.n_dense_layers,
        "routed_scaling_factor": experts.routed_scale,
        "norm_topk_prob": experts.normalize_top_k,
        "n_group": experts.n_expert_groups,
        "topk_group": experts.n_active_groups,
    }


def _size_of_scores(config: ModelConfig) -> Values:
    """By how much all scores grow in YaRN, as a share of what its formula says."""
    multiplier, factor = config.scales.attention_multiplier, config.position.rope_factor
    if not multiplier or factor <= 1:
        return {}
    size = (multiplier * config.d_qk**0.5) ** 0.5
    return {"mscale_all_dim": round((size - 1) / (yarn_size(factor) - 1), 6)}


def _deepseek_v2(config: ModelConfig) -> Values:
    is_grouped = config.experts.n_expert_groups > 1
    return {**_deepseek(config), "topk_method": "group_limited_greedy" if is_grouped else "greedy"}


def _deepseek_v3(config: ModelConfig) -> Values:
    return {**_deepseek(config), "num_nextn_predict_layers": config.n_mtp_modules}


def _gemma(config: ModelConfig) -> Values:
    return {**_llama(config), "hidden_activation": _word(config, GATED)}


def _gemma2(config: ModelConfig) -> Values:
    caps = config.attention.score_softcap, config.vocabulary.logit_softcap
    return {
        **_gemma(config),
        "query_pre_attn_scalar": round((config.query_scale / config.d_head**0.5) ** -2),
        "sliding_window": config.attention.local_window or None,
        "layer_types": _kinds_of_layers(config),
        "attn_logit_softcapping": caps[0] or None,
        "final_logit_softcapping": caps[1] or None,
    }


def _gemma3(config: ModelConfig) -> Values:
    return {**_gemma2(config), **_turns_of_each_kind(config)}


def _turns_of_each_kind(config: ModelConfig) -> Values:
    local = {"rope_type": "default", "rope_theta": config.position.local_rope_base}
    return {"rope_parameters": {FULL: _turns(config), LOCAL: local}}


def _neox(config: ModelConfig) -> Values:
    share = config.position.rotary_share
    return {
        **_sizes(config),
        **_rope(config, partial_rotary_factor=share),
        "rotary_pct": share,
        "intermediate_size": config.d_ff,
        "hidden_act": _word(config, PLAIN),
        "layer_norm_eps": config.norm.norm_eps,
        "attention_bias": config.attention.attention_bias,
        "use_parallel_residual": config.norm.norm_placement is NormPlacement.PARALLEL,
    }


def _phi(config: ModelConfig) -> Values:
    share = config.position.rotary_share
    heads = {"num_key_value_heads": config.n_kv_heads, "partial_rotary_factor": share}
    return {**_neox(config), **heads}


def _opt(config: ModelConfig) -> Values:
    return {
        **_sizes(config),
        "ffn_dim": config.d_ff,
        "word_embed_proj_dim": config.d_model,
        "activation_function": _word(config, PLAIN),
        "enable_bias": config.attention.attention_bias,
        "layer_norm_elementwise_affine": config.norm.norm_affine,
    }


def _bloom(config: ModelConfig) -> Values:
    return {
        **_common(config),
        "n_layer": config.n_layers,
        "hidden_size": config.d_model,
        "n_head": config.n_heads,
        "seq_length": config.max_seq_len,
        "layer_norm_epsilon": config.norm.norm_eps,
    }


def _falcon(config: ModelConfig) -> Values:
    n_norms = config.norm.parallel_norms
    is_new = n_norms > 1 or 1 < config.n_kv_heads < config.n_heads
    return {
        **_sizes(config),
        **_rope(config),
        "ffn_hidden_size": config.d_ff,
        "activation": _word(config, PLAIN),
        "layer_norm_epsilon": config.norm.norm_eps,
        "bias": config.attention.attention_bias,
        "alibi": False,
        "new_decoder_architecture": is_new,
        "num_kv_heads": config.n_kv_heads,
        "multi_query": config.n_kv_heads == 1,
        "num_ln_in_parallel_attn": n_norms if is_new else None,
        "parallel_attn": config.norm.norm_placement is NormPlacement.PARALLEL,
    }


def _t5(config: ModelConfig) -> Values:
    return {**_mt5(config), "scale_decoder_outputs": config.vocabulary.scale_output}


def _mt5(config: ModelConfig) -> Values:
    return {
        **_common(config),
        "num_layers": config.n_layers,
        "num_decoder_layers": config.n_decoder_layers,
        "d_model": config.d_model,
        "num_heads": config.n_heads,
        "d_kv": config.d_head,
        "d_ff": config.d_ff,
        "feed_forward_proj": _word(config, OF_T5),
        "layer_norm_epsilon": config.norm.norm_eps,
        "n_positions": config.max_seq_len,
        "is_encoder_decoder": True,
    }


def _bart(config: ModelConfig) -> Values:
    return {
        **_common(config),
        "encoder_layers": config.n_layers,
        "decoder_layers": config.n_decoder_layers,
        "d_model": config.d_model,
        "encoder_attention_heads": config.n_heads,
        "decoder_attention_heads": config.n_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "max_position_embeddings": config.max_seq_len,
        "activation_function": _word(config, PLAIN),
        "scale_embedding": config.scale_embeddings,
        "is_encoder_decoder": True,
    }


def _marian(config: ModelConfig) -> Values:
    """Its padding is the last token, and begins every target."""
    last = config.vocab_size - 1
    return {
        **_bart(config),
        "share_encoder_decoder_embeddings": config.encoder_decoder.share_embeddings,
        "pad_token_id": last,
        "decoder_start_token_id": last,
    }


class Writer(NamedTuple):
    """What writes the keys of a family, and its class with a head, as the file names it."""

    write: Callable[[ModelConfig], Values]
    whole: str


WRITERS = {
    "gpt2": Writer(_gpt2, "GPT2LMHeadModel"),
    "bert": Writer(_bert, "BertForMaskedLM"),
    "roberta": Writer(_roberta, "RobertaForMaskedLM"),
    "distilbert": Writer(_distilbert, "DistilBertForMaskedLM"),
    "modernbert": Writer(_modernbert, "ModernBertForMaskedLM"),
    "t5": Writer(_t5, "T5ForConditionalGeneration"),
    "mt5": Writer(_mt5, "MT5ForConditionalGeneration"),
    "bart": Writer(_bart, "BartForConditionalGeneration"),
    "marian": Writer(_marian, "MarianMTModel"),
    "llama": Writer(_llama, "LlamaForCausalLM"),
    "granite": Writer(_granite, "GraniteForCausalLM"),
    "mistral": Writer(_mistral, "MistralForCausalLM"),
    "mixtral": Writer(_mixtral, "MixtralForCausalLM"),
    "qwen2": Writer(_of_full_attention, "Qwen2ForCausalLM"),
    "qwen3": Writer(_of_full_attention, "Qwen3ForCausalLM"),
    "qwen2_moe": Writer(_qwen2_moe, "Qwen2MoeForCausalLM"),
    "qwen3_moe": Writer(_qwen3_moe, "Qwen3MoeForCausalLM"),
    "qwen3_next": Writer(_qwen3_next, "Qwen3NextForCausalLM"),
    "gpt_oss": Writer(_gpt_oss, "GptOssForCausalLM"),
    "deepseek_v2": Writer(_deepseek_v2, "DeepseekV2ForCausalLM"),
    "deepseek_v3": Writer(_deepseek_v3, "DeepseekV3ForCausalLM"),
    "gemma": Writer(_gemma, "GemmaForCausalLM"),
    "gemma2": Writer(_gemma2, "Gemma2ForCausalLM"),
    "gemma3_text": Writer(_gemma3, "Gemma3ForCausalLM"),
    "olmo2": Writer(_llama, "Olmo2ForCausalLM"),
    "olmo3": Writer(_olmo3, "Olmo3ForCausalLM"),
    "smollm3": Writer(_smollm3, "SmolLM3ForCausalLM"),
    "ministral": Writer(_ministral, "MinistralForCausalLM"),
    "exaone4": Writer(_ministral, "Exaone4ForCausalLM"),
    "seed_oss": Writer(_seed_oss, "SeedOssForCausalLM"),
    "ernie4_5": Writer(_ernie4_5, "Ernie4_5ForCausalLM"),
    "glm": Writer(_glm, "GlmForCausalLM"),
    "glm4": Writer(_glm, "Glm4ForCausalLM"),
    "starcoder2": Writer(_starcoder2, "Starcoder2ForCausalLM"),
    "qwen3_5_text": Writer(_qwen3_5, "Qwen3_5ForCausalLM"),
    "phi": Writer(_phi, "PhiForCausalLM"),
    "phi3": Writer(_phi3, "Phi3ForCausalLM"),
    "gpt_neox": Writer(_neox, "GPTNeoXForCausalLM"),
    "gptj": Writer(_gptj, "GPTJForCausalLM"),
    "opt": Writer(_opt, "OPTForCausalLM"),
    "bloom": Writer(_bloom, "BloomForCausalLM"),
    "falcon": Writer(_falcon, "FalconForCausalLM"),
}


def family_of(config: ModelConfig, came_as: str = "") -> str:
    """The first family whose config.json can say all that does something in this configuration.

    That which the model came in as, where it still can. Raises `ConfigError` where there is none.
    """
    known = [came_as] if came_as in WRITERS else []
    for family in (*known, *WRITERS):
        if written(family, config) is not None:
            return family
    text = N_(
        "No known model family supports this configuration; models can be saved in the "
        "formats of these families: {known}"
    )
    raise ConfigError([Fault(text, {"known": ", ".join(WRITERS)})])


def config_json(family: str, config: ModelConfig) -> str:
    """The config.json of this configuration. Raises `ConfigError` where the family cannot say it.

    What is written is read again, so nothing is lost on the way.
    """
    text = written(family, config) if family in WRITERS else None
    if text is None:
        said = N_(
            "A config.json of the {family} family cannot describe this configuration; known "
            "families: {known}"
        )
        raise ConfigError([Fault(said, {"family": family, "known": ", ".join(WRITERS)})])
    return text


def written(family: str, config: ModelConfig) -> str | None:
    """The config.json, or None where reading it does not give the same configuration again."""
    writer = WRITERS[family]
    try:
        keys = writer.write(config)
        named = FAMILIES[family].counted_as if _is_without_head(config) else writer.whole
        text = json.dumps({"model_type": family, "architectures": [named], **keys}, indent=2)
        found = read_config_file(text).config
        in_files = [*LAYOUTS[family].optional, *(["n_mtp_modules"] if LAYOUTS[family].mtp else [])]
        found = found.replace(**{name: config.flat()[name] for name in in_files})
    except (StopIteration, ConfigError):
        return None
    return text if _counting(found) == _counting(config) else None


def _is_without_head(config: ModelConfig) -> bool:
    is_encoder = config.architecture is Architecture.ENCODER
    return is_encoder and not config.has_prediction_head


def _counting(config: ModelConfig) -> Values:
    """What counts when the model is run."""
    settings = settings_in_use(config)
    for name in FACTORS & settings.keys():
        settings[name] = factors(settings[name])  # however they were written
    return {name: value for name, value in settings.items() if name not in ONLY_TRAINED_WITH}

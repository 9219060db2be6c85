"""A config.json of a known family is counted as `transformers` builds it; the rest is refused."""

import json
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from published import CAUSAL, CONFIGS, COUNTS, PLAIN, TWO
from transformers import (
    AutoConfig,
    BartConfig,
    BertConfig,
    BloomConfig,
    DeepseekV2Config,
    DeepseekV3Config,
    DistilBertConfig,
    Ernie4_5Config,
    Exaone4Config,
    FalconConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    Glm4Config,
    GlmConfig,
    GPT2Config,
    GPTJConfig,
    GPTNeoXConfig,
    GptOssConfig,
    GraniteConfig,
    LlamaConfig,
    MarianConfig,
    MinistralConfig,
    MistralConfig,
    MixtralConfig,
    ModernBertConfig,
    MT5Config,
    Olmo2Config,
    Olmo3Config,
    OPTConfig,
    Phi3Config,
    PhiConfig,
    Qwen2Config,
    Qwen2MoeConfig,
    Qwen3_5TextConfig,
    Qwen3Config,
    Qwen3MoeConfig,
    Qwen3NextConfig,
    RobertaConfig,
    SeedOssConfig,
    SmolLM3Config,
    Starcoder2Config,
    T5Config,
)

from blocks.cost.parameters import total_parameters
from blocks.model.faults import ConfigError
from blocks.model.models import count_built
from blocks.model.positions import rope_of
from blocks.weights.config_families import FAMILIES
from blocks.weights.config_json import MOST_CHARACTERS, read_config_file, read_config_json
from blocks.weights.config_parts import GATED

CLASS_OF = {
    "bert": PLAIN,
    "roberta": PLAIN,
    "distilbert": PLAIN,
    "modernbert": PLAIN,
    "bart": PLAIN,
    "marian": PLAIN,
    "t5": TWO,
    "mt5": TWO,
}


def made(config: Any) -> torch.nn.Module:
    """The model that `transformers` builds, without memory."""
    with torch.device("meta"):
        model = CLASS_OF.get(config.model_type, CAUSAL).from_config(config)
    model.tie_weights()
    return model


def built(config: Any) -> int:
    """Its learned numbers, tied ones once."""
    return sum(each.numel() for each in made(config).parameters() if each.requires_grad)


@pytest.mark.parametrize("name", CONFIGS)
def test_files_of_published_models_are_counted(name: str):
    _kind, config = CONFIGS[name]
    found = read_config_file(config.to_json_string())
    assert total_parameters(found.config) == COUNTS[name]
    assert found.family == config.model_type


LLAMA = {
    "vocab_size": 37,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 29,
    "max_position_embeddings": 17,
}
NEOX = {name: value for name, value in LLAMA.items() if name != "num_key_value_heads"}
GPT2 = {"vocab_size": 37, "n_embd": 24, "n_layer": 3, "n_head": 6, "n_positions": 17}
T5 = {"vocab_size": 37, "d_model": 24, "d_kv": 5, "d_ff": 29, "num_layers": 3, "num_heads": 6}
BART = {
    "vocab_size": 37,
    "d_model": 24,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 6,
    "decoder_attention_heads": 6,
    "encoder_ffn_dim": 29,
    "decoder_ffn_dim": 29,
    "max_position_embeddings": 17,
}
FALCON = {"vocab_size": 37, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 6}
DISTILBERT = {"vocab_size": 37, "dim": 24, "n_layers": 3, "n_heads": 6, "hidden_dim": 29}
OPT = {**NEOX, "ffn_dim": 29, "word_embed_proj_dim": 24}
BLOOM = {"vocab_size": 37, "hidden_size": 24, "n_layer": 3, "n_head": 6}
NEW = {"new_decoder_architecture": True, "num_kv_heads": 2}
SHARED = {"moe_intermediate_size": 7, "shared_expert_intermediate_size": 14}
TOYS = [
    GPT2Config(**GPT2),
    GPT2Config(**GPT2, n_inner=31, tie_word_embeddings=False),
    BertConfig(**NEOX, type_vocab_size=3),
    ModernBertConfig(**NEOX, pad_token_id=0),
    ModernBertConfig(**NEOX, pad_token_id=0, norm_bias=True, mlp_bias=True, attention_bias=True),
    T5Config(**T5),
    T5Config(**T5, num_decoder_layers=2, feed_forward_proj="gated-gelu"),
    MT5Config(**T5),
    MT5Config(**T5, num_decoder_layers=2, feed_forward_proj="relu"),
    BartConfig(**BART),
    MarianConfig(**BART, pad_token_id=36),
    MarianConfig(**BART, pad_token_id=36, share_encoder_decoder_embeddings=False),
    LlamaConfig(**LLAMA),
    LlamaConfig(**LLAMA, head_dim=10, attention_bias=True, tie_word_embeddings=True),
    LlamaConfig(
        **LLAMA,
        mlp_bias=True,
        rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5},
    ),
    GraniteConfig(**LLAMA, mlp_bias=True, residual_multiplier=0.22, logits_scaling=8.0),
    MistralConfig(**LLAMA, head_dim=None, sliding_window=4),
    MistralConfig(**LLAMA, head_dim=6),
    MixtralConfig(**LLAMA, num_local_experts=5, num_experts_per_tok=3),
    Qwen2Config(**LLAMA, tie_word_embeddings=True),
    Qwen2Config(**LLAMA),
    Qwen3Config(**LLAMA, head_dim=10),
    Qwen3Config(**LLAMA, head_dim=10, attention_bias=True, tie_word_embeddings=True),
    Qwen2MoeConfig(**LLAMA, num_experts=9, **SHARED),
    Qwen3NextConfig(**LLAMA, head_dim=8, num_experts=12, **SHARED),
    Qwen3MoeConfig(**LLAMA, head_dim=10, num_experts=9, moe_intermediate_size=7),
    Qwen3MoeConfig(**LLAMA, head_dim=10, num_experts=9, mlp_only_layers=[0, 1]),
    GptOssConfig(**LLAMA, head_dim=10, num_local_experts=5),
    GptOssConfig(**LLAMA, attention_bias=False, tie_word_embeddings=True, num_local_experts=8),
    DeepseekV2Config(**LLAMA, q_lora_rank=None, num_experts_per_tok=3),
    DeepseekV2Config(**LLAMA, num_experts_per_tok=3, first_k_dense_replace=2),
    DeepseekV3Config(**LLAMA, n_routed_experts=16, attention_bias=True, first_k_dense_replace=1),
    GemmaConfig(**LLAMA, head_dim=10),
    Gemma2Config(**LLAMA, head_dim=10),
    Gemma3TextConfig(**LLAMA, head_dim=10),
    Olmo2Config(**LLAMA, attention_bias=True),
    Olmo3Config(**LLAMA, sliding_window=4),
    SmolLM3Config(**LLAMA, pad_token_id=0, attention_bias=True, mlp_bias=True),
    MinistralConfig(**LLAMA, head_dim=10, sliding_window=4),
    Exaone4Config(**LLAMA, sliding_window=4),
    SeedOssConfig(**LLAMA, head_dim=10, attention_out_bias=True, mlp_bias=True),
    SeedOssConfig(**LLAMA, attention_bias=False),
    Ernie4_5Config(**LLAMA, head_dim=10, use_bias=True, tie_word_embeddings=False),
    GlmConfig(**LLAMA, head_dim=8, pad_token_id=0),
    Glm4Config(**LLAMA, head_dim=8, pad_token_id=0, attention_bias=False),
    Starcoder2Config(**LLAMA),
    Qwen3_5TextConfig(**LLAMA, head_dim=8, linear_num_key_heads=2, linear_num_value_heads=6),
    Starcoder2Config(**LLAMA, use_bias=False, tie_word_embeddings=False),
    GemmaConfig(**LLAMA, head_dim=10, attention_bias=True, tie_word_embeddings=False),
    GPTNeoXConfig(**NEOX),
    GPTNeoXConfig(**NEOX, attention_bias=False, use_parallel_residual=False),
    RobertaConfig(**NEOX, pad_token_id=1),
    DistilBertConfig(**DISTILBERT, max_position_embeddings=17),
    PhiConfig(**LLAMA),
    Phi3Config(**LLAMA, pad_token_id=0, sliding_window=5),
    Phi3Config(**LLAMA, pad_token_id=0, head_dim=10, tie_word_embeddings=True),
    GPTJConfig(**GPT2, rotary_dim=2),
    OPTConfig(**OPT),
    OPTConfig(**OPT, enable_bias=False, layer_norm_elementwise_affine=False),
    BloomConfig(**BLOOM),
    FalconConfig(**FALCON),
    FalconConfig(**FALCON, bias=True, multi_query=False, parallel_attn=False, alibi=True),
    FalconConfig(**FALCON, **NEW, ffn_hidden_size=50),
    FalconConfig(**FALCON, **NEW, num_ln_in_parallel_attn=1, bias=True, tie_word_embeddings=False),
]


@pytest.mark.parametrize("config", TOYS, ids=[f"{i}-{c.model_type}" for i, c in enumerate(TOYS)])
@pytest.mark.thinned
def test_toys_of_every_family_are_counted_as_they_are_built(config: Any):
    text = config.to_json_string()
    ours = read_config_json(text)
    assert total_parameters(ours) == built(config) == count_built(ours)
    again = AutoConfig.for_model(**json.loads(text))
    assert built(again) == built(config)


@pytest.mark.parametrize("config", TOYS, ids=[f"{i}-{c.model_type}" for i, c in enumerate(TOYS)])
@pytest.mark.thinned
def test_what_is_not_learned_is_counted_apart(config: Any):
    """Position tables that are computed; `num_parameters` of `transformers` counts them too."""
    file = read_config_file(config.to_json_string())
    assert total_parameters(file.config) + file.n_fixed == made(config).num_parameters()


def test_two_tables_of_a_big_translator_by_hand():
    """Of its source and its target: 1024 positions, 1024 wide."""
    sizes = {"d_model": 1024, "max_position_embeddings": 1024, "vocab_size": 50, "pad_token_id": 0}
    file = read_config_file(MarianConfig(**sizes).to_json_string())
    assert file.n_fixed == 2 * 1024 * 1024 == 2_097_152


def test_every_family_has_a_toy():
    assert {config.model_type for config in TOYS} == FAMILIES.keys()


PHI_2 = {
    "vocab_size": 51200,
    "hidden_size": 2560,
    "intermediate_size": 10240,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
}
QWEN_HALF = {
    "vocab_size": 151936,
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "tie_word_embeddings": True,
}
GRANITE_8B = {
    "vocab_size": 49155,
    "hidden_size": 4096,
    "intermediate_size": 12800,
    "num_hidden_layers": 40,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "tie_word_embeddings": True,
}
MINISTRAL_8B = {
    "vocab_size": 131_072,
    "intermediate_size": 12_288,
    "num_hidden_layers": 36,
    "head_dim": 128,
}
EXAONE_1B = {
    "hidden_size": 2048,
    "intermediate_size": 4096,
    "num_hidden_layers": 30,
    "num_key_value_heads": 8,
    "sliding_window": None,
    "layer_types": ["full_attention"] * 30,
    "tie_word_embeddings": True,
}
QWEN_3_5 = {  # 0.8 B, without its vision tower
    "hidden_size": 1024,
    "intermediate_size": 3584,
    "num_hidden_layers": 24,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "linear_num_value_heads": 16,
    "tie_word_embeddings": True,
}
# Other families at the size of a published model, and its count as its card or files say.
OF_THEIR_FILES = [
    (125_239_296, OPTConfig()),
    (559_214_592, BloomConfig(vocab_size=250880, hidden_size=1024, n_layer=24, n_head=16)),
    (6_050_882_784, GPTJConfig()),
    (2_779_683_840, PhiConfig(**PHI_2)),
    (124_645_632, RobertaConfig(vocab_size=50265, max_position_embeddings=514, type_vocab_size=1)),
    (66_362_880, DistilBertConfig()),
    (494_032_768, Qwen2Config(**QWEN_HALF)),
    (8_170_848_256, GraniteConfig(**GRANITE_8B)),
    (7_298_011_136, Olmo3Config(vocab_size=100_278)),
    (3_075_098_624, SmolLM3Config()),
    (8_019_808_256, MinistralConfig(**MINISTRAL_8B)),
    (1_279_391_488, Exaone4Config(**EXAONE_1B)),
    (36_151_104_512, SeedOssConfig(hidden_size=5120)),
    (360_748_032, Ernie4_5Config()),
    (9_399_951_360, GlmConfig()),
    (9_400_279_040, Glm4Config()),
    (3_030_371_328, Starcoder2Config()),
    (752_393_024, Qwen3_5TextConfig(**QWEN_3_5)),
    (79_674_391_296, Qwen3NextConfig()),
    (14_315_784_192, Qwen2MoeConfig()),
]


@pytest.mark.parametrize(
    ("count", "config"), OF_THEIR_FILES, ids=[config.model_type for _, config in OF_THEIR_FILES]
)
def test_models_of_the_other_families_are_counted_at_their_published_sizes(count: int, config: Any):
    assert total_parameters(read_config_json(config.to_json_string())) == built(config) == count


def test_every_family_is_counted_at_a_published_size():
    published = {config.model_type for _, config in (*CONFIGS.values(), *OF_THEIR_FILES)}
    assert published == FAMILIES.keys() - {"mt5"}  # mT5: see below


def test_the_t5s_of_google_that_are_not_tied_are_counted_as_published():
    v1_1 = {
        **T5,
        "vocab_size": 32128,
        "d_model": 512,
        "d_kv": 64,
        "d_ff": 1024,
        "num_layers": 8,
        "num_heads": 6,
        "feed_forward_proj": "gated-gelu",
        "tie_word_embeddings": False,
        "model_type": "t5",
    }
    assert total_parameters(read_config_json(json.dumps(v1_1))) == 76_961_152  # its model card
    mt5_small = {**v1_1, "model_type": "mt5", "vocab_size": 250112}
    assert total_parameters(read_config_json(json.dumps(mt5_small))) == 300_176_768  # the same


@pytest.mark.parametrize("kinds", [[], ["sliding_attention"] * 9_000])
def test_a_file_of_a_million_layers_is_refused_at_once(kinds: list[str]):
    values = {**LLAMA, "model_type": "olmo3", "num_hidden_layers": 1_000_000, "layer_types": kinds}
    with pytest.raises(ConfigError, match="layer_types"):
        read_config_json(json.dumps(values))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "qwen"}, "known families: qwen3, qwen2"),
        ({"model_type": "gemma-3"}, "known families: gemma3, gemma"),
        ({"hidden_act": "gelu_tanh"}, "known values: gelu_new, gelu_pytorch_tanh"),
        (
            {"layer_types": ["full_attention"]},
            'is ["full_attention"], but here full_attention must be',
        ),
        ({"model_type": "qwen3_moe", "mlp_only_layers": [2]}, "is [2], which is not supported"),
        ({"model_type": "qwen3_moe", "mlp_only_layers": [2]}, "supported: []"),
    ],
)
def test_a_refusal_names_what_is_known_the_nearest_first(changes: dict[str, Any], said: str):
    values = {**LLAMA, "model_type": "olmo3", **changes}
    with pytest.raises(ConfigError) as refused:
        read_config_json(json.dumps(values))
    assert said in str(refused.value)


def test_falcon_40b_is_counted_as_published():
    sizes = {
        "vocab_size": 65024,
        "hidden_size": 8192,
        "num_hidden_layers": 60,
        "num_attention_heads": 128,
        "num_kv_heads": 8,
        "new_decoder_architecture": True,
        "model_type": "falcon",
    }
    assert total_parameters(read_config_json(json.dumps(sizes))) == 41_303_293_952


# As short as the files of old models are: what they leave out, their families know.
OF_OLD = {
    "gpt2-small": {
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-05,
        "n_ctx": 1024,
        "n_embd": 768,
        "n_head": 12,
        "n_layer": 12,
        "n_positions": 1024,
        "vocab_size": 50257,
    },
    "falcon-7b": {
        "model_type": "falcon",
        "alibi": False,
        "apply_residual_connection_post_layernorm": False,
        "bias": False,
        "hidden_size": 4544,
        "multi_query": True,
        "new_decoder_architecture": False,
        "num_attention_heads": 71,
        "num_hidden_layers": 32,
        "parallel_attn": True,
        "vocab_size": 65024,
    },
    "llama-7b": {
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "max_position_embeddings": 2048,
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "rms_norm_eps": 1e-06,
        "rope_scaling": None,
        "rope_parameters": {"rope_theta": None},
        "vocab_size": 32000,
    },
    "pythia-1.4b": {
        "model_type": "gpt_neox",
        "hidden_act": "gelu",
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "layer_norm_eps": 1e-05,
        "max_position_embeddings": 2048,
        "num_attention_heads": 16,
        "num_hidden_layers": 24,
        "rotary_emb_base": 10000,
        "rotary_pct": 0.25,
        "tie_word_embeddings": False,
        "use_parallel_residual": True,
        "vocab_size": 50304,
    },
}


@pytest.mark.parametrize("name", OF_OLD)
def test_short_files_are_counted_too(name: str):
    found = read_config_json(json.dumps(OF_OLD[name]))
    assert total_parameters(found) == COUNTS[name]


def test_what_a_family_has_by_itself_is_refused_too_where_it_cannot_be():
    file = {**DeepseekV3Config(**LLAMA).to_dict(), "num_hidden_layers": 3}
    del file["first_k_dense_replace"]  # 3 in this family
    assert "first_k_dense_replace is 3" in refusal(json.dumps(file))


def of_llama(**changes: Any) -> str:
    return json.dumps({"model_type": "llama", **LLAMA, **changes})


def test_the_length_of_a_context_without_parameters_may_be_missing():
    short = {name: found for name, found in LLAMA.items() if name != "max_position_embeddings"}
    found = read_config_file(json.dumps({"model_type": "llama", **short}))
    assert total_parameters(found.config) == total_parameters(read_config_json(of_llama()))
    assert "max_position_embeddings" in dict(found.assumed)


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as error:
        read_config_file(text)
    said = str(error.value)
    assert said and len(said) < 600
    return said


MAY_BE_MISSING = ("num_key_value_heads", "max_position_embeddings")


@pytest.mark.parametrize("name", [n for n in LLAMA if n not in MAY_BE_MISSING])
def test_a_missing_size_is_named(name: str):
    values = json.loads(of_llama())
    del values[name]
    assert f"no {name}" in refusal(json.dumps(values))


@pytest.mark.parametrize("family", ["mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "gemma"])
def test_key_heads_are_not_guessed_where_the_family_has_no_rule(family: str):
    values = {**json.loads(of_llama()), "model_type": family}
    del values["num_key_value_heads"]
    assert "no num_key_value_heads" in refusal(json.dumps(values))


def test_what_is_left_out_and_has_a_default_is_said():
    values = json.loads(of_llama())
    del values["num_key_value_heads"]
    assumed = dict(read_config_file(json.dumps(values)).assumed)
    assert assumed["num_key_value_heads"] == "6"
    assert assumed["tie_word_embeddings"] == "false"


def test_unknown_families_are_refused_by_name():
    said = refusal(json.dumps({"model_type": "mamba"}))
    assert "mamba" in said and all(family in said for family in FAMILIES)
    assert "model_type" in refusal("{}")
    assert "llava" in refusal(json.dumps({"model_type": "llava", "text_config": {}}))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"hidden_size": "24"}, "hidden_size"),
        ({"hidden_size": 24.0}, "hidden_size"),
        ({"hidden_size": True}, "hidden_size"),
        ({"hidden_size": [24]}, "hidden_size"),
        ({"hidden_size": -1}, "hidden_size"),
        ({"hidden_size": 10**30}, "hidden_size"),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"vocab_size": 10**7}, "vocab_size"),
        ({"hidden_act": "mish"}, "mish"),
        ({"hidden_act": 3}, "hidden_act"),
        ({"attention_bias": "yes"}, "attention_bias"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings"),
        ({"rms_norm_eps": "small"}, "rms_norm_eps"),
        ({"rms_norm_eps": 10**400}, "rms_norm_eps is 1000"),
        ({"rope_theta": -(10**400)}, "rope_theta is -1000"),
        ({"hidden_size": 10**400}, "hidden_size is 1000"),
        ({"rope_parameters": [1]}, "rope_parameters"),
        ({"rope_scaling": {"rope_type": "linear"}}, "RoPE scaling needs factor"),
        ({"head_dim": "x"}, "head_dim"),
        ({"head_dim": 7}, "odd"),
        ({"num_attention_heads": 5}, "n_heads"),
        ({"num_key_value_heads": 4}, "n_kv_heads"),
        ({"model_type": ["llama"]}, "model_type"),
    ],
)
def test_what_cannot_be_is_named(changes: dict[str, Any], named: str):
    assert named in refusal(of_llama(**changes))


@pytest.mark.parametrize(
    ("config", "named"),
    [
        (BertConfig(**NEOX, add_cross_attention=True), "add_cross_attention"),
        (
            {**BertConfig(**NEOX).to_dict(), "position_embedding_type": "relative_key"},
            "relative_key",
        ),
        (BartConfig(**{**BART, "decoder_ffn_dim": 30}), "decoder_ffn_dim"),
        (BartConfig(**{**BART, "decoder_attention_heads": 3}), "decoder_attention_heads"),
        ({**BartConfig(**BART).to_dict(), "add_final_layer_norm": True}, "add_final_layer_norm"),
        (T5Config(**T5, relative_attention_num_buckets=16), "relative_attention_num_buckets"),
        ({**T5Config(**T5).to_dict(), "feed_forward_proj": "gated-mish"}, "gated-mish"),
        (MixtralConfig(**LLAMA, num_local_experts=1000), "n_experts"),
        (Qwen3MoeConfig(**LLAMA, mlp_only_layers=[1]), "mlp_only_layers"),
        (Qwen3MoeConfig(**LLAMA, decoder_sparse_step=2), "decoder_sparse_step"),
        (Qwen2MoeConfig(**LLAMA, moe_intermediate_size=3), "shared_expert_intermediate_size"),
        (FalconConfig(**FALCON, **NEW, num_ln_in_parallel_attn=3), "num_ln_in_parallel_attn"),
    ],
)
def test_options_that_no_configuration_can_say_are_refused(config: Any, named: str):
    text = json.dumps(config) if isinstance(config, dict) else config.to_json_string()
    assert named in refusal(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1"),
        ("import os; os.system('true')", "not JSON"),
        ("{'model_type': 'gpt2'}", "not JSON"),
        ('{"model_type": "gpt2",}', "not JSON"),
        ("[]", "braces"),
        ("3", "braces"),
        ("null", "braces"),
        ('"gpt2"', "braces"),
        (of_llama(hidden_size=float("nan")), "hidden_size is NaN"),
        (of_llama(rms_norm_eps=float("inf")), "rms_norm_eps is Infinity"),
        ('{"model_type": "gpt2", "n_embd": 1e999}', "n_embd is 1e999"),
        ('{"model_type": "gpt2", "sizes": [1, [NaN]]}', "sizes is NaN"),
        ('{"n_embd": ' + "9" * 5000 + "}", "too many digits"),
        ('{"model_type": "gpt2", "model_type": "bert"}', "twice"),
        ("[" * 100_000, "deep"),
        ('{"a":' * 30_000, "deep"),
        ("x" * (MOST_CHARACTERS + 1), "characters"),
        ('{"model_type": "<script>alert(1)</script>"}', "Unknown model family"),
        ('{"model_type": "' + "x" * 5000 + '"}', "Unknown model family"),
        ("\x00", "not JSON"),
        ('{"model_type": "\\ud800"}', "unpaired surrogate"),
    ],
)
def test_any_text_gets_a_sentence(text: str, says: str):
    assert says in refusal(text)


def test_a_byte_order_mark_is_no_fault():
    assert read_config_json("\ufeff" + of_llama()) == read_config_json(of_llama())


def test_the_longest_context_of_a_rotary_model_does_not_change_its_count():
    longer = read_config_json(of_llama(max_position_embeddings=10_485_760))
    assert total_parameters(longer) == total_parameters(read_config_json(of_llama()))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(["gelu", "silu", "relu", "gated-gelu", 10**400, -(10**400), 1e308, 10**6]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=3,
)


@settings(max_examples=150)
@given(st.data())
def test_a_file_with_anything_in_it_is_counted_or_refused(data: st.DataObject):
    values = json.loads(data.draw(st.sampled_from(TOYS)).to_json_string())
    for name in data.draw(st.lists(st.sampled_from(sorted(values)), max_size=3)):
        values[name] = data.draw(JSON)
    try:
        config = read_config_json(json.dumps(values))
    except ConfigError as error:
        assert str(error)
    else:
        assert total_parameters(config) > 0


@settings(max_examples=100)
@given(st.text())
def test_any_text_at_all_is_refused(text: str):
    assert refusal(text)


def test_what_each_kind_of_layer_has_of_its_own_is_read_and_not_defaulted():
    ropes = {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 5e5},
        "sliding_attention": {"rope_type": "default", "rope_theta": 3e3},
    }
    file = Gemma3TextConfig(
        **{**LLAMA, "num_hidden_layers": 4},
        head_dim=10,
        sliding_window=5,
        rope_parameters=ropes,
        layer_types=["sliding_attention", "full_attention"] * 2,
    )
    config = read_config_json(file.to_json_string())
    assert [config.window_of(layer) for layer in range(4)] == [5, 0, 5, 0]
    local, whole = rope_of(config, 0), rope_of(config, 1)
    assert (local.base, local.factor) == (3e3, 1.0)
    assert (whole.base, whole.factor, str(whole.scaling)) == (5e5, 8.0, "linear")
    older = {"model_type": "gemma3_text", **LLAMA, "head_dim": 10, "rope_local_base_freq": 7.0}
    assert read_config_json(json.dumps(older)).position.local_rope_base == 7.0


@pytest.mark.parametrize("family", ["gemma", "gemma2", "gemma3_text"])
@pytest.mark.parametrize("first", [None, "gelu", "gelu_pytorch_tanh", "relu"])
@pytest.mark.parametrize("second", [None, "gelu", "gelu_pytorch_tanh"])
def test_what_gemmas_files_call_gelu_is_what_transformers_takes_it_for(
    family: str, first: str | None, second: str | None
):
    words = {"hidden_act": first, "hidden_activation": second}
    file = {**LLAMA, "head_dim": 10, **{name: word for name, word in words.items() if word}}
    theirs = AutoConfig.for_model(family, **file)
    wanted = theirs.hidden_act if family == "gemma" else theirs.hidden_activation
    ours = read_config_json(json.dumps({"model_type": family, **file, **words}))
    assert ours.feed_forward.activation is GATED[wanted]


def test_an_order_of_layers_that_no_rule_gives_is_refused_by_name():
    kinds = ["full_attention", "sliding_attention", "sliding_attention"]
    file = {"model_type": "gemma2", **LLAMA, "head_dim": 10, "layer_types": kinds}
    with pytest.raises(ConfigError, match="layer_types"):
        read_config_json(json.dumps(file))


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3_text"])
def test_dropout_is_what_the_file_says_and_none_where_it_says_nothing(family: str):
    told = {"attention_dropout": 0.25}
    values = json.loads(json.dumps(AutoConfig.for_model(family, attention_dropout=0.0).to_dict()))
    assert read_config_json(json.dumps(values)).dropout == 0
    assert read_config_json(json.dumps(values | told)).dropout == 0.25
    values.pop("attention_dropout")
    assert read_config_json(json.dumps(values)).dropout == 0

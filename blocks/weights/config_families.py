"""The families of published models: what their config.json says, as data.

A family that grew out of another has its parts, but for those that are about the same thing.
"""

from collections.abc import Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from blocks.model.config import CONV_WIDTH, ModelConfig
from blocks.model.kinds import Activation, RouterKind
from blocks.model.positions import N_BUCKETS
from blocks.weights import config_layers as layers
from blocks.weights import config_rope as rope
from blocks.weights.config_keys import Keys
from blocks.weights.config_layers import WINDOW, windows
from blocks.weights.config_parts import (
    GATED,
    OF_T5,
    PLAIN,
    Part,
    Values,
    always,
    biases,
    but,
    constant,
    either,
    flag,
    key,
    must_be,
    nullable,
    number,
    part,
    same,
    size,
    sizes,
    word,
    write_only,
)
from blocks.weights.config_rope import CONTEXT, TURNED, turns_of_each_kind

EPS, BASE, TIED = "rms_norm_eps", "rope_theta", "tie_word_embeddings"
KV_HEADS, WIDTH = "num_key_value_heads", "head_dim"
TANH = "gelu_pytorch_tanh"


class Family(NamedTuple):
    """What the files of a family say.

    `counted_as`: the class of `transformers` that has as many parameters; `parts`: what a file
    says; `usual`: keys that may be left out, where the family means another value than the one it
    grew out of; `whole`: the class with a head, as files name it, where another is counted.
    """

    counted_as: str
    parts: tuple[Part, ...]
    usual: Mapping[str, Any] = MappingProxyType({})
    whole: str = ""


def four_wide(found: Values) -> int:
    """The usual width of a feed-forward layer."""
    return 4 * found["d_model"]


STREAM = sizes(
    vocab_size="vocab_size",
    num_hidden_layers="n_layers",
    hidden_size="d_model",
    num_attention_heads="n_heads",
)
NO_PADDING = write_only("pad_token_id", lambda _config: None)
GPT = always(architecture="gpt")
LEARNED, TURNING = (always(position_kind=kind) for kind in ("learned", "rope"))
ENCODER = always(architecture="encoder", embedding_norm=True, scale_embeddings=False)
LIKE_BERT = (ENCODER, LEARNED, always(norm_placement="post"))
TWO_STACKS = always(architecture="encoder-decoder")
SANDWICH = always(norm_placement="sandwich")
QK_NORM = always(qk_norm=True, qk_norm_scale=True)
WITHOUT_BIAS = always(attention_bias=False, feed_forward_bias=False)
BIAS, BIASED = (flag("attention_bias", "attention_bias", usual) for usual in (False, True))
WIDE_BIAS = flag("mlp_bias", "feed_forward_bias", False)
OWN_KV_HEADS, OWN_WIDTH = sizes(num_key_value_heads="n_kv_heads", head_dim="d_head")
KV_HEADS_IF_GIVEN = size(KV_HEADS, "n_kv_heads", itemgetter("n_heads"))

LIKE_GPT2 = (
    GPT,
    *sizes(vocab_size="vocab_size", n_layer="n_layers", n_embd="d_model", n_head="n_heads"),
    size("n_inner", "d_ff", four_wide),
    *sizes(n_positions="max_seq_len"),
    word("activation_function", PLAIN, "gelu_new"),
    number("layer_norm_epsilon", "norm_eps", 1e-5),
    flag(TIED, "tie_embeddings", True),
)
GPT2 = (*LIKE_GPT2, LEARNED, must_be("add_cross_attention", False))
PARALLEL_WITH_BIAS = always(norm_placement="parallel", unembed_bias=True)
GPTJ = (*LIKE_GPT2, TURNING, rope.turned_width, PARALLEL_WITH_BIAS, always(attention_bias=False))

BERT = (
    *LIKE_BERT,
    must_be("add_cross_attention", False),
    must_be("position_embedding_type", "absolute"),
    *STREAM,
    *sizes(intermediate_size="d_ff", max_position_embeddings="max_seq_len"),
    size("type_vocab_size", "n_segments", 2, least=0),
    word("hidden_act", PLAIN, "gelu"),
    number("layer_norm_eps", "norm_eps", 1e-12),
    always(pooler=True),
)


def _rows(config: ModelConfig) -> Values:
    offset = config.position.position_offset
    return {CONTEXT: offset + config.max_seq_len, "pad_token_id": offset - 1}


@part("max_seq_len", _rows)
def rows_after_padding(keys: Keys, _found: Values) -> Values:
    """The positions of RoBERTa begin after the row of the padding token."""
    offset = 1 + keys.size("pad_token_id", 1, least=0)
    n_rows = keys.size(CONTEXT, least=1 + offset)
    return {"max_seq_len": n_rows - offset, "position_offset": offset}


DISTILBERT = (
    *LIKE_BERT,
    *sizes(vocab_size="vocab_size", n_layers="n_layers", dim="d_model", n_heads="n_heads"),
    *sizes(hidden_dim="d_ff", max_position_embeddings="max_seq_len"),
    word("activation", PLAIN, "gelu"),
    always(norm_eps=1e-12),
)
BENDS = word("hidden_activation", GATED, "gelu")
MODERNBERT = (
    ENCODER,
    TURNING,
    *STREAM,
    layers.window_both_ways,
    *sizes(intermediate_size="d_ff", max_position_embeddings="max_seq_len"),
    BENDS,
    turns_of_each_kind(("global_rope_theta", 160_000.0), ("local_rope_theta", 10_000.0)),
    number("norm_eps", "norm_eps", 1e-5),
    flag("norm_bias", "norm_bias", False),
    always(first_norm=False),
    BIAS,
    WIDE_BIAS,
    write_only("classifier_activation", lambda config: BENDS.write(config)["hidden_activation"]),
    write_only("classifier_bias", lambda config: config.feed_forward.feed_forward_bias),
    NO_PADDING,
)

LIKE_BART = (
    TWO_STACKS,
    constant(TIED, True),
    constant("is_encoder_decoder", True),
    *sizes(vocab_size="vocab_size", encoder_layers="n_layers", d_model="d_model"),
    *sizes(encoder_attention_heads="n_heads", decoder_layers="n_decoder_layers"),
    *sizes(encoder_ffn_dim="d_ff", max_position_embeddings="max_seq_len"),
    same("decoder_attention_heads", "encoder_attention_heads", "n_heads"),
    same("decoder_ffn_dim", "encoder_ffn_dim", "d_ff"),
    word("activation_function", PLAIN, "gelu"),
    flag("scale_embedding", "scale_embeddings", False),
    always(norm_placement="post"),
    *(must_be(name, False) for name in ("normalize_before", "add_final_layer_norm")),
)
BART = (
    *LIKE_BART,
    must_be("static_position_embeddings", False),
    must_be("normalize_embedding", True),
    always(position_kind="learned", position_offset=2, embedding_norm=True),
)
MARIAN = (  # as BART, with waves for positions and no norm before the first layer
    *LIKE_BART,
    must_be("static_position_embeddings", True),
    must_be("normalize_embedding", False),
    always(position_kind="sinusoidal", sines_first=True),
    same("decoder_vocab_size", "vocab_size", "vocab_size", is_needed=False),
    flag("share_encoder_decoder_embeddings", "share_embeddings", True),
    # its padding is the last token, and begins every target
    write_only("pad_token_id", lambda config: config.vocab_size - 1),
    write_only("decoder_start_token_id", lambda config: config.vocab_size - 1),
)
LIKE_T5 = (
    TWO_STACKS,
    constant("is_encoder_decoder", True),
    must_be("relative_attention_num_buckets", N_BUCKETS),
    *sizes(vocab_size="vocab_size", num_layers="n_layers", d_model="d_model", num_heads="n_heads"),
    *sizes(d_kv="d_head", d_ff="d_ff"),
    size("num_decoder_layers", "n_decoder_layers", itemgetter("n_layers")),
    word("feed_forward_proj", OF_T5, "relu"),
    key(lambda keys, name: keys.optional(name) or 512, "n_positions", "max_seq_len"),
    always(norm_kind="rmsnorm", position_kind="none", relative_bias=True),
    always(scale_scores=False, scale_embeddings=False),
    number("layer_norm_epsilon", "norm_eps", 1e-6),
    flag(TIED, "tie_embeddings", True),
    WITHOUT_BIAS,
)
T5 = (*LIKE_T5, flag("scale_decoder_outputs", "scale_output", itemgetter("tie_embeddings")))
MT5 = (*LIKE_T5, always(scale_output=False))  # T5 v1.1 of many languages: gated, own head

LIKE_LLAMA = (  # what Llama and its descendants have in common
    GPT,
    TURNING,
    *STREAM,
    *TURNED,
    KV_HEADS_IF_GIVEN,
    key(Keys.optional, WIDTH, "d_head"),
    *sizes(intermediate_size="d_ff"),
    word("hidden_act", GATED, "silu"),
    always(norm_kind="rmsnorm"),
    number(EPS, "norm_eps", 1e-6),
    flag(TIED, "tie_embeddings", False),
    WITHOUT_BIAS,
)
LLAMA = (*LIKE_LLAMA, BIAS, WIDE_BIAS)
MULTIPLIERS = ("embedding_multiplier", "attention_multiplier", "residual_multiplier")
GRANITE = (*LLAMA, *(number(name, name, 1.0) for name in (*MULTIPLIERS, "logits_scaling")))
MISTRAL = but(LIKE_LLAMA, OWN_KV_HEADS, layers.WINDOWED)
EXPERTS = sizes(num_local_experts="n_experts", num_experts_per_tok="n_active_experts")
ALL_SEEN = (
    write_only("use_sliding_window", lambda _config: False),
    write_only(WINDOW, lambda _config: None),
)
QWEN2 = (*but(LIKE_LLAMA, OWN_KV_HEADS), *ALL_SEEN, always(attention_bias=True, out_bias=False))
QWEN3 = (*but(LIKE_LLAMA, OWN_KV_HEADS, OWN_WIDTH, BIAS), *ALL_SEEN, QK_NORM)
QWEN2_MOE = (
    *QWEN2,
    *layers.EXPERTS_OF_QWEN,
    layers.gated_shared,
    flag("qkv_bias", "attention_bias", True),
)
QWEN3_5 = (  # three of four layers keep a state; the others attend, their output is gated
    *but(LIKE_LLAMA, word("hidden_act", {"silu": Activation.SWIGLU}, "silu")),
    must_be("linear_conv_kernel_dim", CONV_WIDTH),
    must_be("attention_bias", False),
    must_be("attn_output_gate", True),
    layers.layers_of_states,
    size("linear_num_value_heads", "n_state_heads", 32),
    size("linear_num_key_heads", "n_key_heads", 16),
    size("linear_key_head_dim", "d_state", 128),
    layers.width_of_values,
    rope.share(0.25),
    always(token_mixer="gated_delta", attention_gate="elementwise", norm_offset=True),
    QK_NORM,
    NO_PADDING,
)


def _limit(keys: Keys, name: str, usual: float) -> float:
    limit = keys.number(name, usual)
    if limit <= 0:
        keys.must_be(name, usual)
    return limit


GPT_OSS = (  # learned sinks, every second layer global, experts with biases that are cut at a limit
    *but(
        LIKE_LLAMA,
        OWN_KV_HEADS,
        size(WIDTH, "d_head", 64),
        word("hidden_act", {"silu": Activation.QUICK_GEGLU}, "silu"),
    ),
    rope.usually_stretched,
    windows(2),
    must_be("swiglu_alpha", 1.702),
    key(_limit, "swiglu_limit", "gate_limit", 7.0),
    always(up_offset=True, attention_sink=True, feed_forward_bias=True, router_bias=True),
    BIASED,
    size("num_local_experts", "n_experts", least=2),
    *sizes(num_experts_per_tok="n_active_experts"),
)
LIKE_DEEPSEEK = (  # latent attention, fine and shared experts
    *but(
        LIKE_LLAMA,
        write_only(KV_HEADS, lambda config: config.n_heads, "n_kv_heads"),
        *sizes(qk_nope_head_dim="d_head", qk_rope_head_dim="d_rotary", v_head_dim="d_value"),
    ),
    write_only(WIDTH, lambda config: config.d_rotary),
    *sizes(kv_lora_rank="d_kv_latent"),
    nullable(Keys.size, "q_lora_rank", "d_q_latent"),
    BIAS,
    layers.first_dense,
    must_be("moe_layer_freq", None, 1),
    size("n_routed_experts", "n_experts", least=2),
    *sizes(num_experts_per_tok="n_active_experts", moe_intermediate_size="d_expert"),
    *sizes(n_shared_experts="n_shared_experts"),
    number("routed_scaling_factor", "routed_scale", 1.0),
    rope.sizes_of_yarn,
)
DEEPSEEK_V2 = (
    *LIKE_DEEPSEEK,
    must_be("topk_method", "greedy", layers.GROUPED),
    layers.groups_of_v2,
    constant("norm_topk_prob", False),
    always(normalize_top_k=False),
    must_be("mlp_bias", False),
)
DEEPSEEK_V3 = (
    *LIKE_DEEPSEEK,
    must_be("rope_interleave", True, False),
    must_be("topk_method", None, "noaux_tc"),
    must_be("scoring_func", None, "sigmoid"),
    always(router_kind=RouterKind.SIGMOID),
    *layers.GROUPS,
    flag("norm_topk_prob", "normalize_top_k", True),
    write_only("num_nextn_predict_layers", lambda config: config.n_mtp_modules),
)

LIKE_GEMMA = (
    *but(LIKE_LLAMA, OWN_KV_HEADS, OWN_WIDTH, word("hidden_activation", GATED, TANH), BIAS),
    always(scale_embeddings=True, norm_offset=True),
)
# the first files say gelu and mean its tanh form, as `transformers` knows
MEANT = {TANH: Activation.GEGLU_TANH, **GATED, "gelu": Activation.GEGLU_TANH}
GEMMA = but(LIKE_GEMMA, word("hidden_act", MEANT, TANH))


def _divisor(config: ModelConfig) -> Values:
    return {"query_pre_attn_scalar": round((config.query_scale / config.d_head**0.5) ** -2)}


@part("attention_multiplier", _divisor)
def divided(keys: Keys, found: Values) -> Values:
    """What scores are divided by the root of, where it is not the width of a head (27 B)."""
    divisor = keys.size("query_pre_attn_scalar", 256)
    return {} if divisor == found["d_head"] else {"attention_multiplier": divisor**-0.5}


def caps(scores: float, logits: float) -> tuple[Part, ...]:
    """The soft-caps of scores and logits: null is none, and absence the family's own."""
    return (
        nullable(Keys.number, "attn_logit_softcapping", "score_softcap", scores),
        nullable(Keys.number, "final_logit_softcapping", "logit_softcap", logits),
    )


GEMMA2 = (*LIKE_GEMMA, windows(2), divided, SANDWICH, *caps(50.0, 30.0))
GEMMA3 = (
    *but(LIKE_GEMMA, turns_of_each_kind((BASE, 1e6), ("rope_local_base_freq", 1e4))),
    windows(6, asked=layers.EVERY),
    divided,
    SANDWICH,
    QK_NORM,
    *caps(0.0, 0.0),
)
OLMO2 = (*LIKE_LLAMA, BIAS, always(norm_placement="res_post", qk_norm_whole=True), QK_NORM)
OLMO3 = (*but(OLMO2, turns_of_each_kind((BASE, 1e6), (BASE, 10_000.0))), windows(4))
EXAONE4 = (*LIKE_LLAMA, layers.beside_windows, always(norm_placement="res_post"), QK_NORM)
SMOLLM3 = (*LLAMA, layers.unturned, layers.ALL_FULL, ALL_SEEN[0], NO_PADDING)
SEED_OSS = (*LIKE_LLAMA, BIASED, flag("attention_out_bias", "out_bias", False), WIDE_BIAS)
GLM = (*LIKE_LLAMA, BIASED, always(out_bias=False), rope.share(0.5), NO_PADDING)
STARCODER2 = (
    *but(LIKE_LLAMA, word("hidden_act", PLAIN, TANH), number("norm_epsilon", "norm_eps", 1e-5)),
    layers.ONE_WINDOW,
    always(norm_kind="layernorm"),
    biases("use_bias", True),
)
PHI3 = (*LIKE_LLAMA, layers.WINDOWED, rope.share(1.0), rope.TRAINED_LEN, NO_PADDING)
LIKE_NEOX = (
    GPT,
    TURNING,
    *STREAM,
    *TURNED,
    *sizes(intermediate_size="d_ff"),
    number("layer_norm_eps", "norm_eps", 1e-5),
    flag(TIED, "tie_embeddings", False),
)
NEOX = (
    *LIKE_NEOX,
    rope.share(0.25, "rotary_pct"),
    word("hidden_act", PLAIN, "gelu"),
    BIASED,
    layers.parallel("use_parallel_residual"),
    always(parallel_norms=2),
)
PHI = (
    *LIKE_NEOX,
    rope.share(0.5),
    word("hidden_act", PLAIN, "gelu_new"),
    KV_HEADS_IF_GIVEN,
    must_be("qk_layernorm", False),
    PARALLEL_WITH_BIAS,
)
OPT = (
    GPT,
    LEARNED,
    always(position_offset=2),
    must_be("do_layer_norm_before", True),
    must_be("_remove_final_layer_norm", False),
    *STREAM,
    same("word_embed_proj_dim", "hidden_size", "d_model", is_needed=False),
    *sizes(ffn_dim="d_ff", max_position_embeddings="max_seq_len"),
    word("activation_function", PLAIN, "relu"),
    flag("layer_norm_elementwise_affine", "norm_affine", True),
    biases("enable_bias", True),
    flag(TIED, "tie_embeddings", True),
)
BLOOM = (
    GPT,
    must_be("apply_residual_connection_post_layernorm", False),
    *sizes(vocab_size="vocab_size"),
    either("n_layer", "num_hidden_layers", "n_layers"),
    either("n_head", "num_attention_heads", "n_heads"),
    either("hidden_size", "n_embed", "d_model"),
    size("seq_length", "max_seq_len", rope.USUAL_CONTEXT),
    always(position_kind="alibi", activation=Activation.GELU_TANH, embedding_norm=True),
    number("layer_norm_epsilon", "norm_eps", 1e-5),
    flag(TIED, "tie_embeddings", True),
)
FALCON = (
    GPT,
    TURNING,
    *STREAM,
    layers.alibi_or_turned,
    layers.parallel("parallel_attn"),
    layers.form_of_falcon,
    size("ffn_hidden_size", "d_ff", four_wide),
    word("activation", PLAIN, "gelu"),
    number("layer_norm_epsilon", "norm_eps", 1e-5),
    biases("bias", False),
    flag(TIED, "tie_embeddings", True),
)

LONG, LONGER = {CONTEXT: 32_768}, {CONTEXT: 131_072}
OF_GLM = {**LONGER, EPS: 1.5625e-7, KV_HEADS: 2, WIDTH: 128}
OF_GEMMA = {TIED: True, WINDOW: 4096}
OF_GPT_OSS = {**LONGER, WINDOW: 128, EPS: 1e-5, BASE: 150_000.0}
OF_ERNIE = {**LONGER, EPS: 1e-5, KV_HEADS: 2, WIDTH: 128, BASE: 500_000.0, TIED: True}
OF_SMOLLM = {**LONG, KV_HEADS: 4, TIED: True, BASE: 2e6}
OF_DEEPSEEK_V3 = {CONTEXT: 4096, "first_k_dense_replace": 3, "routed_scaling_factor": 2.5}
OF_QWEN3_NEXT = {**LONG, KV_HEADS: 2, WIDTH: 256, "norm_topk_prob": True}
FAMILIES = {
    "gpt2": Family("GPT2LMHeadModel", GPT2),
    "bert": Family("BertModel", BERT, whole="BertForMaskedLM"),
    "roberta": Family("RobertaModel", but(BERT, rows_after_padding), whole="RobertaForMaskedLM"),
    "distilbert": Family("DistilBertModel", DISTILBERT, whole="DistilBertForMaskedLM"),
    "modernbert": Family("ModernBertModel", MODERNBERT, whole="ModernBertForMaskedLM"),
    "t5": Family("T5ForConditionalGeneration", T5),
    "mt5": Family(
        "MT5ForConditionalGeneration", MT5, {"feed_forward_proj": "gated-gelu", TIED: False}
    ),
    "bart": Family("BartModel", BART, whole="BartForConditionalGeneration"),
    "marian": Family("MarianModel", MARIAN, whole="MarianMTModel"),
    "llama": Family("LlamaForCausalLM", LLAMA),
    "granite": Family("GraniteForCausalLM", GRANITE),
    "mistral": Family("MistralForCausalLM", MISTRAL, {**LONGER, WINDOW: 4096}),
    "mixtral": Family("MixtralForCausalLM", (*MISTRAL, *EXPERTS), {**LONGER, EPS: 1e-5, BASE: 1e6}),
    "qwen2": Family("Qwen2ForCausalLM", QWEN2, LONG),
    "qwen3": Family("Qwen3ForCausalLM", QWEN3, LONG),
    "qwen2_moe": Family("Qwen2MoeForCausalLM", QWEN2_MOE, LONG),
    "qwen3_moe": Family("Qwen3MoeForCausalLM", (*QWEN3, *layers.EXPERTS_OF_QWEN), LONG),
    "qwen3_next": Family(
        "Qwen3NextForCausalLM",
        (*QWEN3_5, *layers.EXPERTS_OF_QWEN, layers.gated_shared),
        OF_QWEN3_NEXT,
    ),
    "gpt_oss": Family("GptOssForCausalLM", GPT_OSS, OF_GPT_OSS),
    "deepseek_v2": Family("DeepseekV2ForCausalLM", DEEPSEEK_V2),
    "deepseek_v3": Family("DeepseekV3ForCausalLM", DEEPSEEK_V3, OF_DEEPSEEK_V3),
    "gemma": Family("GemmaForCausalLM", GEMMA, {**OF_GEMMA, CONTEXT: 8192}),
    "gemma2": Family("Gemma2ForCausalLM", GEMMA2, {**OF_GEMMA, CONTEXT: 8192}),
    "gemma3_text": Family("Gemma3ForCausalLM", GEMMA3, {**OF_GEMMA, **LONGER}),
    "olmo2": Family("Olmo2ForCausalLM", OLMO2, {EPS: 1e-5}),
    "olmo3": Family("Olmo3ForCausalLM", OLMO3, {EPS: 1e-5, WINDOW: 4096, BASE: 500_000.0}),
    "smollm3": Family("SmolLM3ForCausalLM", SMOLLM3, OF_SMOLLM),
    "ministral": Family(
        "MinistralForCausalLM", but(MISTRAL, windows(0)), {**LONGER, WINDOW: 4096, KV_HEADS: 8}
    ),
    "exaone4": Family("Exaone4ForCausalLM", EXAONE4, {EPS: 1e-5, WINDOW: 4096, KV_HEADS: 32}),
    "seed_oss": Family("SeedOssForCausalLM", SEED_OSS, {CONTEXT: 524_288, KV_HEADS: 8, WIDTH: 128}),
    "ernie4_5": Family("Ernie4_5ForCausalLM", (*LIKE_LLAMA, biases("use_bias", False)), OF_ERNIE),
    "glm": Family("GlmForCausalLM", GLM, OF_GLM),
    "glm4": Family("Glm4ForCausalLM", (*GLM, SANDWICH), OF_GLM),
    "starcoder2": Family(
        "Starcoder2ForCausalLM", STARCODER2, {CONTEXT: 4096, KV_HEADS: 2, TIED: True}
    ),
    "qwen3_5_text": Family("Qwen3_5ForCausalLM", QWEN3_5, {**LONG, KV_HEADS: 4, WIDTH: 256}),
    "phi": Family("PhiForCausalLM", PHI),
    "phi3": Family("Phi3ForCausalLM", PHI3, {CONTEXT: 4096, EPS: 1e-5}),
    "gpt_neox": Family("GPTNeoXForCausalLM", NEOX),
    "gptj": Family("GPTJForCausalLM", GPTJ, {TIED: False}),
    "opt": Family("OPTForCausalLM", OPT),
    "bloom": Family("BloomForCausalLM", BLOOM),
    "falcon": Family("FalconForCausalLM", FALCON),
}

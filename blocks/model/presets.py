"""Published architectures, whole: a table to read down a column."""

from typing import Any, NamedTuple

from blocks.model.config import ModelConfig
from blocks.model.faults import N_, Table
from blocks.model.masks import MaskKind
from blocks.model.positions import yarn_size


class Preset(NamedTuple):
    """A model people know, the mask it is used with, and where its numbers stand."""

    title: str
    config: ModelConfig
    mask_kind: MaskKind
    source: str


def _model(
    architecture: str, sizes: tuple[int, ...], parts: tuple[str, ...], **more: Any
) -> ModelConfig:
    n_layers, d_model, n_heads, n_kv_heads, d_ff, vocab_size = sizes
    placement, norm, activation, position, initialization = parts
    return ModelConfig.from_flat(
        {
            "architecture": architecture,
            "n_layers": n_layers,
            "d_model": d_model,
            "n_heads": n_heads,
            "n_kv_heads": None if n_kv_heads == n_heads else n_kv_heads,
            "d_ff": None if d_ff == 4 * d_model else d_ff,
            "vocab_size": vocab_size,
            "norm_placement": placement,
            "norm_kind": norm,
            "activation": activation,
            "position_kind": position,
            "initialization": initialization,
            **more,
        }
    )


# fmt: off
_NO_BIAS = {"attention_bias": False, "feed_forward_bias": False, "dropout": 0.0}
_PAPER   = ("post", "layernorm", "relu",      "sinusoidal", "xavier_uniform")
_MARIAN  = ("post", "layernorm", "silu",      "sinusoidal", "xavier_uniform")
_BERT    = ("post", "layernorm", "gelu",      "learned",    "normal")
_MODERNBERT = ("pre", "layernorm", "geglu",   "rope",       "normal")
_GPT2    = ("pre",  "layernorm", "gelu_tanh", "learned",    "normal")
_LLAMA   = ("pre",  "rmsnorm",   "swiglu",    "rope",       "normal")
_MIXTRAL = {**_NO_BIAS, "n_experts": 8, "n_active_experts": 2}
_QWEN3   = {**_NO_BIAS, "d_head": 128, "qk_norm": True, "qk_norm_scale": True, "norm_eps": 1e-6}
_DEEPSEEK = {**_NO_BIAS, "d_head": 128, "d_kv_latent": 512, "d_rotary": 64, "norm_eps": 1e-6}
_BERT_ENDS = {"embedding_norm": True, "n_segments": 2, "pooler": True, "norm_eps": 1e-12,
              "scale_embeddings": False}
_UNTIED  = {"tie_embeddings": False, "rope_base": 500_000.0}
_T5_MATHS = {"relative_bias": True, "scale_embeddings": False, "scale_scores": False,
             "scale_output": True, "norm_eps": 1e-6}
_T5      = ("pre",  "rmsnorm",   "relu",      "none",       "normal")
_GEMMA   = ("pre",  "rmsnorm",   "geglu_tanh", "rope",      "normal")
_GEMMA2  = ("sandwich", "rmsnorm", "geglu_tanh", "rope",   "normal")
_GEMMA_MATHS = {**_NO_BIAS, "d_head": 256, "norm_eps": 1e-6, "norm_offset": True,
                "scale_embeddings": True}
_OLMO2   = ("res_post", "rmsnorm", "swiglu",  "rope",       "normal")
_GPT_OSS = ("pre",  "rmsnorm",   "quick_geglu", "rope",     "normal")
_NEOX    = ("parallel", "layernorm", "gelu",  "rope",       "normal")
_COURSE  = ("pre",  "layernorm", "gelu",      "sinusoidal", "pytorch")


def _deepseek_yarn(share: float) -> dict[str, Any]:
    """From 4,096 tokens to 40 times as many; `share`: what their config.json calls mscale."""
    return {"rope_scaling": "yarn", "rope_factor": 40.0, "rope_trained_len": 4096,
            "rope_attention_factor": 1.0,
            "attention_multiplier": yarn_size(40.0, share) ** 2 / (128 + 64) ** 0.5}


# name: title, architecture, (n_layers, d_model, n_heads, n_kv_heads, d_ff, vocab_size), parts,
# what differs, mask, source
PRESET_TABLE: dict[str, Preset] = {
    "course": Preset(
        N_("Course block"),
        _model("block", (1, 256, 8, 8, 1024, 1024), _COURSE),
        MaskKind.CAUSAL, N_("the small block often built in courses")),
    "transformer-base": Preset(
        N_("Transformer base (encoder)"),
        _model("encoder", (6, 512, 8, 8, 2048, 37000), _PAPER, attention_bias=False),
        MaskKind.NONE, "Vaswani et al. 2017, table 3; projections without bias, section 3.2.2"),
    "transformer-big": Preset(
        N_("Transformer big (encoder)"),
        _model("encoder", (6, 1024, 16, 16, 4096, 37000), _PAPER,
               attention_bias=False, dropout=0.3),
        MaskKind.NONE, "Vaswani et al. 2017, table 3"),
    "bert-base": Preset(
        "BERT-base",
        _model("encoder", (12, 768, 12, 12, 3072, 30522), _BERT, **_BERT_ENDS),
        MaskKind.NONE, "Devlin et al. 2018, section 3; the model's config.json"),
    "gpt2-small": Preset(
        "GPT-2 small",
        _model("gpt", (12, 768, 12, 12, 3072, 50257), _GPT2, max_seq_len=1024),
        MaskKind.CAUSAL, "Radford et al. 2019, table 2"),
    "smollm2-135m": Preset(
        "Llama-style: SmolLM2 135M",
        _model("gpt", (30, 576, 9, 3, 1536, 49152), _LLAMA,
               max_seq_len=8192, rope_base=100_000.0, **_NO_BIAS),
        MaskKind.CAUSAL, "Ben Allal et al. 2025; the model's config.json"),
    "tinyllama-1.1b": Preset(
        "Llama-style: TinyLlama 1.1B",
        _model("gpt", (22, 2048, 32, 4, 5632, 32000), _LLAMA,
               max_seq_len=2048, tie_embeddings=False, **_NO_BIAS),
        MaskKind.CAUSAL, "Zhang et al. 2024, table 1"),
}

# Encoder–decoders; the mask is that of the target.
ENCODER_DECODER_TABLE: dict[str, Preset] = {
    "vaswani-base": Preset(
        "Attention is all you need, base",
        _model("encoder-decoder", (6, 512, 8, 8, 2048, 37000), _PAPER, attention_bias=False),
        MaskKind.CAUSAL, "Vaswani et al. 2017, table 3; projections without bias, section 3.2.2"),
    "vaswani-big": Preset(
        "Attention is all you need, big",
        _model("encoder-decoder", (6, 1024, 16, 16, 4096, 37000), _PAPER,
               attention_bias=False, dropout=0.3),
        MaskKind.CAUSAL, "Vaswani et al. 2017, table 3"),
    "t5-small": Preset(
        "T5-small",
        _model("encoder-decoder", (6, 512, 8, 8, 2048, 32128), _T5,
               attention_bias=False, feed_forward_bias=False, **_T5_MATHS),
        MaskKind.CAUSAL, "Raffel et al. 2019, section 2.1; the model's config.json"),
    "bart-base": Preset(
        "BART-base",
        _model("encoder-decoder", (6, 768, 12, 12, 3072, 50265), _BERT,
               embedding_norm=True, max_seq_len=1024, position_offset=2,
               scale_embeddings=False),
        MaskKind.CAUSAL, N_("Lewis et al. 2019, section 2; the model's config.json: 1,024 "
                            "positions, and two unused rows in the position table")),
}

# Counted and compared like the others; most of them are too large to run on one machine.
PUBLISHED_TABLE: dict[str, Preset] = {
    "gpt2-medium": Preset(
        "GPT-2 medium",
        _model("gpt", (24, 1024, 16, 16, 4096, 50257), _GPT2, max_seq_len=1024),
        MaskKind.CAUSAL, "Radford et al. 2019, table 2"),
    "gpt2-large": Preset(
        "GPT-2 large",
        _model("gpt", (36, 1280, 20, 20, 5120, 50257), _GPT2, max_seq_len=1024),
        MaskKind.CAUSAL, "Radford et al. 2019, table 2"),
    "gpt2-xl": Preset(
        "GPT-2 XL",
        _model("gpt", (48, 1600, 25, 25, 6400, 50257), _GPT2, max_seq_len=1024),
        MaskKind.CAUSAL, "Radford et al. 2019, table 2"),
    "bert-large": Preset(
        "BERT-large",
        _model("encoder", (24, 1024, 16, 16, 4096, 30522), _BERT, **_BERT_ENDS),
        MaskKind.NONE, "Devlin et al. 2018, section 3; the model's config.json"),
    "modernbert-base": Preset(
        "ModernBERT-base",
        _model("encoder", (22, 768, 12, 12, 1152, 50368), _MODERNBERT,
               max_seq_len=8192, local_window=65, global_every=3, global_first=True,
               rope_base=160_000.0, local_rope_base=1e4, norm_bias=False, first_norm=False,
               embedding_norm=True, scale_embeddings=False, **_NO_BIAS),
        MaskKind.NONE, "Warner et al. 2024, section 2.1; the model's config.json"),
    "t5-base": Preset(
        "T5-base",
        _model("encoder-decoder", (12, 768, 12, 12, 3072, 32128), _T5,
               attention_bias=False, feed_forward_bias=False, **_T5_MATHS),
        MaskKind.CAUSAL, "Raffel et al. 2019, section 3.1.1; the model's config.json"),
    "opus-mt-en-de": Preset(
        "Marian: OPUS-MT en-de",
        _model("encoder-decoder", (6, 512, 8, 8, 2048, 58101), _MARIAN,
               max_seq_len=512, sines_first=True),
        MaskKind.CAUSAL, "Tiedemann and Thottingal 2020; the model's config.json"),
    "llama-7b": Preset(
        "LLaMA 7B",
        _model("gpt", (32, 4096, 32, 32, 11008, 32000), _LLAMA,
               max_seq_len=2048, norm_eps=1e-6, tie_embeddings=False, **_NO_BIAS),
        MaskKind.CAUSAL, "Touvron et al. 2023, table 2; the model's config.json"),
    "llama-3-8b": Preset(
        "Llama 3 8B",
        _model("gpt", (32, 4096, 32, 8, 14336, 128256), _LLAMA,
               max_seq_len=8192, **_UNTIED, **_NO_BIAS),
        MaskKind.CAUSAL, "Grattafiori et al. 2024, table 3"),
    "llama-3.1-8b": Preset(
        "Llama 3.1 8B (128K)",
        _model("gpt", (32, 4096, 32, 8, 14336, 128256), _LLAMA,
               max_seq_len=131072, **_UNTIED, **_NO_BIAS),
        MaskKind.CAUSAL, "Grattafiori et al. 2024, table 3"),
    "llama-3-70b": Preset(
        "Llama 3 70B",
        _model("gpt", (80, 8192, 64, 8, 28672, 128256), _LLAMA,
               max_seq_len=8192, **_UNTIED, **_NO_BIAS),
        MaskKind.CAUSAL, "Grattafiori et al. 2024, table 3"),
    "llama-3-405b": Preset(
        "Llama 3.1 405B",
        _model("gpt", (126, 16384, 128, 8, 53248, 128256), _LLAMA,
               max_seq_len=131072, **_UNTIED, **_NO_BIAS),
        MaskKind.CAUSAL, "Grattafiori et al. 2024, table 3"),
    "mistral-7b": Preset(
        "Mistral 7B",
        _model("gpt", (32, 4096, 32, 8, 14336, 32000), _LLAMA,
               max_seq_len=8192, local_window=4096, tie_embeddings=False, **_NO_BIAS),
        MaskKind.CAUSAL, "Jiang et al. 2023, table 1"),
    "phi-3-mini": Preset(
        "Phi-3 mini (4K)",
        _model("gpt", (32, 3072, 32, 32, 8192, 32064), _LLAMA,
               max_seq_len=4096, local_window=2047, tie_embeddings=False, **_NO_BIAS),
        MaskKind.CAUSAL, "Abdin et al. 2024, section 2; the model's config.json"),
    "mixtral-8x7b": Preset(
        "Mixtral 8×7B",
        _model("gpt", (32, 4096, 32, 8, 14336, 32000), _LLAMA,
               max_seq_len=32768, rope_base=1e6, tie_embeddings=False, **_MIXTRAL),
        MaskKind.CAUSAL, "Jiang et al. 2024, table 1"),
    "qwen3-0.6b": Preset(
        "Qwen3 0.6B",
        _model("gpt", (28, 1024, 16, 8, 3072, 151936), _LLAMA,
               max_seq_len=40960, rope_base=1e6, **_QWEN3),
        MaskKind.CAUSAL, "Yang et al. 2025, table 1; the model's config.json"),
    "qwen3-8b": Preset(
        "Qwen3 8B",
        _model("gpt", (36, 4096, 32, 8, 12288, 151936), _LLAMA,
               max_seq_len=40960, rope_base=1e6, tie_embeddings=False, **_QWEN3),
        MaskKind.CAUSAL, "Yang et al. 2025, table 1; the model's config.json"),
    "qwen3-30b-a3b": Preset(
        "Qwen3 30B-A3B",
        _model("gpt", (48, 2048, 32, 4, 6144, 151936), _LLAMA,
               max_seq_len=40960, rope_base=1e6, tie_embeddings=False, **_QWEN3,
               n_experts=128, n_active_experts=8, d_expert=768),
        MaskKind.CAUSAL, "Yang et al. 2025, table 2; the model's config.json"),
    "gpt-oss-20b": Preset(
        "gpt-oss-20b",
        _model("gpt", (24, 2880, 64, 8, 2880, 201088), _GPT_OSS,
               d_head=64, max_seq_len=131072, local_window=128, global_every=2,
               attention_sink=True, rope_base=150_000.0, rope_scaling="yarn", rope_factor=32.0,
               rope_trained_len=4096, yarn_whole_pairs=False, gate_limit=7.0, up_offset=True,
               n_experts=32, n_active_experts=4, router_bias=True, tie_embeddings=False,
               dropout=0.0),
        MaskKind.CAUSAL, "OpenAI 2025, section 2; the model's config.json"),
    "deepseek-v2-lite": Preset(
        "DeepSeek-V2-Lite",
        _model("gpt", (27, 2048, 16, 16, 10944, 102400), _LLAMA,
               max_seq_len=163840, tie_embeddings=False, **_DEEPSEEK, **_deepseek_yarn(0.707),
               n_experts=64, n_active_experts=6, d_expert=1408, n_shared_experts=2,
               n_dense_layers=1, normalize_top_k=False),
        MaskKind.CAUSAL, "DeepSeek-AI 2024 (V2), appendix B; the model's config.json"),
    "deepseek-v3": Preset(
        "DeepSeek-V3",
        _model("gpt", (61, 7168, 128, 128, 18432, 129280), _LLAMA,
               max_seq_len=163840, tie_embeddings=False, **_DEEPSEEK, **_deepseek_yarn(1.0),
               d_q_latent=1536,
               n_experts=256, n_active_experts=8, d_expert=2048, n_shared_experts=1,
               n_dense_layers=3, router_kind="sigmoid", routed_scale=2.5,
               n_expert_groups=8, n_active_groups=4),
        MaskKind.CAUSAL, N_("DeepSeek-AI 2024 (V3), section 4.2; the model's config.json, "
                            "without the MTP module")),
    "gemma-2b": Preset(
        "Gemma 2B",
        _model("gpt", (18, 2048, 8, 1, 16384, 256000), _GEMMA,
               d_head=256, max_seq_len=8192, norm_eps=1e-6, norm_offset=True,
               scale_embeddings=True, **_NO_BIAS),
        MaskKind.CAUSAL, "Gemma Team 2024, table 1; the model's config.json"),
    "gemma-2-2b": Preset(
        "Gemma 2 2B",
        _model("gpt", (26, 2304, 8, 4, 9216, 256000), _GEMMA2,
               max_seq_len=8192, local_window=4096, global_every=2, score_softcap=50.0,
               logit_softcap=30.0, **_GEMMA_MATHS),
        MaskKind.CAUSAL, "Gemma Team 2024 (Gemma 2), table 1; the model's config.json"),
    "gemma-3-1b": Preset(
        "Gemma 3 1B",
        _model("gpt", (26, 1152, 4, 1, 6912, 262144), _GEMMA2,
               max_seq_len=32768, local_window=512, global_every=6, rope_base=1e6,
               local_rope_base=1e4, qk_norm=True, qk_norm_scale=True, **_GEMMA_MATHS),
        MaskKind.CAUSAL, "Gemma Team 2025 (Gemma 3), section 2; the model's config.json"),
    "olmo-2-7b": Preset(
        "OLMo 2 7B",
        _model("gpt", (32, 4096, 32, 32, 11008, 100352), _OLMO2,
               max_seq_len=4096, norm_eps=1e-6, qk_norm=True, qk_norm_scale=True,
               qk_norm_whole=True, **_UNTIED, **_NO_BIAS),
        MaskKind.CAUSAL, "OLMo Team 2024, table 3; the model's config.json"),
    "pythia-1.4b": Preset(
        "Pythia 1.4B",
        _model("gpt", (24, 2048, 16, 16, 8192, 50304), _NEOX,
               parallel_norms=2, rotary_share=0.25, max_seq_len=2048, tie_embeddings=False),
        MaskKind.CAUSAL, "Biderman et al. 2023, table 1; the model's config.json"),
    "falcon-7b": Preset(
        "Falcon 7B",
        _model("gpt", (32, 4544, 71, 1, 18176, 65024), _NEOX, max_seq_len=2048, **_NO_BIAS),
        MaskKind.CAUSAL, "Almazrouei et al. 2023; the model's config.json"),
}
# fmt: on


PRESETS = Table(
    N_("There is no preset named {name}: the nearest names are {names}"),
    {
        name: preset.config
        for name, preset in (PRESET_TABLE | ENCODER_DECODER_TABLE | PUBLISHED_TABLE).items()
    },
)
ENCODER_DECODER_PRESETS: dict[str, ModelConfig] = {
    name: preset.config for name, preset in ENCODER_DECODER_TABLE.items()
}

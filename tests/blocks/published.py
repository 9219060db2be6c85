"""Published models as `transformers` builds them, without memory: the shapes of their config.json.

Written down from the models' own files, not from ours.
"""

import torch
from torch import nn
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    BartConfig,
    BertConfig,
    DeepseekV2Config,
    DeepseekV3Config,
    FalconConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    GPTNeoXConfig,
    GptOssConfig,
    LlamaConfig,
    MarianConfig,
    MistralConfig,
    MixtralConfig,
    ModernBertConfig,
    Olmo2Config,
    Phi3Config,
    Qwen3Config,
    Qwen3MoeConfig,
    T5Config,
)

# Parameters as published: the model's card, or the number of values in its files.
COUNTS = {
    "bert-base": 109_482_240,
    "bert-large": 335_141_888,
    "modernbert-base": 149_014_272,
    "gpt2-small": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "smollm2-135m": 134_515_008,
    "tinyllama-1.1b": 1_100_048_384,
    "t5-small": 60_506_624,
    "t5-base": 222_903_552,
    "bart-base": 139_420_416,
    "opus-mt-en-de": 73_886_208,  # without two tables of fixed waves, which its files held
    "llama-7b": 6_738_415_616,
    "llama-3-8b": 8_030_261_248,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3-405b": 405_853_388_800,
    "mistral-7b": 7_241_732_096,
    "phi-3-mini": 3_821_079_552,
    "mixtral-8x7b": 46_702_792_704,
    "qwen3-0.6b": 596_049_920,
    "qwen3-8b": 8_190_735_360,
    "qwen3-30b-a3b": 30_532_122_624,
    "gpt-oss-20b": 20_914_757_184,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v3": 671_026_404_352,
    "gemma-2b": 2_506_172_416,
    "gemma-2-2b": 2_614_341_888,
    "gemma-3-1b": 999_885_952,
    "olmo-2-7b": 7_298_617_344,
    "pythia-1.4b": 1_414_647_808,
    "falcon-7b": 6_921_720_704,
}
CAUSAL, PLAIN, TWO = AutoModelForCausalLM, AutoModel, AutoModelForSeq2SeqLM


def _sizes(vocab_size, hidden_size, n_layers, n_heads, n_kv_heads, intermediate_size, **more):
    return {
        "vocab_size": vocab_size,
        "hidden_size": hidden_size,
        "num_hidden_layers": n_layers,
        "num_attention_heads": n_heads,
        "num_key_value_heads": n_kv_heads,
        "intermediate_size": intermediate_size,
        **more,
    }


def _untied(*sizes, **more):
    return _sizes(*sizes, tie_word_embeddings=False, **more)


def _gpt2(n_embd, n_layer, n_head):
    return GPT2Config(n_embd=n_embd, n_layer=n_layer, n_head=n_head)


LARGE_BERT = {
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
}
OPUS = {
    "d_model": 512,
    "encoder_layers": 6,
    "decoder_layers": 6,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
}
# fmt: off
CONFIGS = {
    "bert-base":      (PLAIN,  BertConfig()),
    "bert-large":     (PLAIN,  BertConfig(**LARGE_BERT)),
    "modernbert-base": (PLAIN, ModernBertConfig()),
    "gpt2-small":     (CAUSAL, _gpt2(768, 12, 12)),
    "gpt2-medium":    (CAUSAL, _gpt2(1024, 24, 16)),
    "gpt2-large":     (CAUSAL, _gpt2(1280, 36, 20)),
    "gpt2-xl":        (CAUSAL, _gpt2(1600, 48, 25)),
    "smollm2-135m":   (CAUSAL, LlamaConfig(**_sizes(49152, 576, 30, 9, 3, 1536,
                                                    tie_word_embeddings=True))),
    "tinyllama-1.1b": (CAUSAL, LlamaConfig(**_untied(32000, 2048, 22, 32, 4, 5632))),
    "t5-small":       (TWO,    T5Config(d_model=512, d_kv=64, d_ff=2048, num_layers=6,
                                        num_heads=8, vocab_size=32128)),
    "t5-base":        (TWO,    T5Config(d_model=768, d_kv=64, d_ff=3072, num_layers=12,
                                        num_heads=12, vocab_size=32128)),
    "bart-base":      (PLAIN,  BartConfig(d_model=768, encoder_layers=6, decoder_layers=6,
                                          encoder_attention_heads=12, decoder_attention_heads=12,
                                          encoder_ffn_dim=3072, decoder_ffn_dim=3072)),
    "opus-mt-en-de":  (PLAIN,  MarianConfig(**OPUS, activation_function="swish",
                                            max_position_embeddings=512, scale_embedding=True)),
    "llama-7b":       (CAUSAL, LlamaConfig(**_untied(32000, 4096, 32, 32, 32, 11008))),
    "llama-3-8b":     (CAUSAL, LlamaConfig(**_untied(128256, 4096, 32, 32, 8, 14336))),
    "llama-3.1-8b":   (CAUSAL, LlamaConfig(**_untied(128256, 4096, 32, 32, 8, 14336))),
    "llama-3-70b":    (CAUSAL, LlamaConfig(**_untied(128256, 8192, 80, 64, 8, 28672))),
    "llama-3-405b":   (CAUSAL, LlamaConfig(**_untied(128256, 16384, 126, 128, 8, 53248))),
    "mistral-7b":     (CAUSAL, MistralConfig(**_untied(32000, 4096, 32, 32, 8, 14336))),
    "phi-3-mini":     (CAUSAL, Phi3Config(**_untied(32064, 3072, 32, 32, 32, 8192),
                                          sliding_window=2047)),
    "mixtral-8x7b":   (CAUSAL, MixtralConfig(**_untied(32000, 4096, 32, 32, 8, 14336))),
    "qwen3-0.6b":     (CAUSAL, Qwen3Config(**_sizes(151936, 1024, 28, 16, 8, 3072, head_dim=128,
                                                    tie_word_embeddings=True))),
    "qwen3-8b":       (CAUSAL, Qwen3Config(**_untied(151936, 4096, 36, 32, 8, 12288,
                                                     head_dim=128))),
    "qwen3-30b-a3b":  (CAUSAL, Qwen3MoeConfig(**_untied(151936, 2048, 48, 32, 4, 6144,
                                                        head_dim=128))),
    "gpt-oss-20b":    (CAUSAL, GptOssConfig(num_hidden_layers=24, num_local_experts=32)),
    "deepseek-v2-lite": (CAUSAL, DeepseekV2Config(**_untied(102400, 2048, 27, 16, 16, 10944),
                                                  q_lora_rank=None, num_experts_per_tok=6,
                                                  moe_intermediate_size=1408,
                                                  first_k_dense_replace=1)),
    "deepseek-v3":    (CAUSAL, DeepseekV3Config()),
    "gemma-2b":       (CAUSAL, GemmaConfig(**_sizes(256000, 2048, 18, 8, 1, 16384, head_dim=256,
                                                    tie_word_embeddings=True))),
    "gemma-2-2b":     (CAUSAL, Gemma2Config(**_sizes(256000, 2304, 26, 8, 4, 9216, head_dim=256))),
    "gemma-3-1b":     (CAUSAL, Gemma3TextConfig(**_sizes(262144, 1152, 26, 4, 1, 6912, head_dim=256,
                                                         sliding_window=512,
                                                         max_position_embeddings=32768))),
    "olmo-2-7b":      (CAUSAL, Olmo2Config(**_untied(100352, 4096, 32, 32, 32, 11008))),
    "pythia-1.4b":    (CAUSAL, GPTNeoXConfig(**_untied(50304, 2048, 24, 16, 16, 8192))),
    "falcon-7b":      (CAUSAL, FalconConfig(vocab_size=65024, hidden_size=4544,
                                            num_hidden_layers=32, num_attention_heads=71,
                                            bias=False, multi_query=True, parallel_attn=True)),
}
# fmt: on


def count_theirs(name: str) -> int:
    """Learned numbers of the model that `transformers` builds; tied ones once, none allocated."""
    kind, config = CONFIGS[name]
    with torch.device("meta"):
        model: nn.Module = kind.from_config(config)
    model.tie_weights()
    return sum(each.numel() for each in model.parameters() if each.requires_grad)

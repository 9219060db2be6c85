"""Small folders in the published format, written by us: what `transformers` writes is read in
tests/blocks."""

import json
from pathlib import Path
from typing import Any

from blocks import build
from blocks.weights import read_config_json, save_published

SIZES = {
    "vocab_size": 37,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "intermediate_size": 29,
    "max_position_embeddings": 17,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {**SIZES, "num_key_value_heads": 2, "max_position_embeddings": 64},
    "gpt2": {"vocab_size": 37, "n_embd": 24, "n_layer": 2, "n_head": 6, "n_positions": 17},
    "bert": {**SIZES, "architectures": ["BertForMaskedLM"]},
    "bart": {
        "vocab_size": 37,
        "d_model": 24,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "encoder_attention_heads": 6,
        "decoder_attention_heads": 6,
        "encoder_ffn_dim": 29,
        "decoder_ffn_dim": 29,
        "max_position_embeddings": 17,
    },
}


def save_folder(family: str, folder: Path) -> Path:
    """A model of a family, its weights drawn from seed 0."""
    config = read_config_json(json.dumps({"model_type": family, **CONFIGS[family]}))
    save_published(folder, config, build(config), family=family)
    return folder

"""What a config.json says of the maths beyond the sizes: what cannot be computed is refused.

A model can be counted with any of these; to be run, it has to be the same model.
"""

from collections.abc import Callable
from typing import Any

from blocks.weights.config_json import Keys

Changes = dict[str, Any]


def _of_gpt2(keys: Keys) -> Changes:
    keys.must_be("scale_attn_weights", True)
    keys.must_be("scale_attn_by_inverse_layer_idx", False)
    return {}


def _of_encoder(keys: Keys) -> Changes:
    keys.must_be("is_decoder", False)
    keys.must_be("tie_word_embeddings", True)
    return {}


def _of_t5(keys: Keys) -> Changes:
    keys.must_be("relative_attention_max_distance", 128)
    return {}


def _of_qwen(keys: Keys) -> Changes:
    keys.must_be("use_sliding_window", False)
    kinds = keys.values.get("layer_types")
    if isinstance(kinds, list) and any(kind != "full_attention" for kind in kinds):
        keys.must_be("layer_types", None)
    return {}


def _of_mistral(keys: Keys) -> Changes:
    """Within its window a token sees all: as long as the context is no longer, none is needed."""
    window = keys.optional("sliding_window")
    longest = keys.size("max_position_embeddings", 2048)
    return {} if window is None or window >= longest else {"max_seq_len": window}


def _of_gemma(keys: Keys) -> Changes:
    keys.must_be("use_bidirectional_attention", None, False)
    return {}


def _of_falcon(keys: Keys) -> Changes:
    keys.must_be("alibi", False)  # its scores are divided after the bias was added
    return {}


OF_FAMILIES: dict[str, Callable[[Keys], Changes]] = {
    "gpt2": _of_gpt2,
    "bert": _of_encoder,
    "roberta": _of_encoder,
    "distilbert": _of_encoder,
    "t5": _of_t5,
    "qwen2": _of_qwen,
    "qwen3": _of_qwen,
    "mistral": _of_mistral,
    "mixtral": _of_mistral,
    "gemma": _of_gemma,
    "falcon": _of_falcon,
}
PARTIAL = ("gpt_neox", "phi")  # families that turn a share of each head


def check_maths(family: str, keys: Keys) -> Changes:
    """Fields of the configuration that follow from the maths; faults are collected in `keys`."""
    keys.must_be("quantization_config", None)
    keys.must_be("add_cross_attention", False)
    rope, scaling = keys.part("rope_parameters"), keys.part("rope_scaling")
    for part in (rope, scaling):
        for name in ("rope_type", "type"):
            part.must_be(name, None, "default")
        for name, value in part.values.items():
            if isinstance(value, dict):  # of each kind of layer its own
                part.must_be(name, None)
    if family not in PARTIAL:
        rope.must_be("partial_rotary_factor", None, 1.0, 1)
        keys.must_be("partial_rotary_factor", None, 1.0, 1)
    return OF_FAMILIES[family](keys) if family in OF_FAMILIES else {}

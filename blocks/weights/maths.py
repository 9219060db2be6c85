"""What a config.json says of the maths beyond the sizes: what cannot be computed is refused.

A model can be counted with any of these; to be run, it has to be the same model.
"""

from collections.abc import Callable
from typing import Any

from blocks.model.faults import N_
from blocks.model.positions import LLAMA3_FAST, LLAMA3_SLOW, YARN_FAST, YARN_SLOW
from blocks.weights.config_json import FULL, LOCAL, ONCE_LONGROPE, STRETCHED, Keys

Changes = dict[str, Any]


def _of_gpt2(keys: Keys) -> Changes:
    keys.must_be("scale_attn_weights", True)
    keys.must_be("scale_attn_by_inverse_layer_idx", False)
    return {}


def _of_encoder(keys: Keys) -> Changes:
    keys.must_be("is_decoder", False)
    keys.must_be("tie_word_embeddings", True)
    return {}


def _of_modernbert(keys: Keys) -> Changes:
    """Its prediction head bends as its feed-forward layers do, and has a bias where they do."""
    keys.must_be("classifier_activation", keys.values.get("hidden_activation", "gelu"))
    keys.must_be("classifier_bias", keys.values.get("mlp_bias", False))
    for kind in (FULL, LOCAL):
        keys.part("rope_parameters").part(kind).must_be("rope_type", None, "default")
    return _of_encoder(keys)


def _of_t5(keys: Keys) -> Changes:
    keys.must_be("relative_attention_max_distance", 128)
    return {}


def _of_qwen(keys: Keys) -> Changes:
    keys.must_be("use_sliding_window", False)
    kinds = keys.values.get("layer_types")
    if isinstance(kinds, list) and any(kind != "full_attention" for kind in kinds):
        keys.must_be("layer_types", None)
    return {}


def _of_deepseek(keys: Keys) -> Changes:
    """Its norms of latents have an eps of their own."""
    keys.must_be("rms_norm_eps", 1e-6)
    if keys.values.get("num_key_value_heads") is not None:
        keys.equal("num_key_value_heads", "num_attention_heads")
    keys.must_be("pretraining_tp", 1)
    return {}


def _of_deepseek_v3(keys: Keys) -> Changes:
    keys.must_be("rope_interleave", True)
    return _of_deepseek(keys)


def _of_gemma(keys: Keys) -> Changes:
    keys.must_be("use_bidirectional_attention", None, False)
    return {}


def _of_gemma2(keys: Keys) -> Changes:
    keys.part("rope_parameters").part("sliding_attention").must_be("rope_type", None, "default")
    return _of_gemma(keys)


def _of_olmo3(keys: Keys) -> Changes:
    keys.part("rope_parameters").part(LOCAL).must_be("rope_type", None, "default")
    return {}


def _of_falcon(keys: Keys) -> Changes:
    keys.must_be("alibi", False)  # its scores are divided after the bias was added
    return {}


def _of_phi3(keys: Keys) -> Changes:
    """Longer texts are read by a factor for each pair; one more name of that is no other's."""
    for name in ("rope_parameters", "rope_scaling"):
        for kind in ("rope_type", "type"):
            keys.part(name).must_be(kind, None, "default", "longrope", ONCE_LONGROPE)
    return {}


OF_FAMILIES: dict[str, Callable[[Keys], Changes]] = {
    "gpt2": _of_gpt2,
    "bert": _of_encoder,
    "roberta": _of_encoder,
    "distilbert": _of_encoder,
    "modernbert": _of_modernbert,
    "t5": _of_t5,
    "mt5": _of_t5,
    "qwen2": _of_qwen,
    "qwen3": _of_qwen,
    "qwen2_moe": _of_qwen,
    "qwen3_moe": _of_qwen,
    "deepseek_v2": _of_deepseek,
    "deepseek_v3": _of_deepseek_v3,
    "gemma": _of_gemma,
    "gemma2": _of_gemma2,
    "gemma3_text": _of_gemma2,
    "smollm3": _of_qwen,
    "olmo3": _of_olmo3,
    "phi3": _of_phi3,
    "falcon": _of_falcon,
}
# families whose local layers turn by a base of their own
OF_EACH_KIND = ("gemma3_text", "olmo3", "modernbert")
SIZES_OF_SCORES, OF_LATENTS = ("mscale", "mscale_all_dim"), ("deepseek_v2", "deepseek_v3")
USUAL_STRETCH: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(SIZES_OF_SCORES, ()),
    "beta_fast": (YARN_FAST, float(YARN_FAST)),
    "beta_slow": (YARN_SLOW, float(YARN_SLOW)),
    "low_freq_factor": (LLAMA3_SLOW, float(LLAMA3_SLOW)),
    "high_freq_factor": (LLAMA3_FAST, float(LLAMA3_FAST)),
}
# what multiplies queries and keys may be given
OF_OWN_SIZE = ("yarn", "longrope", ONCE_LONGROPE)
# families that turn a share of each head
PARTIAL = ("gpt_neox", "phi", "phi3", "glm", "glm4", "qwen3_5_text", "qwen3_next")


def _check_format(family: str, keys: Keys) -> None:
    """Weights are numbers of at least two bytes each, or MXFP4 where the family has it."""
    is_mxfp4 = keys.part("quantization_config").values.get("quant_method") == "mxfp4"
    if is_mxfp4 and family == "gpt_oss":
        return
    if is_mxfp4:
        text = N_(
            "{name} is stored as MXFP4 (4 bits per weight): open the model in transformers "
            "with Mxfp4Config(dequantize=True) and save it with save_pretrained"
        )
        keys.refuse("quantization_config", text)
    else:
        keys.must_be("quantization_config", None)


def _check_stretch(family: str, part: Keys) -> None:
    """How RoPE is stretched, and by how much queries, keys and scores grow then."""
    kind = part.values.get("rope_type", part.values.get("type"))
    older = [ONCE_LONGROPE] if family == "phi3" else []
    for name in ("rope_type", "type"):
        part.must_be(name, None, "default", *STRETCHED, *older)
    if kind not in OF_OWN_SIZE:
        part.must_be("attention_factor", None)
    for name, usual in USUAL_STRETCH.items():
        if not (kind == "yarn" and family in OF_LATENTS and name in SIZES_OF_SCORES):
            part.must_be(name, None, *usual)


def check_maths(family: str, keys: Keys) -> Changes:
    """Fields of the configuration that follow from the maths; faults are collected in `keys`."""
    _check_format(family, keys)
    keys.must_be("add_cross_attention", False)
    rope, scaling = keys.part("rope_parameters"), keys.part("rope_scaling")
    parts = [rope, scaling]
    if rope.values and scaling.values and rope.values != scaling.values:
        text = N_("{name} and rope_parameters disagree: keep only one of them")
        keys.refuse("rope_scaling", text)
    if family in OF_EACH_KIND:
        parts += [rope.part(kind) for kind in (FULL, LOCAL)]
    for part in parts:
        _check_stretch(family, part)
        for name, value in part.values.items():
            is_own = family in OF_EACH_KIND and name in (FULL, LOCAL)
            if isinstance(value, dict) and not is_own:  # of each kind of layer its own
                part.must_be(name, None)
    if family not in PARTIAL:
        rope.must_be("partial_rotary_factor", None, 1.0, 1)
        keys.must_be("partial_rotary_factor", None, 1.0, 1)
    return OF_FAMILIES[family](keys) if family in OF_FAMILIES else {}

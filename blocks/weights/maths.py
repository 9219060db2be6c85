"""What a config.json says of the maths beyond the sizes: what cannot be computed is refused.

A model can be counted with any of these; to be run, it has to be the same model.
"""

from blocks.model.faults import N_
from blocks.model.positions import LLAMA3_FAST, LLAMA3_SLOW, YARN_FAST, YARN_SLOW
from blocks.weights.config_keys import Keys
from blocks.weights.config_parts import Part, Values, must_be, part, read_all, same
from blocks.weights.config_rope import FULL, LOCAL, ONCE_LONGROPE, ROPE, STRETCHED


@part("classifier_bias")
def _of_modernbert(keys: Keys, _found: Values) -> Values:
    """Its prediction head bends as its feed-forward layers do, and has a bias where they do."""
    keys.must_be("classifier_activation", keys.values.get("hidden_activation", "gelu"))
    keys.must_be("classifier_bias", keys.values.get("mlp_bias", False))
    return {}


@part("layer_types")
def _sees_all(keys: Keys, _found: Values) -> Values:
    kinds = keys.values.get("layer_types")
    if isinstance(kinds, list) and any(kind != FULL for kind in kinds):
        keys.must_be("layer_types", None)
    return {}


def _unstretched(*kinds: str) -> Part:
    """Layers of these kinds turn as RoPE was published."""

    @part(ROPE)
    def read(keys: Keys, _found: Values) -> Values:
        for kind in kinds:
            keys.part(ROPE).part(kind).must_be("rope_type", None, "default")
        return {}

    return read


@part(ROPE)
def _by_factors(keys: Keys, _found: Values) -> Values:
    """Phi-3 reads longer texts by a factor for each pair; one more name of that is no other's."""
    for name in (ROPE, "rope_scaling"):
        for kind in ("rope_type", "type"):
            keys.part(name).must_be(kind, None, "default", "longrope", ONCE_LONGROPE)
    return {}


OF_ENCODER = (must_be("is_decoder", False), must_be("tie_word_embeddings", True))
OF_T5 = (must_be("relative_attention_max_distance", 128),)
OF_QWEN = (must_be("use_sliding_window", False), _sees_all)
OF_DEEPSEEK = (
    must_be("rms_norm_eps", 1e-6),  # its norms of latents have an eps of their own
    same("num_key_value_heads", "num_attention_heads", "n_heads", is_needed=False),
    must_be("pretraining_tp", 1),
)
OF_GEMMA = (must_be("use_bidirectional_attention", None, False),)
OF_FAMILIES: dict[str, tuple[Part, ...]] = {
    "gpt2": (
        must_be("scale_attn_weights", True),
        must_be("scale_attn_by_inverse_layer_idx", False),
    ),
    **dict.fromkeys(("bert", "roberta", "distilbert"), OF_ENCODER),
    "modernbert": (_of_modernbert, _unstretched(FULL, LOCAL), *OF_ENCODER),
    **dict.fromkeys(("t5", "mt5"), OF_T5),
    **dict.fromkeys(("qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "smollm3"), OF_QWEN),
    "deepseek_v2": OF_DEEPSEEK,
    "deepseek_v3": (must_be("rope_interleave", True), *OF_DEEPSEEK),
    "gemma": OF_GEMMA,
    **dict.fromkeys(("gemma2", "gemma3_text"), (_unstretched(LOCAL), *OF_GEMMA)),
    "olmo3": (_unstretched(LOCAL),),
    "phi3": (_by_factors,),
    "falcon": (must_be("alibi", False),),  # its scores are divided after the bias was added
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


def check_maths(family: str, keys: Keys) -> None:
    """Refuse what cannot be computed; faults are collected in `keys`."""
    _check_format(family, keys)
    keys.must_be("add_cross_attention", False)
    rope, scaling = keys.part(ROPE), keys.part("rope_scaling")
    parts = [rope, scaling]
    if rope.values and scaling.values and rope.values != scaling.values:
        text = N_("{name} and rope_parameters disagree: keep only one of them")
        keys.refuse("rope_scaling", text)
    if family in OF_EACH_KIND:
        parts += [rope.part(kind) for kind in (FULL, LOCAL)]
    for each in parts:
        _check_stretch(family, each)
        for name, value in each.values.items():
            is_own = family in OF_EACH_KIND and name in (FULL, LOCAL)
            if isinstance(value, dict) and not is_own:  # of each kind of layer its own
                each.must_be(name, None)
    if family not in PARTIAL:
        rope.must_be("partial_rotary_factor", None, 1.0, 1)
        keys.must_be("partial_rotary_factor", None, 1.0, 1)
    read_all(OF_FAMILIES.get(family, ()), keys)

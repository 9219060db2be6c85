"""Models that read pictures or sound beside text: their text part alone is opened.

Its config.json stands in `text_config`, and its tensors have one more name in front. With text as
the only input the other parts do nothing; which ones there are, and how large, the ledger says.
"""

from collections.abc import Mapping
from typing import Any

from blocks.model.faults import N_

Values = Mapping[str, Any]
TEXT, KIND = "text_config", "model_type"
AROUND = (  # families of models whose text part is a plain decoder
    "gemma3",
    "mistral3",
    "llava",
    "llava_next",
    "llava_onevision",
    "internvl",
    "idefics3",
    "smolvlm",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_vl",
    "qwen3_5",
)
PLAIN = {  # what the text part is called elsewhere
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "gemma3": "gemma3_text",
}
USUAL: dict[str, Values] = {  # sizes that a text_config leaves out, where a config.json may not
    "gemma3_text": {
        "vocab_size": 262_208,
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_hidden_layers": 26,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
    },
    "llama": {
        "vocab_size": 32_000,
        "hidden_size": 4096,
        "intermediate_size": 11_008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
    },
}
FRONTS = {  # what stands before the names of the text part, and in their place
    "model.language_model.lm_head.": "lm_head.",
    "model.language_model.": "model.",
    "model.text_model.": "model.",
    "language_model.": "",
}
VISION, SOUND = N_("vision tower"), N_("audio tower")
BETWEEN = N_("projector between the towers and the text model")
PARTS = {
    r"(model\.)?(vision_tower|vision_model|visual)\..+": VISION,
    r"(model\.)?(audio_tower|audio_model)\..+": SOUND,
    r"(model\.)?(multi_modal_projector|connector|image_newline)(\..+)?": BETWEEN,
}


def text_part(values: Values) -> tuple[Values, str]:
    """The config.json of the text model alone, and the family around it; empty where none is."""
    around = values.get(KIND)
    if around not in AROUND:
        return values, ""
    own = values.get(TEXT)
    found = dict(own if isinstance(own, dict) else values)  # older Qwen-VL files have one level
    kind = found.get(KIND, around)
    found[KIND] = PLAIN.get(kind, kind) if isinstance(kind, str) else kind
    if "tie_word_embeddings" in values:
        found.setdefault("tie_word_embeddings", values["tie_word_embeddings"])
    usual = USUAL.get(str(found[KIND]), {})
    return {**usual, **found, **_of_text(found)}, around


def _of_text(values: Values) -> Values:
    """In text the three positions of Qwen-VL's RoPE are one, so each pair turns as ever."""
    found = {}
    for name in ("rope_scaling", "rope_parameters"):
        part = values.get(name)
        if isinstance(part, dict) and "mrope_section" in part:
            is_kind = {
                each: "default" for each in ("type", "rope_type") if part.get(each) == "mrope"
            }
            found[name] = {**part, **is_kind}
    return found

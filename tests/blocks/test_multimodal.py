"""The text part of a model that sees pictures too: the same numbers, and what was left out."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from published_folders import FOLDERS, OF_QWEN3_5, saved
from safetensors.torch import load_file, save_file
from torch import nn
from toy import assert_near

from blocks import ConfigError, record
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig
from blocks.weights.config_families import FAMILIES
from blocks.weights.config_json import read_config_file
from blocks.weights.ledger import State
from blocks.weights.multimodal import AROUND
from blocks.weights.published import open_published, read_ledger, save_published

TEXT: dict[str, Any] = {
    "vocab_size": 37,
    "hidden_size": 24,
    "num_hidden_layers": 7,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 29,
    "max_position_embeddings": 96,
}
TOWER = {
    "hidden_size": 16,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 16,
    "patch_size": 8,
}
QWEN_TOWER = {"depth": 1, "num_heads": 2, "patch_size": 8, "out_hidden_size": 24}
MROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e3, "mrope_section": [1, 1, 1]}}
OF_QWEN = {**TEXT, "num_attention_heads": 4, **MROPE}
MADE: dict[str, Callable[[], nn.Module]] = {
    "gemma3": lambda: transformers.Gemma3ForConditionalGeneration(
        transformers.Gemma3Config(
            text_config={**TEXT, "head_dim": 10, "query_pre_attn_scalar": 6, "sliding_window": 4},
            vision_config=TOWER,
            mm_tokens_per_image=4,
        )
    ),
    "mistral3": lambda: transformers.Mistral3ForConditionalGeneration(
        transformers.Mistral3Config(
            text_config={**TEXT, "model_type": "mistral", "head_dim": 4, "sliding_window": None},
            vision_config={**TOWER, "model_type": "pixtral"},
        )
    ),
    "llava": lambda: transformers.LlavaForConditionalGeneration(
        transformers.LlavaConfig(
            text_config={**TEXT, "model_type": "llama"},
            vision_config={**TOWER, "model_type": "clip_vision_model"},
            tie_word_embeddings=False,
        )
    ),
    "smolvlm": lambda: transformers.SmolVLMForConditionalGeneration(
        transformers.SmolVLMConfig(
            text_config={**TEXT, "model_type": "llama", "pad_token_id": 0},
            vision_config=TOWER,
            pad_token_id=0,
            tie_word_embeddings=False,
        )
    ),
    "qwen2_5_vl": lambda: transformers.Qwen2_5_VLForConditionalGeneration(
        transformers.Qwen2_5_VLConfig(
            text_config=OF_QWEN, vision_config={**QWEN_TOWER, "hidden_size": 16}
        )
    ),
    "qwen3_vl": lambda: transformers.Qwen3VLForConditionalGeneration(
        transformers.Qwen3VLConfig(
            text_config={**OF_QWEN, "head_dim": 6}, vision_config={**QWEN_TOWER, "hidden_size": 16}
        )
    ),
    "qwen3_5": lambda: transformers.Qwen3_5ForConditionalGeneration(
        transformers.Qwen3_5Config(
            text_config={
                **{**OF_QWEN, **OF_QWEN3_5},
                "rope_parameters": {**MROPE["rope_parameters"], "partial_rotary_factor": 0.75},
            },
            vision_config={**QWEN_TOWER, "hidden_size": 16},
        )
    ),
}


def drawn(model: nn.Module) -> nn.Module:
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, each in model.named_parameters():
            is_scale = each.dim() == 1 and name.endswith("weight")
            each.normal_(float(is_scale), 0.3, generator=random)
    model.set_attn_implementation("eager")
    return model.eval()


@pytest.mark.parametrize("name", MADE)
@torch.no_grad()
@pytest.mark.thinned
def test_its_text_part_says_in_text_what_the_whole_model_says(name: str, tmp_path: Path):
    theirs = drawn(MADE[name]())
    theirs.save_pretrained(tmp_path)
    found = open_published(tmp_path)
    ids = torch.randint(3, 37, (2, 9), generator=torch.Generator().manual_seed(0))
    expected = theirs(input_ids=ids, output_attentions=True)
    seen = record(found.build(), ids)
    assert_near(seen.output, expected.logits)
    layers = found.config.attention_layers
    for layer, pattern in zip(layers, expected.attentions, strict=True):
        assert_near(seen.pattern(layer), pattern)
    prompt = ids[0].tolist()
    text = Generation(found.build(), found.config, prompt, SamplingConfig(temperature=0))
    text.advance(24)
    written = theirs.generate(
        ids[:1],
        attention_mask=torch.ones_like(ids[:1]),
        do_sample=False,
        max_new_tokens=24,
        pad_token_id=0,
        eos_token_id=None,
    )
    assert text.token_ids == written[0].tolist()


@pytest.mark.parametrize("name", MADE)
def test_every_tensor_is_accounted_for(name: str, tmp_path: Path):
    drawn(MADE[name]()).save_pretrained(tmp_path)
    found = open_published(tmp_path)
    whole = load_file(tmp_path / "model.safetensors")
    rows = found.ledger.rows
    assert {row.key for row in rows} == whole.keys()
    out = found.ledger.left_out
    used = [whole[row.key] for row in rows if row.state is State.USED]
    assert len(used) + sum(n for n, _bytes in out.values()) == len(whole)
    n_bytes = sum(each.nbytes for each in whole.values()) - sum(each.nbytes for each in used)
    assert sum(n for _n, n in out.values()) == n_bytes > 0
    assert "vision tower" in out
    family = save_published(tmp_path / "text", found.config, found.build(), came=found.ledger)
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "text")
    assert again.config.model_type == family == found.family
    assert not open_published(tmp_path / "text").ledger.left_out


DECODERS = {
    FAMILY: next(name for name, (kind, _sizes) in FOLDERS.items() if kind == each.counted_as)
    for FAMILY, each in FAMILIES.items()
    if each.counted_as.endswith("CausalLM") or FAMILY == "gpt2"
}


def put_around(path: Path, values: dict[str, Any]) -> None:
    """A tower beside the model that lies there, and its config.json inside of another."""
    tensors = {f"language_model.{key}": each for key, each in load_file(path).items()}
    tower = {"vision_tower.patch.weight": torch.ones(3, 4), "visual.scale": torch.ones(2).half()}
    save_file({**tensors, **tower}, path)
    (path.parent / "config.json").write_text(json.dumps(values))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.thinned
def test_any_family_with_a_tower_beside_it_is_opened_without_it_or_refused(
    family: str, tmp_path: Path
):
    name = DECODERS.get(family) or next(
        each for each, (kind, _sizes) in FOLDERS.items() if kind.lower().startswith(family[:4])
    )
    path = saved(name, tmp_path).path / "model.safetensors"
    values = json.loads((tmp_path / "config.json").read_text())
    weights = open_published(tmp_path).tensors
    weights = {each: tensor.clone() for each, tensor in weights.items()}
    around = {"model_type": "llava", "text_config": values, "vision_config": {"hidden_size": 4}}
    put_around(path, around)
    if family in DECODERS:
        found = open_published(tmp_path)
        assert all(found.tensors[each].equal(tensor) for each, tensor in weights.items())
        assert found.ledger.left_out == {"vision tower": (2, 52)}
        assert read_config_file(json.dumps(around)).around == "llava"
    else:
        with pytest.raises(ConfigError, match="must be a decoder"):
            open_published(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**values, "vision_config": {}}))
    with pytest.raises(ConfigError, match=r"vision_tower|visual|language_model|lm_head|layers"):
        open_published(tmp_path)


def test_a_tensor_that_is_no_known_part_is_a_fault(tmp_path: Path):
    path = saved("llama", tmp_path).path / "model.safetensors"
    values = json.loads((tmp_path / "config.json").read_text())
    put_around(path, {"model_type": "llava", "text_config": values})
    save_file({**load_file(path), "odd.weight": torch.ones(1)}, path)
    states = {row.key: row.state for row in read_ledger(tmp_path).rows if not row.state.is_sound}
    assert states == {"odd.weight": State.LEFT_OVER}


def test_sizes_that_a_text_config_leaves_out_are_those_of_its_class():
    """As the file of Gemma 3 4B is written; 3.88 B parameters, by its class."""
    text = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    values = {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", **text}}
    read = read_config_file(json.dumps(values)).config
    own = transformers.Gemma3TextConfig(**text)
    assert read == read_config_file(own.to_json_string()).config
    assert AROUND

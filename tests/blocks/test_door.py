"""What a notebook may say: plain and flat it works, and what cannot be gets a sentence."""

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import nn
from toy import draw, toy

from blocks import PRESETS, ConfigError, ModelConfig, as_code, build, count_parameters, record
from blocks.cost import total_parameters
from blocks.model.kinds import Architecture, NormPlacement
from blocks.model.parts import AttentionConfig, NormConfig
from blocks.model.presets import ENCODER_DECODER_TABLE, PRESET_TABLE, PUBLISHED_TABLE
from blocks.model.source_target import SourceTarget
from blocks.observe.interventions import Intervention, InterventionKind, Part, replacements
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig
from blocks.training.recipe import OptimizerKind, Recipe
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from blocks.weights import open_published
from blocks.weights.pocket import pocket

GPT = build(toy(architecture="gpt", vocab_size=10, position_kind="learned", max_seq_len=4))
BLOCK = build(toy())
TWO = build(toy(architecture="encoder-decoder", vocab_size=10))
IDS = torch.tensor([[1, 2, 3]])


def test_flat_fields_and_plain_strings_make_a_configuration():
    config = ModelConfig(architecture="gpt", n_heads=4, norm_placement="post")
    assert config == ModelConfig.from_flat(config.flat())
    assert config.architecture is Architecture.GPT
    assert config.norm.norm_placement is NormPlacement.POST


def test_parts_work_as_before_and_a_flat_field_goes_on_top():
    nested = ModelConfig(attention=AttentionConfig(n_heads=4), norm=NormConfig(norm_eps=1e-3))
    assert nested == ModelConfig(n_heads=4, norm_eps=1e-3)
    assert ModelConfig(attention=AttentionConfig(n_heads=4), n_kv_heads=2).n_kv_heads == 2
    assert ModelConfig(norm=NormConfig(norm_placement="post")) == ModelConfig(norm_placement="post")


def test_a_configuration_is_copied_pickled_and_replaced_whole():
    config = ModelConfig(architecture="gpt", n_heads=4, d_ff=7)
    for same in (copy.deepcopy(config), pickle.loads(pickle.dumps(config))):
        assert same == config and hash(same) == hash(config)
    assert dataclasses.replace(config, n_layers=3) == config.replace(n_layers=3)
    assert dataclasses.replace(config, attention=AttentionConfig()).n_heads == 8


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"architecture": "robot"}, "use block / encoder / gpt / encoder-decoder"),
        ({"n_heads": "4"}, "n_heads cannot be '4': use 4"),
        ({"n_head": 4}, "n_head is not a field: the nearest names are n_heads"),
        ({"attention": {"n_heads": 4}}, "attention has several fields.*n_heads=8"),
        ({"norm": "post"}, "norm has several fields.*norm_kind='layernorm'"),
        ({"attention": AttentionConfig(n_heads=[])}, r"n_heads cannot be \[\]"),
    ],
    ids=str,
)
def test_what_cannot_be_a_configuration_gets_a_sentence(values: dict[str, Any], said: str):
    with pytest.raises(ConfigError, match=said):
        ModelConfig(**values)


@pytest.mark.parametrize(
    ("model", "x", "said"),
    [
        (GPT, torch.tensor([[99]]), "token id 99, but vocab_size is 10: use vocab_size 100"),
        (GPT, torch.tensor([[-1]]), "Token ids range from 0 to 9, but -1 was given"),
        (
            GPT,
            torch.tensor([1, 2]),
            r"\(batch, seq\), but these have \(2\): use x.reshape\(1, -1\)",
        ),
        (GPT, torch.tensor(3), r"\(batch, seq\), but these have \(\): use x.reshape\(1, -1\)"),
        (GPT, IDS[None], r"\(batch, seq\), but these have \(1, 1, 3\)"),
        (GPT, IDS.float(), "int64 or int32, but these are float32: use x.long()"),
        (GPT, IDS == 1, "int64 or int32, but these are bool: use x.long()"),
        (GPT, IDS.to(torch.int8), "int64 or int32, but these are int8: use x.long()"),
        (GPT, IDS.to(torch.uint8), "int64 or int32, but these are uint8: use x.long()"),
        (GPT, IDS[:, :0], r"Nothing can be read from an input of shape \(1, 0\)"),
        (GPT, IDS[:0], r"Nothing can be read from an input of shape \(0, 3\)"),
        (GPT, "a story", "'a story' is not a tensor: use token ids of .* such as torch.tensor"),
        (GPT, [[1, 2]], r"\[\[1, 2\]\] is not a tensor"),
        (GPT, None, "None is not a tensor"),
        (GPT, SourceTarget(IDS, IDS), "reads one text"),
        (GPT, torch.zeros(1, 5, dtype=torch.long), "exceeds max_seq_len"),
        (TWO, IDS, r"reads two texts: use SourceTarget"),
        (TWO, SourceTarget(IDS, IDS + 8), "token id 11"),
        (TWO, SourceTarget(IDS, "to"), "'to' is not a tensor"),
        (BLOCK, IDS, r"\(batch, seq, 16\), but these have shape \(1, 3\)"),
        (BLOCK, draw(1, 3, 5), r"\(batch, seq, 16\), but these have shape \(1, 3, 5\)"),
        (BLOCK, draw(1, 0, 16), r"Nothing can be read from an input of shape \(1, 0, 16\)"),
        (BLOCK, draw(1, 3, 16).long(), "but these vectors are int64: use x.to"),
        (BLOCK, draw(1, 3, 16).double(), "these vectors are float64: use x.to"),
        (BLOCK, "x", "'x' is not a tensor"),
    ],
)
def test_what_a_model_cannot_read_gets_a_sentence(model: Any, x: Any, said: str):
    with pytest.raises(ConfigError, match=said):
        record(model, x)


def test_what_has_no_probes_is_refused_before_it_runs():
    with pytest.raises(ConfigError, match="Linear has no probes"):
        record(torch.nn.Linear(3, 3), draw(1, 3))


@pytest.mark.parametrize(
    ("dtype", "said"),
    [
        ("bfloat16", "'bfloat16' is not a torch.dtype: use torch.bfloat16"),
        ("half", "'half' is not a torch.dtype: use torch.float16"),
        ("single", "'single' is not a torch.dtype: use torch.float32"),
        (16, "16 is not a torch.dtype: use torch.float32"),
        (torch.int8, "torch.int8 is not a weight format: use torch.float32"),
    ],
)
def test_what_is_no_number_format_gets_a_sentence(dtype: Any, said: str):
    with pytest.raises(ConfigError, match=said):
        build(toy(), dtype=dtype)
    with pytest.raises(ConfigError, match=said):
        open_published("nowhere", dtype=dtype)


def test_changes_that_are_not_yet_replacements_get_a_sentence():
    change = Intervention(part="head_out", layer=0, head=0)
    with pytest.raises(ConfigError, match=r"replace must map names .* use replacements\("):
        record(BLOCK, draw(1, 3, 16), replace=[change])


def test_small_whole_numbers_are_token_ids_too():
    assert torch.equal(record(GPT, IDS.int()).output, record(GPT, IDS).output)


def test_a_task_and_a_recipe_take_plain_strings():
    assert TaskConfig(kind="sort", architecture="encoder").kind is TaskKind.SORT
    assert build_task(TaskConfig(kind="sort")).seq_len == 64
    assert Recipe(optimizer="sgd") == Recipe(optimizer=OptimizerKind.SGD)
    assert Recipe(optimizer="sgd").optimizer is OptimizerKind.SGD


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"kind": "dance"}, "kind cannot be 'dance': use text / stories / .* / translation"),
        ({"kind": 3}, "kind cannot be 3: use text / "),
        ({"kind": "sort", "architecture": "robot"}, "architecture cannot be 'robot': use block / "),
        ({"kind": "sort", "seq_len": "8"}, "seq_len cannot be '8': use 8"),
        ({"kind": "text", "text": 3}, "text cannot be 3"),
        ({"kind": "text", "token_kind": "words"}, "use characters / byte_pairs"),
        ({"kind": "stories", "language": "fr"}, "use en / zh"),
    ],
    ids=str,
)
def test_what_cannot_be_a_task_gets_a_sentence(values: dict[str, Any], said: str):
    with pytest.raises(ConfigError, match=said):
        TaskConfig(**values)


def test_a_recipe_of_an_unknown_optimizer_names_those_there_are():
    with pytest.raises(ConfigError, match="optimizer cannot be 'adam': use sgd / adamw / muon"):
        Recipe(optimizer="adam")


def test_one_intervention_needs_no_list():
    change = Intervention(part=Part.ATTENTION, layer=0)
    assert replacements(change).keys() == replacements([change]).keys()
    assert record(BLOCK, draw(1, 3, 16), replace=replacements(change)).output.isfinite().all()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "layers.0.atention_out",
            "Nothing here is called .*: the nearest .* layers.0.attention_out",
        ),
        ("layers.9.head_out", "Nothing here is called .*: the nearest names are layers.0.head_out"),
        ("head_out", "Nothing here is called head_out: the nearest names are"),
    ],
)
def test_what_is_to_be_replaced_and_is_not_there_gets_a_sentence(path: str, said: str):
    with pytest.raises(ConfigError, match=said):
        record(BLOCK, draw(1, 3, 16), replace={path: torch.zeros_like})


def test_what_is_there_but_did_not_pass_gets_a_sentence_too():
    model = build(toy(architecture="gpt", vocab_size=10))
    logits = {"logits": torch.zeros_like}
    assert not record(model, IDS, replace=logits).output.any()
    with pytest.raises(ConfigError, match="This pass did not go through logits"):
        record(model.encode, IDS, replace=logits)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"part": "head_out", "layer": 99, "head": 0}, "called layers.99.head_out: the nearest"),
        (
            {"part": "head_out", "layer": 0, "head": 99},
            r"head \(99\) does not exist here: use 0 to 3",
        ),
        (
            {"part": "attention_out", "layer": 0, "token": 3},
            r"token \(3\) does not exist here: use 0 to 2",
        ),
        (
            {"part": "head_out", "layer": 0, "token": 3},
            r"token \(3\) does not exist here: use 0 to 2",
        ),
        ({"part": "head_out", "layer": -1, "head": 0}, r"layer \(-1\) counts from 0"),
        ({"part": "head_out", "layer": 0, "head": -1}, r"head \(-1\) counts from 0"),
        ({"part": "resid_post", "layer": 0, "token": -1}, r"token \(-1\) counts from 0"),
        ({"part": "head_out", "layer": "0", "head": 1}, "layer cannot be '0': use 0"),
        ({"part": "head_out", "layer": 0, "head": "1"}, "head cannot be '1': use 1"),
        (
            {"part": "attention_out", "layer": 0, "head": 1},
            "does not belong to a single head: leave head out",
        ),
        ({"part": "heads", "layer": 0}, "part cannot be 'heads': use head_out / attention_out"),
        ({"part": "head_out", "layer": 0, "kind": "one"}, "kind cannot be 'one': use zero / mean"),
    ],
    ids=str,
)
def test_an_intervention_where_nothing_is_gets_a_sentence(values: dict[str, Any], said: str):
    with pytest.raises(ConfigError, match=said):
        record(BLOCK, draw(1, 3, 16), replace=replacements(Intervention(**values)))


def test_a_pocket_model_that_is_not_there_gets_the_nearest_names():
    with pytest.raises(ConfigError, match="stories-en-zh"):
        pocket("stories")
    with pytest.raises(ConfigError, match=r"use PRESETS\['gpt2-small'\]"):
        total_parameters("gpt2-small")


def test_a_patch_of_no_other_input_gets_a_sentence():
    patch = Intervention(part=Part.HEAD, layer=0, head=0, kind=InterventionKind.PATCH)
    with pytest.raises(ConfigError, match="other=record"):
        replacements(patch)


def test_every_published_model_is_a_preset():
    tables = PRESET_TABLE | ENCODER_DECODER_TABLE | PUBLISHED_TABLE
    assert {name: preset.config for name, preset in tables.items()} == PRESETS
    assert {"gpt2-small", "vaswani-base", "llama-3-8b", "qwen3-8b"} <= PRESETS.keys()


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (
            lambda seen: seen.pattern(9),
            "layers.9.pattern is not in this .*names are layers.0.pattern",
        ),
        (lambda seen: seen.heads(layer=9), "layers.9.pattern is not in this recording"),
        (lambda seen: seen.tensor("patern"), "layers.0.patern is not.*names are layers.0.pattern"),
    ],
)
def test_what_was_not_recorded_gets_a_sentence(ask: Any, said: str):
    with pytest.raises(ConfigError, match=said):
        ask(record(BLOCK, draw(1, 3, 16)))


def test_a_recording_that_kept_nothing_says_so():
    with pytest.raises(ConfigError, match="kept no tensors: record again with keep="):
        record(BLOCK, draw(1, 3, 16), keep=()).pattern()


def test_a_model_without_probes_is_to_be_attached():
    with pytest.raises(ConfigError, match="has no probes: use blocks"):
        record(lambda x, _mask: nn.Linear(16, 2)(x), draw(1, 3, 16))


def test_presets_name_the_nearest_and_stay_a_mapping():
    for error in (KeyError, ConfigError):
        with pytest.raises(error, match="no preset named gpt2: the nearest names are gpt2-"):
            PRESETS["gpt2"]
    assert PRESETS.get("gpt2") is None and "gpt2" not in PRESETS and len(PRESETS) > 30


@pytest.mark.parametrize("door", [build, count_parameters, as_code])
def test_a_name_is_not_a_configuration(door: Any):
    with pytest.raises(ConfigError, match=r"is not a ModelConfig: use PRESETS\['gpt2-small"):
        door("gpt2-small")


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ([99], "token id 99, but vocab_size is 10"),
        ([-1], "range from 0 to 9, but -1 was given"),
        ([], "Nothing can be read"),
    ],
)
def test_a_prompt_that_cannot_be_read_gets_a_sentence(prompt: list[int], said: str):
    config = toy(architecture="gpt", vocab_size=10)
    with pytest.raises(ConfigError, match=said):
        Generation(build(config), config, prompt, SamplingConfig())


@pytest.mark.parametrize("temperature", [0, 1])
def test_weights_that_are_no_numbers_write_no_text(temperature: float):
    config = toy(architecture="gpt", vocab_size=10)
    model = build(config)
    with torch.no_grad():
        model.embed.weight[3] = torch.nan
    text = Generation(model, config, [1, 3], SamplingConfig(temperature=temperature))
    with pytest.raises(ConfigError, match="logits after token 2 are not numbers"):
        text.advance(1)


def test_what_ends_a_cell_is_a_line():
    seen = repr(record(BLOCK, draw(1, 3, 16)))
    assert seen.startswith("Recording(") and "1 × 3 × 16" in seen and len(seen) < 200


OTHER_DEFAULTS = """
import torch
from blocks import ModelConfig, as_code, build, count_parameters, record
ids = torch.tensor([[1, 2, 3]])
def told(kind):
    config = ModelConfig(
        architecture="gpt", n_layers=2, d_model=16, n_heads=2, vocab_size=11, position_kind=kind
    )
    model = build(config, seed=1)
    table, text = count_parameters(config), as_code(config)
    return [model.state_dict(), record(model, ids).output, table, text]
KINDS = ("rope", "sinusoidal", "alibi", "learned")
usual = {kind: told(kind) for kind in KINDS}
for how in ("float64", "float16", "meta"):
    if how == "meta":
        torch.set_default_dtype(torch.float32)
        torch.set_default_device("meta")
    else:
        torch.set_default_dtype(getattr(torch, how))
    for kind in KINDS:
        weights, output, table, text = usual[kind]
        again, *more = told(kind)
        assert all(torch.equal(again[name], weights[name]) for name in weights), (kind, how)
        assert torch.equal(more[0], output), (kind, how)
        assert more[1].equals(table) and more[2] == text, (kind, how)
"""


@pytest.mark.exhaustive
def test_a_seed_means_the_same_under_other_defaults_of_torch():
    """In a process of its own: defaults are of the whole process."""
    ran = subprocess.run(
        [sys.executable, "-c", OTHER_DEFAULTS], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr

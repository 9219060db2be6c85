"""The page of parameters: every number that it shows is counted, whatever the size."""

import json
from dataclasses import replace
from typing import Any

import pytest
from daily import some_daily
from opened import assert_works, control, figure, move, opened, press, run, said, settings, visit
from streamlit.testing.v1 import AppTest

from blocks.cost.breakdown import by_kind
from blocks.cost.parameters import total_parameters
from blocks.cost.variations import variations
from blocks.model.presets import ENCODER_DECODER_TABLE, PRESET_TABLE, PUBLISHED_TABLE
from blocks.weights.pocket import pocket
from pages.server import pasted, starts
from pages.server.readers import UnreadableError
from pages.state.fields import known_preset

PAGE = "pages/parameters.py"
TABLE = PRESET_TABLE | ENCODER_DECODER_TABLE | PUBLISHED_TABLE
GPT2 = PRESET_TABLE["gpt2-small"].config


@pytest.fixture(scope="module")
def at() -> AppTest:
    return opened(PAGE)


def table_with(at: AppTest, column: str) -> Any:
    return next((t.value for t in at.dataframe if column in t.value.columns), None)


@pytest.mark.parametrize(
    ("page", "says"),
    [(PAGE, "n_layers 12 · d_model 768 · n_heads"), ("pages/cost.py", "124,439,808 parameters")],
)
def test_a_page_that_counts_names_its_model_and_says_whether_it_was_changed(page: str, says: str):
    at = opened(page, preset="gpt2-small", panel=None)
    assert f"`GPT-2 small` · {says}" in said(at)
    move(at, "n_heads", 16)
    assert f"`GPT-2 small`, changed · {says}" in said(at)


@pytest.mark.parametrize("preset", [n for n in TABLE if TABLE[n].config.d_model > 900])
@pytest.mark.thinned
def test_every_published_size_is_counted_and_none_is_built(at: AppTest, preset: str):
    visit(at, preset=preset, panel=None)
    assert_works(at)
    assert f"{total_parameters(TABLE[preset].config):,}" in said(at)


def test_the_weights_of_a_small_model_are_looked_at_unasked(at: AppTest):
    visit(at, preset="stories-en-zh")
    assert_works(at)
    assert "The weights are trained." in said(at)
    counts = table_with(at, "σ")["count"]
    assert counts.sum() == table_with(at, "formula")["count"].sum()


@pytest.mark.parametrize(
    ("view", "path", "top", "below"),
    [
        ("by_kind", "", 124439808, 5),
        ("by_kind", "attention", 28348416, 5),
        ("by_kind", "attention/q_proj", 7077888, 0),
        ("by_kind", "attention/nowhere", 28348416, 5),
        ("by_layer", "layers", 85054464, 12),
        ("by_layer", "layers/3", 7087872, 3),
        ("by_layer", "layers/3/feed_forward", 4722432, 3),
        ("by_layer", "attention", 124439808, 4),
    ],
)
def test_a_piece_is_opened_by_the_link(at: AppTest, view: str, path: str, top: int, below: int):
    visit(at, preset="gpt2-small", panel="breakdown", breakdown=view, opened_piece=path)
    assert_works(at)
    rows = figure(at, "pieces")["data"]
    assert rows[0]["customdata"][0][2] == f"{top:,}"
    assert len(rows[1]["x"] if len(rows) > 1 else []) == below
    assert (f"{top:,} parameters" in said(at)) == (top < 124439808)


def test_opening_and_going_back(at: AppTest):
    visit(at, preset="gpt2-small", panel="breakdown")
    move(at, "opened_piece", "attention")
    assert settings(at)["opened_piece"] == "attention"
    assert len(table_with(at, "formula")) == 5
    move(at, "breakdown", "by_layer")
    move(at, "breakdown", "by_kind")
    press(at, "back_to_0")
    assert "opened_piece" not in settings(at)
    assert len(table_with(at, "formula")) == 12


CHANGES = {n: [v.name for v in variations(TABLE[n].config)] for n in ("gpt2-small", "qwen3-0.6b")}
EVERY_CHANGE = [(preset, name) for preset in CHANGES for name in CHANGES[preset]]
EACH_ONCE = {name: (preset, name) for preset, name in EVERY_CHANGE}


@pytest.mark.parametrize(("preset", "name"), some_daily(EVERY_CHANGE, daily=EACH_ONCE.values()))
@pytest.mark.thinned
def test_every_change_can_be_taken_over(at: AppTest, preset: str, name: str):
    config = TABLE[preset].config
    change = next(each for each in variations(config) if each.name == name)
    visit(at, preset=preset, panel="changes")
    chosen = next(box for box in at.selectbox if box.key.startswith("chosen_change"))
    chosen.set_value(name)
    run(at)
    assert f"to {change.total:,} parameters" in said(at)
    press(at, "apply_change")
    assert_works(at)
    visit(at, **{**settings(at), "panel": "breakdown"})
    assert f"{change.total:,}" in said(at)


def test_a_published_model_is_taken(at: AppTest):
    visit(at, n_heads=4)
    at.selectbox(key="chosen_published_en").set_value("mixtral-8x7b")
    run(at)
    press(at, "take_published")
    assert settings(at) == {"preset": "mixtral-8x7b"}
    assert "**12,879,925,248**" in said(at)


QWEN = {
    "model_type": "qwen2",
    "vocab_size": 151_936,
    "hidden_size": 896,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "intermediate_size": 4864,
    "max_position_embeddings": 32_768,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1_000_000.0,
    "tie_word_embeddings": True,
    "architectures": ["Qwen2ForSequenceClassification"],
}


def paste(at: AppTest, text: str) -> None:
    at.text_area(key="pasted_config").set_value(text)
    run(at)
    assert [error.message for error in at.exception] == []


def test_a_config_json_is_counted_and_taken_over(at: AppTest):
    visit(at)
    paste(at, json.dumps(QWEN))
    assert_works(at)
    card = "494,032,768 learned parameters"
    assert f"{card}, counted as in transformers' `Qwen2ForCausalLM`" in said(at)
    assert "`Qwen2ForSequenceClassification`" in said(at)
    assert "hidden_act = " in said(at)
    press(at, "use_config_file")
    assert_works(at)
    assert "## 494,032,768" in said(at)


def test_a_pasted_model_is_called_by_its_own_name(at: AppTest):
    visit(at, panel="config-json")
    paste(at, json.dumps(QWEN | {"_name_or_path": "someone/small-qwen"}))
    press(at, "use_config_file")
    assert control(at, "preset").format_func(at.query_params["preset"]).startswith("small-qwen")
    assert "Your settings differ" not in said(at)
    move(at, "n_layers", 12)
    assert "Your settings differ from the preset in n_layers" in said(at)


HALVES = [
    '{"model_type": "\\ud800"}',
    '"\\ud800"',
    '{"model_type": "llama", "hidden_act": "\\ud800"}',
    '{"model_type": "llama", "\\udc00": 1, "hidden_size": "\\ud800"}',
]


@pytest.mark.parametrize("text", HALVES)
def test_half_a_character_in_a_file_is_refused_by_a_sentence(at: AppTest, text: str):
    visit(at, panel="config-json")
    paste(at, text)
    assert at.error
    assert "unpaired surrogate" in said(at)
    paste(at, "")
    assert_works(at)


def test_a_window_is_said_to_change_cache_and_scores_elsewhere(at: AppTest):
    visit(at, panel="config-json")
    paste(at, json.dumps(QWEN))
    assert "Cost page counts the cache and the scores as if there were no window" in said(at)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"model_type": "mamba"}', "mamba"),
        ("import os", "not JSON"),
        ('{"model_type": "<b>**x**</b>"}', '`"<b>**x**</b>"`'),
        (json.dumps({**QWEN, "hidden_size": None}), "hidden_size"),
    ],
)
def test_what_cannot_be_counted_gets_a_sentence(at: AppTest, text: str, says: str):
    visit(at, panel="config-json")
    paste(at, text)
    assert says in at.error[0].value
    paste(at, "")
    assert_works(at)


@pytest.mark.parametrize("name", TABLE)
def test_every_pasted_model_is_a_preset_of_its_own(name: str):
    preset = pasted.preset_of("a~b & <b>c</b>", TABLE[name].config)
    assert known_preset(preset) == preset
    start = starts.start(preset)
    assert start.config == TABLE[name].config
    assert start.title == "a~b & <b>c</b> · config.json"


@pytest.mark.parametrize("text", ["", "name=x&d_model=a", "name=x&of=none", "name=x&n_heads=0"])
def test_a_pasted_model_that_cannot_be_is_none(text: str):
    with pytest.raises(UnreadableError):
        known_preset(pasted.PREFIX + text)


def test_large_models_are_built_when_asked(at: AppTest):
    visit(at, preset="gpt2-small", n_layers=1, panel="values")
    assert "Building the model draws" in said(at) and not at.get("plotly_chart")
    move(at, "spread_of_weights", True)
    assert "GPT-2" in said(at)
    counted = by_kind(GPT2.replace(n_layers=1)).count
    assert table_with(at, "σ")["count"].sum() == counted
    visit(at, preset="llama-3-405b", spread_of_weights=True)
    assert_works(at)
    assert "requires building the model" in said(at)


HUGE = {"d_model": 10**6, "n_layers": 10**6, "n_experts": 64, "d_ff": 10**6, "vocab_size": 10**6}


@pytest.mark.parametrize(
    "query",
    [
        {"preset": "gpt2-small", **HUGE, "breakdown": "by_layer"},
        {"norm_kind": "none", "attention_only": True, "d_model": 8},
        {"preset": "t5-small", "n_decoder_layers": 1, "opened_piece": "position"},
        {"preset": "bert-base", "n_layers": 2, "dtype": "bfloat16", "norm_kind": "batchnorm"},
        {"residual": False, "initialization": "zero_writes"},
        {"opened_piece": "<script>"},
        {"lang": "zh", "preset": "mixtral-8x7b", "breakdown": "by_layer"},
    ],
)
@pytest.mark.thinned
def test_extremes_are_counted_too(at: AppTest, query: dict[str, Any]):
    visit(at, **query)
    assert_works(at, warnings=None)
    assert control(at, "breakdown").value in ("by_kind", "by_layer")


def brought(raw: bytes) -> AppTest:
    """A reader who has brought a model file."""
    at = opened(PAGE, panel="values")
    name = "step-<b>30</b>.safetensors"
    at.file_uploader(key="uploaded_weights").set_value((name, raw, "application/octet-stream"))
    return run(at)


def test_weights_of_a_file_are_spread_below_those_of_the_page():
    file = pocket("sort")
    at = brought(file.to_bytes())
    assert_works(at)
    total = total_parameters(file.config)
    assert f"`step-<b>30</b>.safetensors`: {total:,} weights, task `sorting letters`" in said(at)
    assert figure(at, "file_values")["data"]
    tables = [t.value for t in at.dataframe if "beyond 5 σ" in t.value.columns]
    assert tables[-1]["count"].sum() == total


CUT_OFF = pocket("sort").to_bytes()[:5000]  # its header is written in any order


@pytest.mark.parametrize("raw", [b"", b"no weights", CUT_OFF], ids=["empty", "text", "cut off"])
def test_what_is_no_model_file_gets_a_sentence(raw: bytes):
    at = brought(raw)
    assert "choose a .safetensors" in at.error[0].value
    assert not at.exception


def test_weights_that_are_no_numbers_are_refused_with_a_sentence():
    file = pocket("sort")
    tensors = {name: tensor * float("nan") for name, tensor in file.tensors.items()}
    at = brought(replace(file, tensors=tensors).to_bytes())
    assert "contains non-finite numbers" in at.error[0].value
    assert not at.exception


def test_the_model_stands_there_as_code_and_what_a_change_changes_in_it(at: AppTest):
    visit(at, preset="stories-en-zh", panel="code")
    assert_works(at)
    (code,) = at.code
    assert "class GPT(nn.Module)" in code.value and code.language == "python"
    assert "In the zip, config.json and model.safetensors" in said(at)
    visit(
        at,
        preset="stories-en-zh",
        panel="code",
        kept="A=preset%3Dstories-en-zh",
        norm_kind="rmsnorm",
    )
    assert_works(at)
    change, _whole = at.code
    assert "+class RMSNorm(nn.Module):" in change.value and change.language == "diff"


def test_code_of_many_layers_is_written_or_refused_with_the_mend(at: AppTest):
    visit(at, preset="deepseek-v3", panel="code")
    assert_works(at)
    assert "n_experts = 256" in at.code[0].value and "zip" not in said(at)
    visit(at, preset="gpt2-small", panel="code", n_layers=300, local_window=8, global_every=3)
    assert "Set n_layers to at most 256" in at.error[0].value
    press(at, "mend_0")
    assert_works(at)
    assert at.code[0].value.count("EncoderLayer(Attention(") == 256

"""What a config.json leaves out is what the class of its family has by itself."""

import json
from typing import Any

import pytest
import transformers
from daily import some_daily
from published_folders import FOLDERS
from transformers import AutoConfig

from blocks import ConfigError, ModelConfig
from blocks.weights.config_families import FAMILIES
from blocks.weights.config_json import DROPOUT, read_config_json

Values = dict[str, Any]
DEEP = {"num_hidden_layers": 7}  # so many that every kind of layer occurs
# `transformers` 5 ties whatever a file says; files of before, and its class of then, do not. And it
# takes its own length before the one that stands beside the factors, and no stretch of Llama 3
# without its two bounds, which are the same in all files.
OF_OUR_OWN = {
    "mt5": ["tie_word_embeddings"],
    "phi3": ["original_max_position_embeddings"],
    "llama": ["low_freq_factor", "high_freq_factor"],
}


def whole(folder: str) -> Values:
    """A small model's file, with every option that its class writes."""
    _cls, sizes = FOLDERS[folder]
    deep = {name: DEEP.get(name, value) for name, value in sizes.items() if name != "layer_types"}
    return completed({"model_type": family_of(folder), **deep})


def family_of(folder: str) -> str:
    return getattr(transformers, FOLDERS[folder][0]).config_class.model_type


def completed(values: Values) -> Values:
    """The same file, as the class completes it."""
    return json.loads(AutoConfig.for_model(**values).to_json_string())


def read(values: Values) -> ModelConfig | None:
    try:
        return read_config_json(json.dumps(values))
    except ConfigError:
        return None


def without(values: Values, name: str) -> Values:
    return {each: value for each, value in values.items() if each != name}


def shortest(values: Values, *kept: str) -> Values:
    """Without all that may be left out; `kept` stays."""
    for name in [name for name in values if name not in ("model_type", *kept)]:
        less = without(values, name)
        values = less if read(less) else values
    return values


@pytest.mark.parametrize("family", FAMILIES)
def test_the_shortest_file_says_what_its_class_says(family: str):
    folder = next(each for each in FOLDERS if family_of(each) == family)
    short = shortest(whole(folder), *OF_OUR_OWN.get(family, ()))
    assert len(short) <= 18
    assert read(short) == read(completed(short))


@pytest.mark.parametrize("family", FAMILIES)
def test_dropout_is_that_of_the_stream_in_its_class(family: str):
    """By its own name and default, and as a file that differs says it."""
    values = whole(next(each for each in FOLDERS if family_of(each) == family))
    word, usual = DROPOUT.get(family, ("attention_dropout", 0.0))
    assert read_config_json(json.dumps(values)).dropout == usual == values.get(word, 0.0)
    assert read_config_json(json.dumps({**values, word: 0.25})).dropout == 0.25


def left_out(values: Values) -> list[tuple[str, Values]]:
    """The file without each of its options in turn, those of positions too."""
    found = [(name, without(values, name)) for name in values if name != "model_type"]
    rope = values.get("rope_parameters") or {}
    return found + [(n, {**values, "rope_parameters": without(rope, n)}) for n in rope]


@pytest.mark.parametrize("folder", some_daily(FOLDERS, daily=["deepseek_v3-yarn", "gemma3"]))
def test_each_option_may_be_left_out_alone(folder: str):
    for name, less in left_out(whole(folder)):
        ours = read(less)
        if ours is not None and name not in OF_OUR_OWN.get(family_of(folder), ()):
            assert ours == read(completed(less)), name

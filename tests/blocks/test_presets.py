"""Presets hold the numbers that were published."""

import time

import pytest
import torch
from toy import draw

from blocks import PRESETS, ModelConfig, build, count_parameters
from blocks.masks import MaskKind
from blocks.models import Block
from blocks.presets import PRESET_TABLE

# d_model, n_heads, n_kv_heads, d_ff: the papers' tables and the models' config.json
PUBLISHED_SIZES = {
    "course": (256, 8, 8, 1024),
    "transformer-base": (512, 8, 8, 2048),
    "transformer-big": (1024, 16, 16, 4096),
    "bert-base": (768, 12, 12, 3072),
    "gpt2-small": (768, 12, 12, 3072),
    "smollm2-135m": (576, 9, 3, 1536),
    "tinyllama-1.1b": (2048, 32, 4, 5632),
}
# n_layers, parameters outside the layers, parameters of the whole model
PUBLISHED_TOTALS = {
    "bert-base": (12, (30_522 + 512 + 2) * 768 + 2 * 768 + 768 * 769, 109_482_240),  # and pooler
    "gpt2-small": (12, (50_257 + 1024) * 768 + 2 * 768, 124_439_808),
    "smollm2-135m": (30, 49_152 * 576 + 576, 134_515_008),
    "tinyllama-1.1b": (22, 2 * 32_000 * 2048 + 2048, 1_100_048_384),
}


def test_every_preset_has_its_published_sizes_here():
    assert PUBLISHED_SIZES.keys() == PRESETS.keys() == PRESET_TABLE.keys()


@pytest.mark.parametrize("name", PRESETS)
def test_sizes_are_those_published(name: str):
    config = PRESETS[name]
    sizes = (config.d_model, config.n_heads, config.n_kv_heads, config.d_ff)
    assert sizes == PUBLISHED_SIZES[name]


@pytest.mark.parametrize("name", PUBLISHED_TOTALS)
def test_layers_add_up_to_the_published_model(name: str):
    n_layers, outside, total = PUBLISHED_TOTALS[name]
    table = count_parameters(PRESETS[name])
    layer = table.loc[table["group"] != "embedding", "count"].sum()
    assert n_layers * layer + outside == total


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_a_preset_builds_without_memory_at_once(config: ModelConfig):
    start = time.perf_counter()
    with torch.device("meta"):
        Block(config)
    assert time.perf_counter() - start < 1  # seconds


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_a_preset_runs_at_toy_width(config: ModelConfig):
    narrow, _ = config.nearest(d_model=24, n_heads=6, n_kv_heads=3, d_ff=32)
    x = draw(1, 5, narrow.d_model)
    assert build(narrow)(x).shape == x.shape


@pytest.mark.parametrize("preset", PRESET_TABLE.values(), ids=PRESET_TABLE)
def test_a_preset_says_what_it_is_and_where_it_comes_from(preset):
    assert preset.title and preset.source
    assert preset.mask_kind in MaskKind

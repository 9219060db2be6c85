"""Presets hold the numbers that were published."""

import pytest
import torch
from toy import draw

from blocks import PRESETS, ModelConfig, build, count_parameters
from blocks.masks import MaskKind
from blocks.models import count_built
from blocks.presets import ENCODER_DECODER_PRESETS, ENCODER_DECODER_TABLE, PRESET_TABLE
from blocks.source_target import SourceTarget

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
# Parameters of the whole model as published; BERT's has two rows and a layer more than ours:
# segment embeddings, the norm after the embedding, and the pooler.
BERT_MORE = 2 * 768 + 2 * 768 + 768 * 769
PUBLISHED_TOTALS = {
    "bert-base": 109_482_240 - BERT_MORE,
    "gpt2-small": 124_439_808,
    "smollm2-135m": 134_515_008,
    "tinyllama-1.1b": 1_100_048_384,
}


# Vaswani et al. 2017, table 3, in millions, for a vocabulary of "about 37,000"; T5 and BART
# exactly, but for two rows more in each of BART's tables of positions, which nothing reads.
VASWANI_MILLIONS = {"vaswani-base": 65, "vaswani-big": 213}
ENCODER_DECODER_TOTALS = {"t5-small": 60_506_624, "bart-base": 139_420_416 - 2 * 2 * 768}


def test_every_preset_has_its_published_sizes_here():
    assert PUBLISHED_SIZES.keys() == PRESETS.keys() == PRESET_TABLE.keys()


@pytest.mark.parametrize("name", PRESETS)
def test_sizes_are_those_published(name: str):
    config = PRESETS[name]
    sizes = (config.d_model, config.n_heads, config.n_kv_heads, config.d_ff)
    assert sizes == PUBLISHED_SIZES[name]


@pytest.mark.parametrize("name", PUBLISHED_TOTALS)
def test_the_whole_model_has_the_published_number_of_parameters(name: str):
    assert count_parameters(PRESETS[name])["count"].sum() == PUBLISHED_TOTALS[name]
    assert count_built(PRESETS[name]) == PUBLISHED_TOTALS[name]


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_a_preset_runs_at_toy_width_as_a_block(config: ModelConfig):
    small = {"d_model": 24, "n_heads": 6, "n_kv_heads": 3, "d_ff": 32, "n_layers": 1}
    narrow, _ = config.nearest(architecture="block", **small)
    x = draw(1, 5, narrow.d_model)
    assert build(narrow)(x).shape == x.shape


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_a_preset_runs_at_toy_size_whole(config: ModelConfig):
    if not config.architecture.reads_tokens:
        return
    small = {"d_model": 24, "n_heads": 6, "n_kv_heads": 3, "d_ff": 32, "n_layers": 2}
    narrow, _ = config.nearest(vocab_size=11, **small)
    assert build(narrow)(torch.arange(5)[None]).shape == (1, 5, 11)


@pytest.mark.parametrize("name", ENCODER_DECODER_PRESETS)
def test_an_encoder_decoder_has_the_published_number_of_parameters(name: str):
    config = ENCODER_DECODER_PRESETS[name]
    total = count_parameters(config)["count"].sum()
    assert total == count_built(config)
    if name in VASWANI_MILLIONS:
        assert total / 1e6 == pytest.approx(VASWANI_MILLIONS[name], rel=0.035)
    else:
        assert total == ENCODER_DECODER_TOTALS[name]


@pytest.mark.parametrize("config", ENCODER_DECODER_PRESETS.values(), ids=ENCODER_DECODER_PRESETS)
def test_an_encoder_decoder_runs_at_toy_size(config: ModelConfig):
    small = {"d_model": 24, "n_heads": 6, "d_ff": 32, "n_layers": 2, "vocab_size": 11}
    ids = SourceTarget(torch.arange(5)[None], torch.arange(3)[None])
    assert build(config.replace(**small))(ids).shape == (1, 3, 11)


@pytest.mark.parametrize(
    "preset",
    [*PRESET_TABLE.values(), *ENCODER_DECODER_TABLE.values()],
    ids=[*PRESET_TABLE, *ENCODER_DECODER_TABLE],
)
def test_a_preset_says_what_it_is_and_where_it_comes_from(preset):
    assert preset.title and preset.source
    assert preset.mask_kind in MaskKind

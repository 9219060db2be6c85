"""Planted conversion faults: everything loads, and what is computed is another thing."""

import pytest
import torch
from published_folders import FOLDERS, saved
from test_published import ours_of
from toy import scramble, toy

from blocks import build
from blocks.weights.conversion_faults import (
    PLANTED,
    ConversionFault,
    Loaded,
    plant,
    possible_faults,
)
from blocks.weights.published import open_published
from blocks.weights.tensors import read_weights

FAMILIES = [
    "gpt2",
    "bert",
    "llama",
    "gemma",
    "gpt_neox",
    "opt",
    "t5",
    "bart",
    "marian",
    "modernbert",
    "deepseek_v2",
]
OF_FAMILIES = {
    "gpt2": {ConversionFault.NOT_TRANSPOSED, ConversionFault.MISSING_TIE},
    "llama": {ConversionFault.ROTARY_LAYOUT, ConversionFault.GROUP_ORDER},
    "gemma": {ConversionFault.NORM_OFFSET, ConversionFault.MISSING_TIE},
    "deepseek_v2": {ConversionFault.ROTARY_LAYOUT},
    "opt": {ConversionFault.POSITION_OFFSET},
    "t5": {ConversionFault.SCORE_SCALE},
    "bart": {ConversionFault.POSITION_OFFSET},
    "marian": {ConversionFault.POSITION_TABLE},
}


def test_every_fault_is_planted_somewhere():
    assert PLANTED.keys() == set(ConversionFault)


@pytest.mark.parametrize("name", FAMILIES)
@torch.no_grad()
def test_a_planted_fault_loads_and_changes_the_output(
    name: str, tmp_path_factory: pytest.TempPathFactory
):
    assert name in FOLDERS
    found = open_published(saved(name, tmp_path_factory.mktemp(name)).path)
    loaded = Loaded(found.config, found.tensors)
    before = {key: tensor.clone() for key, tensor in found.tensors.items()}
    sound = ours_of(loaded.build(), None)
    faults = possible_faults(loaded)
    assert OF_FAMILIES.get(name, set()) <= set(faults)
    for fault in faults:
        wrong = ours_of(plant(fault, loaded).build(), None)
        change = (wrong - sound).abs().max() / sound.abs().max()
        assert wrong.isfinite().all()
        assert change > (0 if fault is ConversionFault.NORM_EPS else 1e-3), fault
    assert all(torch.equal(before[key], tensor) for key, tensor in found.tensors.items())
    assert torch.equal(ours_of(loaded.build(), None), sound)


def test_a_fault_that_a_model_cannot_have_is_not_offered():
    config = toy(architecture="gpt", position_kind="alibi", n_heads=1, tie_embeddings=False)
    assert set(possible_faults(Loaded(config, {}))) == {
        ConversionFault.NOT_TRANSPOSED,
        ConversionFault.EMBEDDING_SCALE,
        ConversionFault.NORM_EPS,
    }


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_what_is_planted_only_moves_numbers(n_kv_heads: int):
    config = toy(architecture="gpt", position_kind="rope", n_kv_heads=n_kv_heads, vocab_size=9)
    loaded = Loaded(config, read_weights(scramble(build(config))))
    for fault in (ConversionFault.QKV_ORDER, ConversionFault.GROUP_ORDER):
        if fault in possible_faults(Loaded(config, {})):
            moved = plant(fault, loaded).tensors
            whole = [torch.cat([t.flatten() for t in each.values()]) for each in (moved, loaded[1])]
            assert torch.equal(*(each.sort().values for each in whole))

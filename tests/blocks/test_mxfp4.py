"""FP4 blocks and their scales, as gpt-oss is published, against the reader of `transformers`."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from published_folders import saved
from safetensors.torch import load_file, save_file
from torch import Tensor
from toy import assert_near
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from blocks import ConfigError
from blocks.inspection.file_ledger import ledger_facts
from blocks.weights.ledger import State
from blocks.weights.mxfp4 import EXPONENTS, unpacked_numbers
from blocks.weights.published import open_published, read_ledger, save_published

IDS = torch.randint(3, 37, (2, 7), generator=torch.Generator().manual_seed(0))
EXPERTS = "model.layers.{}.mlp.experts."


def bytes_like(*shape: int, least: int = 0, most: int = 256) -> Tensor:
    random = torch.Generator().manual_seed(sum(shape))
    return torch.randint(least, most, shape, generator=random, dtype=torch.uint8)


def packed(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Every matrix of experts (expert, in, out) as random blocks and scales of its shape."""
    found: dict[str, Tensor] = {}
    for key, each in tensors.items():
        if each.dim() != 3:
            found[key] = each
            continue
        n_experts, n_in, n_out = each.shape
        found[f"{key}_blocks"] = bytes_like(n_experts, n_out, n_in // 32, 16)
        found[f"{key}_scales"] = bytes_like(n_experts, n_out, n_in // 32, least=121, most=127)
    return found


def changed(folder: Path, change: Any) -> None:
    file = folder / "model.safetensors"
    tensors = {key: each.clone() for key, each in load_file(file).items()}
    save_file(change(tensors), file, metadata={"format": "pt"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A gpt-oss as it is published."""
    path = saved("gpt_oss-wide", tmp_path).path
    changed(path, packed)
    values = json.loads((path / "config.json").read_text())
    values["quantization_config"] = {"quant_method": "mxfp4"}
    (path / "config.json").write_text(json.dumps(values))
    return path


def test_every_byte_with_every_scale_is_what_transformers_makes_of_it():
    blocks = torch.arange(256, dtype=torch.uint8).repeat(255).view(1, 255, 16, 16)
    scales = torch.arange(255, dtype=torch.uint8).repeat_interleave(16).view(1, 255, 16)
    theirs = convert_moe_packed_tensors(blocks, scales)
    ours = unpacked_numbers(blocks, scales).mT
    assert ours.dtype == theirs.dtype == torch.bfloat16
    assert ours.contiguous().view(torch.int16).equal(theirs.view(torch.int16))


@torch.no_grad()
def test_a_packed_model_is_that_of_transformers(folder: Path):
    found = open_published(folder, dtype=torch.float32)
    theirs = transformers.GptOssForCausalLM.from_pretrained(
        folder,
        quantization_config=transformers.Mxfp4Config(dequantize=True),
        dtype=torch.float32,
        attn_implementation="eager",
    )
    assert_near(found.build()(IDS), theirs(IDS).logits)


def test_the_ledger_tells_of_both_halves(folder: Path):
    rows = {row.key: row for row in read_ledger(folder).rows}
    name = EXPERTS.format(1) + "gate_up_proj"
    blocks, scales = rows[f"{name}_blocks"], rows[f"{name}_scales"]
    assert (blocks.state, blocks.dtype, blocks.shape) == (State.USED, "MXFP4", (5, 64, 64))
    assert (scales.state, scales.dtype, scales.shape) == (State.USED, "E8M0", (5, 64, 2))
    assert blocks.ours == scales.ours and len(blocks.ours) == 10
    assert scales.operation == EXPONENTS
    facts = ledger_facts(read_ledger(folder))
    assert facts.n_odd == 0 and facts.n_by_operation[EXPONENTS] == 4


def test_memory_is_that_of_the_numbers_and_told_before(folder: Path):
    found = open_published(folder, dtype=torch.bfloat16)
    n_bytes = sum(each.nbytes for each in found.tensors.values())
    assert n_bytes > sum(each.nbytes for each in load_file(folder / "model.safetensors").values())
    assert open_published(folder, dtype=torch.bfloat16, budget=n_bytes).tensors
    with pytest.raises(ConfigError, match=r"The weights take .* as bfloat16, more than"):
        open_published(folder, dtype=torch.bfloat16, budget=n_bytes - 1)


def test_what_was_packed_is_saved_as_numbers_that_are_the_same(folder: Path, tmp_path: Path):
    found = open_published(folder)
    save_published(tmp_path / "again", found.config, found.build(), came=found.ledger)
    again = load_file(tmp_path / "again" / "model.safetensors")
    assert not [key for key in again if key.endswith(("_blocks", "_scales"))]
    raw, key = load_file(folder / "model.safetensors"), EXPERTS.format(0) + "down_proj"
    assert again[key].equal(convert_moe_packed_tensors(raw[f"{key}_blocks"], raw[f"{key}_scales"]))


@pytest.mark.parametrize(
    ("ending", "becomes", "words"),
    [
        ("_scales", None, r"down_proj_blocks is stored as U8; .* MXFP4 with its scales"),
        ("_blocks", None, r"down_proj is missing from the files"),
        ("_scales", bytes_like(5, 64, 2), "down_proj_blocks is stored as U8"),
        ("_blocks", bytes_like(5, 64, 1, 8), "down_proj_blocks is stored as U8"),
        ("_scales", torch.full((5, 64, 1), 255, dtype=torch.uint8), "contains non-finite numbers"),
    ],
)
def test_halves_that_do_not_belong_together_are_refused(
    ending: str, becomes: Tensor | None, words: str, folder: Path
):
    key = EXPERTS.format(0) + "down_proj" + ending
    new = {} if becomes is None else {key: becomes}
    changed(folder, lambda tensors: {k: t for k, t in tensors.items() if k != key} | new)
    with pytest.raises(ConfigError, match=words):
        open_published(folder)


def test_blocks_of_another_size_are_told_once(folder: Path):
    key = EXPERTS.format(0) + "down_proj"
    more = {f"{key}_blocks": bytes_like(5, 64, 3, 16), f"{key}_scales": bytes_like(5, 64, 3)}
    changed(folder, lambda tensors: tensors | more)
    with pytest.raises(ConfigError) as error:
        open_published(folder)
    assert [str(fault) for fault in error.value.faults] == [
        f"{key}_blocks has shape (5, 96, 64), but the configuration asks for (5, 32, 64)"
    ]

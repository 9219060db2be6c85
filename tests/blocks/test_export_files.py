"""What leaves as files comes back the same: weights, notebooks, recordings."""

import io
import json
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load
from toy import scramble, toy

from blocks import ModelConfig, build
from blocks.export import activations, family, notebook_of, packed
from blocks.model.layout import pack_weights_for_decoding
from blocks.model.masks import MaskConfig
from blocks.observe import Input, Intervention, Run
from blocks.weights import open_published, read_weights
from blocks.weights.pocket import pocket

LLAMA = toy(
    architecture="gpt",
    norm_kind="rmsnorm",
    activation="swiglu",
    position_kind="rope",
    attention_bias=False,
    feed_forward_bias=False,
    vocab_size=10,
)
IDS = Input(tokens=("a", "b", "c"), token_ids=(1, 2, 3))


def unzipped(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_weights_in_the_names_of_a_family_come_back_bit_for_bit(tmp_path: Path):
    model = scramble(build(LLAMA))
    files = unzipped(packed(LLAMA, model))
    assert family(LLAMA) and "model_type" in json.loads(files["config.json"])
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    found = open_published(tmp_path)
    assert repr(found).startswith("Published(llama gpt, ") and len(repr(found)) < 200
    wanted = read_weights(model)
    assert found.tensors.keys() == wanted.keys()
    assert all(torch.equal(found.tensors[name], wanted[name]) for name in wanted)
    assert unzipped(packed(found.config, found.build())) == files


def test_a_model_without_a_family_leaves_under_our_names_with_its_code():
    config = toy(norm_placement="sandwich")
    model = scramble(build(config))
    files = unzipped(packed(config, model))
    assert not family(config) and ModelConfig(**json.loads(files["config.json"])) == config
    written = {"__name__": "model"}
    exec(files["model.py"].decode(), written)
    own = written["Block"]()
    own.load_state_dict(load(files["model.safetensors"]))


def test_a_model_laid_out_for_decoding_leaves_as_any_other():
    config = toy(norm_placement="sandwich")
    laid_out = pack_weights_for_decoding(scramble(build(config)))
    assert packed(config, laid_out) == packed(config, scramble(build(config)))


RUNS = {
    "a block": Run(config=toy(), input=Input(tokens=("the", "cat")), mask=MaskConfig()),
    "vectors": Run(config=toy(n_layers=2), input=Input(batch=2, seq_len=3), mask=MaskConfig()),
    "a GPT": Run(
        config=LLAMA,
        input=IDS,
        mask=MaskConfig(mask_kind="causal"),
        seed=3,
        interventions=(Intervention(part="head_out", layer=0, head=1),),
    ),
    "two texts": Run(
        config=toy(architecture="encoder-decoder", vocab_size=10),
        input=IDS,
        target=IDS,
        mask=MaskConfig(),
    ),
}


def played(text: str) -> dict[str, object]:
    """What a notebook leaves behind when all its cells have run."""
    names: dict[str, object] = {}
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code":
            exec(cell["source"], names)
    return names


@pytest.mark.parametrize("name", RUNS)
def test_a_notebook_makes_the_same_run_again(name: str):
    run = RUNS[name]
    found = played(notebook_of(run, "heads" if name == "a block" else "flow"))
    assert found["run"] == run
    assert torch.equal(found["seen"].output, run.record(run.build()).output)


def test_a_notebook_shows_the_layer_that_the_panel_shows():
    run = RUNS["a block"]
    *_others, last = json.loads(notebook_of(run, "heads", layer=3))["cells"]
    assert last["source"] == "seen.heads(run.build_mask(), layer=3)"


def test_a_notebook_opens_the_weights_that_ship():
    file = pocket("sort")
    ids = Input(tokens=("1", "2"), token_ids=(1, 2))
    run = Run(config=file.config, input=ids, mask=MaskConfig(), weights="sort")
    model = played(notebook_of(run, is_pocket=True))["model"]
    weights = read_weights(model)
    assert all(torch.equal(weights[n], each.float()) for n, each in file.tensors.items())


def test_what_a_run_showed_is_saved_by_the_names_of_its_probes():
    run = RUNS["a block"]
    seen = run.record(run.build())
    found = load(activations(seen))
    assert found.keys() == {*seen.tensors, *seen.patterns, "output"}
    assert torch.equal(found["layers.0.pattern"], seen.pattern(0))

"""DeepSeek-V3's MTP modules, which its files hold as layers after the last."""

import json
from pathlib import Path

import pytest
import torch
from published_folders import saved
from safetensors.torch import load_file, save_file
from toy import assert_near
from transformers import DeepseekV3ForCausalLM
from transformers.modeling_layers import MtpModel

from blocks import ConfigError
from blocks.cost.parameters import total_parameters
from blocks.model.models import GPT
from blocks.weights.ledger import State
from blocks.weights.published import open_published, read_ledger, save_published

N_LAYERS, N_MODULES = 2, 2
IDS = torch.randint(3, 37, (2, 7), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A DeepSeek-V3 as it is published: each module is the last layer again, and what joins."""
    path, random = saved("deepseek_v3", tmp_path).path, torch.Generator().manual_seed(1)
    tensors = {key: each.clone() for key, each in load_file(path / "model.safetensors").items()}
    last = f"model.layers.{N_LAYERS - 1}."
    d_model = tensors["model.norm.weight"].shape[0]
    for module in range(N_MODULES):
        name = f"model.layers.{N_LAYERS + module}."
        shapes = {key.removeprefix(last): t.shape for key, t in tensors.items() if last in key}
        shapes |= {f"{norm}.weight": (d_model,) for norm in ("enorm", "hnorm", "shared_head.norm")}
        shapes["eh_proj.weight"] = (d_model, 2 * d_model)
        for key, shape in shapes.items():
            is_scale = len(shape) == 1 and key.endswith("weight")
            tensors[name + key] = is_scale + 0.3 * torch.randn(shape, generator=random)
        tensors[f"{name}embed_tokens.weight"] = tensors["model.embed_tokens.weight"].clone()
        tensors[f"{name}shared_head.head.weight"] = tensors["lm_head.weight"].clone()
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    values = json.loads((path / "config.json").read_text())
    values["num_nextn_predict_layers"] = N_MODULES
    (path / "config.json").write_text(json.dumps(values))
    return path


@torch.no_grad()
def test_each_module_says_what_that_of_transformers_says(folder: Path):
    main = DeepseekV3ForCausalLM.from_pretrained(folder, attn_implementation="eager")
    main._keys_to_ignore_on_load_unexpected = [r"model\.layers\.[23]\."]  # 61 of the whole one
    theirs = MtpModel.from_pretrained(main).eval()
    ours = open_published(folder).build()
    assert isinstance(ours, GPT)
    logits = ours.logits_ahead(IDS)
    assert_near(logits[0], main(IDS).logits)
    hidden = main.model(IDS).last_hidden_state
    for k in range(N_MODULES):
        hidden, ids = hidden[:, :-1], IDS[:, k + 1 :]
        places = torch.arange(ids.shape[1])[None]
        hidden = theirs.forward_layer(k, hidden, places, None, input_ids=ids)
        assert_near(logits[k + 1], theirs._project_to_logits(hidden))


def test_every_tensor_of_a_module_is_in_the_ledger(folder: Path):
    rows = {row.key: row for row in read_ledger(folder).rows}
    assert all(row.state.is_sound for row in rows.values())
    joined, head = (f"model.layers.3.{name}.weight" for name in ("eh_proj", "shared_head.head"))
    assert rows[joined].ours == ("mtp.1.join_proj.weight",)
    assert rows[joined].operation == "swap the halves of the input"
    assert (rows[head].state, rows[head].note) == (State.REPEATED, "lm_head.weight")
    expert = rows["model.layers.2.mlp.experts.5.down_proj.weight"]
    assert expert.ours == ("mtp.0.layer.feed_forward.experts.5.down_proj.weight",)


def test_modules_are_saved_as_they_came_bit_for_bit(folder: Path, tmp_path: Path):
    found = open_published(folder)
    assert found.config.n_mtp_modules == N_MODULES
    n_learned = sum(each.numel() for each in found.tensors.values())
    n_biases = 3 * 6  # of the routers, which nothing learns by its gradient
    assert total_parameters(found.config) == n_learned - n_biases
    save_published(tmp_path / "again", found.config, found.build())  # no other family has them
    ours, theirs = (load_file(path / "model.safetensors") for path in (tmp_path / "again", folder))
    repeated = {row.key for row in found.ledger.rows if row.state is State.REPEATED}
    assert ours.keys() == theirs.keys() - repeated and len(repeated) == 2 * N_MODULES
    assert all(theirs[key].equal(each) for key, each in ours.items())
    values = json.loads((tmp_path / "again" / "config.json").read_text())
    assert (values["model_type"], values["num_nextn_predict_layers"]) == ("deepseek_v3", N_MODULES)
    assert open_published(tmp_path / "again").config == found.config


def test_a_model_whose_files_lack_its_modules_has_none(tmp_path: Path):
    path = saved("deepseek_v3", tmp_path).path
    values = json.loads((path / "config.json").read_text()) | {"num_nextn_predict_layers": 1}
    (path / "config.json").write_text(json.dumps(values))
    assert open_published(path).config.n_mtp_modules == 0


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("model.layers.3.enorm.weight", r"layers\.3\.enorm\.weight is missing"),
        ("model.layers.2.eh_proj.weight", r"layers\.2\..* has no place"),
        ("model.layers.2.shared_head.head.weight", r"differs from lm_head\.weight, but"),
    ],
)
def test_half_a_module_is_refused(key: str, words: str, folder: Path):
    tensors = {key: each.clone() for key, each in load_file(folder / "model.safetensors").items()}
    whole = tensors.pop(key)
    if "head.head" in key:
        tensors[key] = whole + 1
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ConfigError, match=words):
        open_published(folder)

"""Folders that are damaged, lie or lead elsewhere: a sentence each, and nothing is guessed."""

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from published_folders import saved
from safetensors.torch import load_file, save_file
from torch import Tensor

from blocks import ConfigError
from blocks.model.positions import rope_of
from blocks.weights.config_json import object_of
from blocks.weights.folder import MOST_TENSORS
from blocks.weights.ledger import State
from blocks.weights.published import open_published, read_ledger

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([10**400, -(10**400), "llama", "gelu", "../x.safetensors", "x.safetensors"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)
few = settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved("gpt2", tmp_path_factory.mktemp("gpt2")).path


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shards")
    return saved("llama", path, max_shard_size="8KB").path


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "folder")


@pytest.fixture
def shards(sharded: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sharded, tmp_path / "shards")


def refused(folder: Path, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        open_published(folder)
    assert all(str(fault) for fault in error.value.faults)


def with_tensors(folder: Path, change: Callable[[dict[str, Tensor]], Any]) -> None:
    tensors = {key: tensor.clone() for key, tensor in load_file(folder / WHOLE).items()}
    change(tensors)
    save_file(tensors, folder / WHOLE)


def with_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_shards_are_read_as_one(sharded: Path):
    assert len(list(sharded.glob("*.safetensors"))) > 2
    found = open_published(sharded)
    files = {row.file for row in found.ledger.rows}
    assert files == {path.name for path in sharded.glob("*.safetensors")}


def test_the_ledger_says_where_everything_went(folder: Path):
    with_tensors(
        folder,
        lambda tensors: tensors.update(
            {
                "transformer.h.0.attn.bias": torch.ones(1, 1, 17, 17, dtype=torch.uint8),
                "lm_head.weight": tensors["transformer.wte.weight"].clone(),
            }
        ),
    )
    rows = {row.key: row for row in open_published(folder).ledger.rows}
    fused = rows["transformer.h.1.attn.c_attn.weight"]
    assert fused.operation == "transpose, split q k v"
    assert fused.ours[0] == "layers.1.attention.q_proj.weight" and len(fused.ours) == 3
    assert (fused.shape, fused.dtype, fused.file) == ((24, 72), "F32", WHOLE)
    assert rows["transformer.h.0.attn.bias"].state is State.ASIDE
    assert rows["lm_head.weight"].state is State.REPEATED
    assert rows["lm_head.weight"].note == "transformer.wte.weight"
    assert read_ledger(folder).frame()["state"].value_counts()["used"] == len(rows) - 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.pop("transformer.h.1.ln_2.bias"), r"transformer\.h\.1\.ln_2\.bias is missing"),
        (lambda t: t.update(extra=torch.zeros(2)), "extra has no place in the gpt2 model"),
        (
            lambda t: t.update({"transformer.h.2.ln_1.bias": torch.zeros(24)}),
            r"h\.2\.ln_1\.bias has no place",
        ),
        (
            lambda t: t.update({"transformer.wpe.weight": torch.zeros(18, 24)}),
            r"wpe\.weight has shape \(18, 24\), but the configuration asks for \(17, 24\)",
        ),
        (
            lambda t: t.update({"transformer.wpe.weight": torch.zeros(24, 17)}),
            r"wpe\.weight has shape \(24, 17\), but the configuration asks for \(17, 24\)",
        ),
        (
            lambda t: t.update({"wpe.weight": torch.zeros(17, 24)}),
            r"wpe\.weight is in the files twice",
        ),
        (
            lambda t: t.update({"transformer.wpe.weight": torch.zeros(17, 24, dtype=torch.int64)}),
            r"wpe\.weight is stored as I64",
        ),
        (
            lambda t: t["transformer.wpe.weight"].fill_(torch.nan),
            r"wpe\.weight contains non-finite numbers",
        ),
        (
            lambda t: t.update({"lm_head.weight": torch.zeros(37, 24)}),
            r"lm_head\.weight differs from transformer\.wte\.weight",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(folder: Path, change: Any, words: str):
    with_tensors(folder, change)
    refused(folder, words)


def test_of_many_faults_the_first_are_said_and_the_rest_counted(folder: Path):
    with_tensors(folder, lambda tensors: tensors.clear() or tensors.update(x=torch.zeros(1)))
    with_tensors(folder, lambda t: t.update({f"y{i}": torch.zeros(1) for i in range(5)}))
    with pytest.raises(ConfigError) as error:
        open_published(folder)
    assert len(error.value.faults) == 9
    assert str(error.value.faults[-1]) == "and 26 more"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "mamba"}, r'Unknown model family "mamba".*llama, .*falcon'),
        ({"n_layer": 10**6}, "1000000 layers, but the files hold"),
        ({"n_layer": 10**400}, "sizes here must be from"),
        ({"n_head": 5}, "does not divide"),
        ({"vocab_size": 38}, r"has shape \(37, 24\), but the configuration asks for \(38, 24\)"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is true"),
        ({"tie_word_embeddings": False}, r"lm_head\.weight is missing"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, r"MXFP4.*dequantize=True"),
    ],
)
def test_a_config_that_says_something_else_is_refused(
    folder: Path, changes: dict[str, Any], words: str
):
    with_config(folder, **changes)
    refused(folder, words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"rope_parameters": {"rope_type": "longrope", "original_max_position_embeddings": 8}},
            "(?s)LongRoPE needs short_factor to be a list, but it is null.*long_factor",
        ),
        (
            {
                "rope_parameters": {
                    "rope_type": "longrope",
                    "short_factor": [1, 0],
                    "long_factor": ["1", 2],
                    "original_max_position_embeddings": 8,
                }
            },
            "(?s)short_factor must be a list of numbers above 0.*long_factor must be",
        ),
        (
            {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "attention_factor": 2.0}},
            "attention_factor is 2.0",
        ),
        (
            {
                "rope_parameters": {
                    "rope_type": "yarn",
                    "factor": 2.0,
                    "original_max_position_embeddings": 8,
                    "beta_fast": 16,
                }
            },
            "beta_fast is 16",
        ),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1e6}}}, "full_attention is"),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.0}}, 'type is "dynamic"'),
        (
            {"rope_scaling": {"type": "linear", "factor": 2.0}},
            "rope_scaling and rope_parameters disagree",
        ),
    ],
)
def test_positions_that_cannot_be_computed_are_refused(
    shards: Path, changes: dict[str, Any], words: str
):
    with_config(shards, **changes)
    refused(shards, words)


@pytest.mark.parametrize("kind", ["longrope", "su", "linear"])
def test_a_phi3_for_longer_texts_is_stretched_by_factors_alone(kind: str, tmp_path: Path):
    folder, factors = saved("phi3-long", tmp_path).path, {"short_factor": [1], "long_factor": [2]}
    with_config(folder, rope_parameters=None, rope_scaling={"type": kind, "factor": 3.2, **factors})
    if kind == "linear":
        refused(folder, f'type is "{kind}", which is not supported here')
    else:
        refused(folder, "short_factor and long_factor need 2 numbers each, one per rotated pair")
        factors = {"short_factor": [1, 1.5], "long_factor": [2, 4]}
        with_config(folder, rope_scaling={"type": kind, **factors})
        rope = rope_of(open_published(folder).config)
        assert (rope.long_factors, rope.trained_len, rope.factor) == ((2.0, 4.0), 10, 3.2)


def test_of_experts_that_lie_in_one_tensor_each_is_told(tmp_path: Path):
    folder = saved("gpt_oss", tmp_path).path
    rows = {row.key: row for row in read_ledger(folder).rows}
    fused = rows["model.layers.1.mlp.experts.gate_up_proj"]
    assert len(fused.ours) == 10 and fused.shape == fused.expected == (5, 24, 56)
    assert fused.ours[3] == "layers.1.feed_forward.experts.1.up_proj.weight"
    with_tensors(folder, lambda tensors: tensors.pop("model.layers.1.mlp.experts.gate_up_proj"))
    refused(folder, r"gate_up_proj is missing .*\(needed for .*experts\.1\.up_proj\.weight, …\)")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"quantization_config": {"quant_method": "fp8"}}, "quantization_config is"),
        ({"num_hidden_layers": 10**4, "num_local_experts": 512}, "5,120,000 experts in all"),
        (
            {"num_local_experts": 6},
            r"has shape \(5, 24, 56\), but the configuration asks for \(6, 24",
        ),
        ({"swiglu_alpha": 1.5}, "swiglu_alpha is 1.5"),
        ({"swiglu_limit": 0.0}, "swiglu_limit is 0.0"),
    ],
)
def test_a_gpt_oss_that_cannot_be_is_refused(changes: dict[str, Any], words: str, tmp_path: Path):
    folder = saved("gpt_oss", tmp_path).path
    with_config(folder, layer_types=None, **changes)
    refused(folder, words)


def test_a_part_that_the_family_has_no_name_for_is_refused(tmp_path: Path):
    folder = saved("mixtral", tmp_path).path
    with_config(folder, num_local_experts=1, num_experts_per_tok=1)
    refused(folder, "has no counterpart in the files of the mixtral family")


def test_a_window_is_that_of_all_layers(tmp_path: Path):
    config = open_published(saved("mistral-odd", tmp_path).path).config
    assert (config.window_of(0), config.n_local(config.n_layers)) == (9, config.n_layers)


@pytest.mark.parametrize(
    ("n_layers", "n_experts", "n_dense", "of_attention", "of_mixture"),
    [(48, 128, 0, 8, 1), (61, 256, 3, 9, 5)],
    ids=["qwen3-30b-a3b", "deepseek-v3"],
)
def test_the_largest_mixtures_have_no_more_tensors_than_are_opened(
    n_layers: int, n_experts: int, n_dense: int, of_attention: int, of_mixture: int
):
    n_mixtures = n_layers - n_dense
    n = n_layers * of_attention + 3 * n_dense + n_mixtures * (3 * n_experts + of_mixture) + 3
    assert n <= MOST_TENSORS


def test_files_of_too_many_tensors_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("blocks.weights.folder.MOST_TENSORS", 20)
    refused(folder, "The files hold more than 20 tensors")


def test_weights_that_would_not_fit_are_refused_before_they_are_read(folder: Path):
    n_bytes = sum(t.nbytes for t in load_file(folder / WHOLE).values())
    assert open_published(folder, budget=n_bytes).tensors
    with pytest.raises(ConfigError, match=r"The weights take .* as float32, more than"):
        open_published(folder, budget=n_bytes - 1)
    assert open_published(folder, dtype=torch.bfloat16, budget=n_bytes // 2).tensors


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_number_format_is_kept_or_converted(folder: Path, dtype: torch.dtype):
    def narrow(tensors: dict[str, Tensor]) -> None:
        tensors |= {key: tensor.to(dtype) for key, tensor in tensors.items()}

    with_tensors(folder, narrow)
    kept, wide = open_published(folder), open_published(folder, dtype=torch.float32)
    assert {tensor.dtype for tensor in kept.tensors.values()} == {dtype}
    assert {tensor.dtype for tensor in wide.tensors.values()} == {torch.float32}
    assert all(wide.tensors[name].equal(t.float()) for name, t in kept.tensors.items())


def mapped_places(ending: str) -> list[range]:
    """Where in memory files of this name are mapped."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    spans = [line.split()[0].split("-") for line in lines if line.endswith(ending)]
    return [range(int(start, 16), int(end, 16)) for start, end in spans]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux says what is mapped")
def test_weights_lie_in_the_mapped_file_and_training_leaves_it_alone(sharded: Path):
    before = {path.name: path.read_bytes() for path in sharded.iterdir()}
    found = open_published(sharded)
    model = found.build()
    named = dict(model.named_parameters())
    assert all(named[name].data_ptr() == t.data_ptr() for name, t in found.tensors.items())
    mapped = mapped_places(".safetensors")
    assert all(any(t.data_ptr() in place for place in mapped) for t in found.tensors.values())
    with torch.no_grad():
        for parameter in named.values():
            parameter.zero_()
    assert {path.name: path.read_bytes() for path in sharded.iterdir()} == before


def index_of(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = folder / INDEX
    values = json.loads(path.read_text())
    change(values["weight_map"])
    path.write_text(json.dumps(values))


@pytest.mark.parametrize(
    "name",
    [
        "../secret.safetensors",
        "/etc/passwd.safetensors",
        "..\\secret.safetensors",
        "a/../../secret.safetensors",
        "\0.safetensors",
        ".safetensors/..",
        7,
        None,
        ["x.safetensors"],
        "x" * 5000 + ".safetensors",
    ],
    ids=range(10),
)
def test_an_index_that_leads_elsewhere_is_refused(shards: Path, name: object):
    shutil.copy(next(shards.glob("*.safetensors")), shards.parent / "secret.safetensors")
    index_of(shards, lambda found: found.update({"model.norm.weight": name}))
    refused(shards, "plain file name|not a safetensors file|cannot be read")


@pytest.mark.parametrize("name", ["config.json", WHOLE])
@pytest.mark.parametrize("kind", ["outside", "loop", "folder", "pipe", "nowhere"])
def test_what_is_no_file_of_the_folder_is_refused(folder: Path, name: str, kind: str):
    path = folder / name
    outside = shutil.copy(path, folder.parent / f"outside-{name}")
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"outside": outside, "loop": path, "nowhere": folder / "gone"}[kind])
    refused(folder, name)


def test_a_link_inside_the_folder_is_followed(folder: Path):
    (folder / WHOLE).rename(folder / "blob")
    (folder / WHOLE).symlink_to("blob")
    assert open_published(folder).tensors


def test_a_pickle_is_never_opened_and_told_how_to_convert(folder: Path):
    (folder / WHOLE).rename(folder / "pytorch_model.bin")
    refused(folder, "pytorch_model.bin is a pickle.*convert it")


@pytest.mark.parametrize("missing", ["config.json", WHOLE, "."])
def test_what_is_not_there_is_named(folder: Path, missing: str):
    path = folder / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    refused(folder, "does not exist" if missing == "." else missing)


def test_two_files_without_an_index_are_refused(folder: Path):
    shutil.copy(folder / WHOLE, folder / "one.safetensors")
    (folder / WHOLE).rename(folder / "two.safetensors")
    refused(folder, "2 safetensors files")


def test_a_tensor_in_two_shards_is_refused(shards: Path):
    first, second = sorted(shards.glob("*.safetensors"))[:2]
    save_file(load_file(first) | load_file(second), second)
    refused(shards, "which one is meant")


def test_an_index_that_promises_too_much_is_refused(shards: Path):
    index_of(shards, lambda found: found.update(extra=next(iter(found.values()))))
    refused(shards, "The index says that extra is in")


def with_header(raw: bytes, change: Callable[[bytes], bytes]) -> bytes:
    length = struct.unpack("<Q", raw[:8])[0]
    header = change(raw[8 : 8 + length])
    return struct.pack("<Q", len(header)) + header + raw[8 + length :]


@pytest.mark.parametrize(
    "change",
    [
        lambda header: b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},' + header[1:],
        lambda header: header[:-1] + b',"transformer.wte.weight":' + header.split(b":", 1)[1],
        lambda header: header.replace(b"[37,24]", b"[99999999999,24]"),
        lambda header: header.replace(b"[37,24]", b"[-1,24]"),
        lambda header: header.replace(b'"F32"', b'"F31"'),
        lambda header: b"[" * 90_000,
        lambda header: b'{"a":' * 90_000,
        lambda header: b"\xff" + header,
    ],
)
def test_a_header_that_lies_is_refused(folder: Path, change: Callable[[bytes], bytes]):
    raw = (folder / WHOLE).read_bytes()
    (folder / WHOLE).write_bytes(with_header(raw, change))
    refused(folder, "damaged")


def test_a_header_of_very_many_tensors_is_refused_unread(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    row = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    many = json.dumps({f"t{i}": row for i in range(200_000)}).encode()
    raw = (folder / WHOLE).read_bytes()
    (folder / WHOLE).write_bytes(with_header(raw, lambda _header: many))
    monkeypatch.setattr("blocks.weights.folder.safe_open", None)
    refused(folder, "The files hold more than 100,000 tensors")


def test_of_many_names_the_one_that_stands_twice_is_found_in_one_pass():
    compared = 0

    class Name(str):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Name(f"t{i}") for i in range(1000)]
    with pytest.raises(ConfigError, match="t999 appears twice"):
        object_of([(name, 0) for name in (*names, Name("t999"))])
    assert compared < 10_000


def test_half_a_surrogate_pair_is_refused(folder: Path):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "_name_or_path": "\ud800"}))
    refused(folder, "unpaired surrogate")


def test_a_name_twice_in_a_header_is_refused(folder: Path):
    entry = b'"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    header = b"{" + entry + b"," + entry + b"}"
    (folder / WHOLE).write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * 4)
    refused(folder, "x appears twice")


@few
@given(st.integers(0, 10**6), st.data())
def test_truncated_and_changed_bytes_are_read_or_refused(
    sound: Path, tmp_path: Path, cut: int, data: st.DataObject
):
    name = data.draw(st.sampled_from(["config.json", WHOLE]))
    raw = bytearray((sound / name).read_bytes())
    if data.draw(st.booleans()):
        raw = raw[: cut % len(raw)]
    else:
        most = 3000 if data.draw(st.booleans()) else len(raw)
        for place in data.draw(st.lists(st.integers(0, most - 1), max_size=4)):
            raw[place % len(raw)] = data.draw(st.integers(0, 255))
    for other in ("config.json", WHOLE):
        (tmp_path / other).write_bytes(raw if other == name else (sound / other).read_bytes())
    read_or_refused(tmp_path)


@few
@given(st.data())
def test_any_value_in_a_config_or_an_index_is_read_or_refused(
    sharded: Path, tmp_path: Path, data: st.DataObject
):
    for path in sharded.iterdir():
        shutil.copy(path, tmp_path)
    name = data.draw(st.sampled_from(["config.json", INDEX]))
    values = json.loads((sharded / name).read_text())
    inner = values["weight_map"] if name == INDEX and data.draw(st.booleans()) else values
    inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(JSON)
    (tmp_path / name).write_text(json.dumps(values))
    read_or_refused(tmp_path)


def read_or_refused(folder: Path) -> None:
    try:
        assert open_published(folder).build()
    except ConfigError as error:
        assert str(error)

"""What other programs keep on this machine, by the layouts of their own folders."""

import json
from pathlib import Path

import pytest
from gguf_files import wide_llama, write_gguf
from published_folders import saved

from blocks import ConfigError
from blocks.weights import open_published
from blocks.weights.caches import OF_MODEL, hub_cache, hub_model, hub_models, models_here

REVISION = "0123456789abcdef0123456789abcdef01234567"


def _in_hub(root, name, files):
    """As `huggingface_hub` keeps a model: blobs, and a snapshot of links to them."""
    model = root / f"models--{name.replace('/', '--')}"
    snapshot = model / "snapshots" / REVISION
    for folder in (model / "blobs", model / "refs", snapshot):
        folder.mkdir(parents=True)
    (model / "refs" / "main").write_text(REVISION)
    for n, file in enumerate(files):
        (model / "blobs" / f"{n:064x}").write_bytes(file.read_bytes())
        (snapshot / file.name).symlink_to(f"../../blobs/{n:064x}")
    return snapshot


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved("llama", tmp_path_factory.mktemp("llama")).path


@pytest.fixture(scope="module")
def gguf_file(tmp_path_factory):
    return write_gguf(tmp_path_factory.mktemp("gguf") / "toy.gguf", wide_llama())


def test_each_program_s_models_are_found_and_opened_in_place(folder, gguf_file, tmp_path):
    hub = tmp_path / ".cache" / "huggingface" / "hub"
    tables = [folder / "config.json", folder / "model.safetensors"]
    _in_hub(hub, "owner/llama", tables)
    _in_hub(hub, "owner/rounded", [gguf_file])
    raw, digest = gguf_file.read_bytes(), "ab" * 32
    ollama = tmp_path / ".ollama" / "models"
    tags = ollama / "manifests" / "registry.ollama.ai"
    for place in ("library/llama3.2", "someone/own"):
        (tags / place).mkdir(parents=True)
        layers = [{"mediaType": OF_MODEL, "digest": f"sha256:{digest}"}]
        (tags / place / "1b").write_text(json.dumps({"layers": layers}))
    (ollama / "blobs").mkdir()
    (ollama / "blobs" / f"sha256-{digest}").write_bytes(raw)
    for place in (".lmstudio/models/owner/name/a.gguf", ".cache/llama.cpp/b.gguf"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_bytes(raw)
    assert hub_cache(tmp_path, {}) == hub
    held, found = hub_models(hub), models_here(tmp_path, {})
    assert [*held] == ["owner/llama", "owner/rounded/toy.gguf"]
    assert [*found] == [
        "ollama/llama3.2:1b",
        "ollama/someone/own:1b",
        "lmstudio/owner/name/a.gguf",
        "llama.cpp/b.gguf",
    ]
    for path in (*held.values(), *found.values()):
        assert open_published(path).config.n_layers == 2


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({"HF_HUB_CACHE": "/a/hub", "HF_HOME": "/b"}, "/a/hub"),
        ({"HF_HOME": "/b", "XDG_CACHE_HOME": "/c"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
    ],
)
def test_variables_move_the_cache(environment, place, tmp_path):
    assert hub_cache(tmp_path, environment) == Path(place)
    assert models_here(tmp_path / "nobody", environment) == {} == hub_models(tmp_path / "nobody")


def test_a_link_that_leaves_the_model_s_folder_is_not_followed(folder, gguf_file, tmp_path):
    snapshot = _in_hub(tmp_path, "a/b", [folder / "model.safetensors", gguf_file])
    (snapshot / "config.json").symlink_to(folder / "config.json")
    (snapshot / "toy.gguf").unlink()
    (snapshot / "toy.gguf").symlink_to(gguf_file)
    found = hub_models(tmp_path)
    assert len(found) == 2
    for path in found.values():
        with pytest.raises(ConfigError, match="points outside"):
            open_published(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"layers": 3}',
        json.dumps({"layers": [{"mediaType": OF_MODEL, "digest": "sha256:../../../etc/passwd"}]}),
        json.dumps({"layers": [{"mediaType": OF_MODEL, "digest": 7}]}),
        "[" * 10_000,
    ],
)
def test_a_manifest_that_says_nothing_names_no_model(text, tmp_path):
    place = tmp_path / ".ollama" / "models" / "manifests" / "r" / "library" / "m"
    place.mkdir(parents=True)
    (place / "1b").write_text(text)
    assert models_here(tmp_path, {}) == {}


def test_one_model_is_found_as_among_all(folder, gguf_file, tmp_path):
    _in_hub(tmp_path, "owner/llama", [folder / "config.json", folder / "model.safetensors"])
    _in_hub(tmp_path, "rounded", [gguf_file])
    one_by_one = {**hub_model(tmp_path, "owner/llama"), **hub_model(tmp_path, "rounded")}
    assert one_by_one == hub_models(tmp_path) and len(one_by_one) == 2


@pytest.mark.parametrize(
    "name", ["", "gone", "../x", "a\0b", "\ud800", "a\\..\\b", "x" * 5000], ids=ascii
)
def test_an_odd_name_is_no_model_of_the_hub(name, tmp_path):
    assert hub_model(tmp_path, name) == {}

"""Models from the hub: whole and checked in its own cache, gone on with after any interruption."""

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from stand_in_hub import SHA, Hub, etag, stand_in

from blocks import ConfigError
from blocks.weights import hub
from blocks.weights.caches import hub_models

FILES = {
    "config.json": b'{"model_type": "gpt2"}',
    "model.safetensors": bytes(range(256)) * 4096,
    "model-00001-of-00002.safetensors": b"a copy",
    "pytorch_model.bin": b"a pickle",
    "onnx/model.safetensors": b"elsewhere",
    "model-Q4_K_M.gguf": b"rounded",
}
ROUNDED = {
    "config.json": b"{}",
    **{f"toy-{each}.gguf": b"GGUF" for each in ("F16", "IQ2_M", "Q8_0", "q4_k_m", "Q4_0")},
    "mmproj-Q4_K_M.gguf": b"of pictures",
    "toy-Q4_K_S-00001-of-00002.gguf": b"half",
}
MODELS = {
    "owner/model": FILES,
    "owner/pickle": {"pytorch_model.bin": b"a pickle"},
    "owner/rounded": ROUNDED,
    "owner/shards": {
        "config.json": b"{}",
        "model.safetensors.index.json": b"{}",
        "model-00001-of-00002.safetensors": bytes(20_000),
        "model-00002-of-00002.safetensors": bytes(30_000),
    },
}
OPUS = {**FILES, "source.spm": b"pieces", "vocab.json": b"{}", "target.spm": b"not read"}
MODELS |= {"Helsinki-NLP/opus-mt-en-zh": OPUS, "owner/gpt2": {**FILES, "vocab.json": b"{}"}}
N_BYTES = len(FILES["config.json"]) + len(FILES["model.safetensors"])
PIECE = 2**16


class Stop(BaseException):
    """As Streamlit ends a run of a page."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The hub; the library takes smaller pieces, and does not wait before it tries again."""
    library = pytest.importorskip("huggingface_hub.file_download")
    monkeypatch.setattr(library.constants, "DOWNLOAD_CHUNK_SIZE", PIECE)
    monkeypatch.setattr(library, "time", SimpleNamespace(sleep=lambda seconds: None))
    monkeypatch.setenv("HF_TOKEN", "a token")
    with stand_in(MODELS) as found:
        monkeypatch.setenv("HF_ENDPOINT", found.endpoint)
        yield found


@pytest.fixture
def door(tmp_path: Path) -> hub.Door:
    return hub.Door(tmp_path / "cache")


def fetched(name: str, door: hub.Door) -> list[int]:
    """What was said on the way of a model that comes."""
    so_far: list[int] = []
    hub.fetch(hub.hub_model(name, door), door, so_far.append)
    return so_far


def blob(door: hub.Door, name: str = "model.safetensors", end: str = "") -> Path:
    return door.cache / "models--owner--model" / "blobs" / (etag(FILES[name]) + end)


def test_what_is_read_here_comes_whole_into_the_cache_of_the_hub(server: Hub, door: hub.Door):
    wanted = {name: FILES[name] for name in ("config.json", "model.safetensors")}
    model = hub.hub_model("owner/model", door)
    assert model.revision == SHA and model.n_bytes == N_BYTES
    so_far = fetched("owner/model", door)
    assert so_far == sorted(so_far) and so_far[-1] == N_BYTES and len(so_far) > 10
    folder = hub_models(door.cache)["owner/model"]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == wanted
    assert folder.name == SHA
    server.asked.clear()
    assert fetched("owner/model", door)[-1] == N_BYTES
    assert {method for method, _file, _range in server.asked} == {"HEAD"}


def test_the_library_finds_what_was_fetched(server: Hub, door: hub.Door):
    fetched("owner/model", door)
    library = pytest.importorskip("huggingface_hub")
    path = library.hf_hub_download(
        "owner/model", "model.safetensors", cache_dir=door.cache, local_files_only=True
    )
    assert Path(path).read_bytes() == FILES["model.safetensors"]
    assert len(library.scan_cache_dir(door.cache).repos) == 1


def test_shards_come_all_or_the_model_is_not_here(server: Hub, door: hub.Door):
    server.damaged.add("model-00002-of-00002.safetensors")
    with pytest.raises(ConfigError, match="from the Hub was damaged"):
        fetched("owner/shards", door)
    assert hub_models(door.cache) == {}
    server.damaged.clear()
    server.asked.clear()
    assert fetched("owner/shards", door)[-1] == 50_004
    assert {file for method, file, _range in server.asked if method == "GET"} == {
        "model-00002-of-00002.safetensors"
    }
    assert [*hub_models(door.cache)] == ["owner/shards"]


def test_what_waits_in_a_pull_request_comes_from_there(server: Hub, door: hub.Door):
    name = "Helsinki-NLP/opus-mt-en-zh"
    server.converted[name] = "refs%2Fpr%2F6"
    fetched(name, door)
    assert {each for method, each, _range in server.asked if method == "GET"} == {
        *("config.json", "model.safetensors", "source.spm", "vocab.json")
    }
    folder = hub_models(door.cache)[name]
    assert (folder / "source.spm").read_bytes() == b"pieces"
    assert [each.name for each in (folder.parents[1] / "refs").rglob("*")] == ["pr", "6"]
    assert ("vocab.json", 2) not in hub.hub_model("owner/gpt2", door).files


def test_an_answer_that_breaks_off_is_gone_on_with(server: Hub, door: hub.Door):
    server.cuts = 1
    assert fetched("owner/model", door)[-1] == N_BYTES
    assert ("GET", "model.safetensors", f"bytes={2**19}-") in server.asked
    assert blob(door).read_bytes() == FILES["model.safetensors"]


def test_a_network_that_stays_away_leaves_what_came(server: Hub, door: hub.Door):
    server.cuts = 10**6
    with pytest.raises(ConfigError, match="could not be downloaded from the Hub"):
        fetched("owner/model", door)
    n_kept = blob(door, end=".incomplete").stat().st_size
    assert hub_models(door.cache) == {} and 0 < n_kept < len(FILES["model.safetensors"])
    server.cuts = 0
    assert fetched("owner/model", door)[1] == len(FILES["config.json"]) + n_kept + PIECE
    assert [*hub_models(door.cache)] == ["owner/model"]


@pytest.mark.parametrize("ignores_range", [False, True])
def test_who_stops_goes_on_later(server: Hub, door: hub.Door, ignores_range: bool):
    def stop(n_bytes: int) -> None:
        if n_bytes > 2 * PIECE:
            raise Stop

    model = hub.hub_model("owner/model", door)
    with pytest.raises(Stop), hub.only_one(door):
        hub.fetch(model, door, stop)
    assert blob(door, end=".incomplete").stat().st_size >= 2 * PIECE
    assert hub_models(door.cache) == {}
    server.asked.clear()
    server.ignores_range = ignores_range
    with hub.only_one(door):
        assert fetched("owner/model", door)[-1] == N_BYTES
    assert any(found.startswith("bytes=") for _method, _file, found in server.asked)
    assert blob(door).read_bytes() == FILES["model.safetensors"]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_what_comes_damaged_is_thrown_away(server: Hub, door: hub.Door, name: str):
    server.damaged.add(name)
    with pytest.raises(ConfigError, match=f"{name} from the Hub was damaged"):
        fetched("owner/model", door)
    assert not blob(door, name).exists() and not blob(door, name, ".incomplete").exists()
    server.damaged.clear()
    assert fetched("owner/model", door)[-1] == N_BYTES


def test_what_was_kept_and_is_no_beginning_is_thrown_away(server: Hub, door: hub.Door):
    for raw in (b"x" * PIECE, FILES["model.safetensors"] + b"more"):
        partial = blob(door, end=".incomplete")
        partial.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(raw)
        if len(raw) == PIECE:
            with pytest.raises(ConfigError, match="from the Hub was damaged"):
                fetched("owner/model", door)
        else:
            assert fetched("owner/model", door)[-1] == N_BYTES


def test_a_file_that_was_cut_in_the_cache_comes_anew(server: Hub, door: hub.Door):
    fetched("owner/model", door)
    blob(door).write_bytes(b"cut")
    assert fetched("owner/model", door)[-1] == N_BYTES
    path = hub_models(door.cache)["owner/model"] / "model.safetensors"
    assert path.read_bytes() == FILES["model.safetensors"]


def test_of_gguf_files_one_of_about_four_bits_comes(server: Hub, door: hub.Door):
    model = hub.hub_model("owner/rounded", door)
    assert model.files == (("toy-q4_k_m.gguf", 4),)
    fetched("owner/rounded", door)
    assert [*hub_models(door.cache)] == ["owner/rounded/toy-q4_k_m.gguf"]


@pytest.mark.parametrize(
    ("file", "n_opened"),
    [
        ("toy-Q4_K_M.gguf", 32 / 8.5 * 1000),
        ("toy.Q8_0.gguf", 32 / 8.5 * 1000),
        ("toy-bf16.gguf", 1000),
        ("toy.gguf", 1000),
        ("model.safetensors", 1000),
    ],
)
def test_rounded_weights_take_more_once_they_are_opened(file: str, n_opened: float):
    model = hub.HubModel("owner/model", SHA, ((file, 1000),))
    assert model.n_opened == int(n_opened)


@pytest.mark.parametrize("status", [401, 403])
def test_a_gated_model_says_what_to_do(server: Hub, door: hub.Door, status: int):
    server.gated["owner/model"] = status
    words = rf"accept its license on {server.endpoint}/owner/model, .*`hf auth login`"
    with pytest.raises(ConfigError, match=words):
        hub.hub_model("owner/model", door)
    for_all = hub.Door(door.cache, has_account=False)
    with pytest.raises(ConfigError, match="without one"):
        hub.hub_model("owner/model", for_all)


def test_a_class_does_not_ask_with_the_account_of_the_server(server: Hub, door: hub.Door):
    fetched("owner/model", hub.Door(door.cache, has_account=False))
    assert server.accounts == {""}
    fetched("owner/model", door)
    assert server.accounts == {"", "Bearer a token"}


def test_without_room_on_the_disk_nothing_comes(
    server: Hub, door: hub.Door, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=N_BYTES - 1))
    with pytest.raises(
        ConfigError, match=r"needs 1\.05 MB more disk space, but only 1\.05 MB is free"
    ):
        fetched("owner/model", door)
    assert {method for method, _file, _range in server.asked} == {"HEAD"}


def test_a_disk_that_fills_up_keeps_what_came(server: Hub, door: hub.Door):
    def full(n_bytes: int) -> None:
        if n_bytes > 2 * PIECE:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ConfigError, match="The disk is full"):
        hub.fetch(hub.hub_model("owner/model", door), door, full)
    assert fetched("owner/model", door)[1] > 2 * PIECE


def test_what_changed_since_it_was_listed_is_refused(server: Hub, door: hub.Door):
    model = hub.hub_model("owner/model", door)
    listed = hub.HubModel(model.name, SHA, (("config.json", 21), *model.files[1:]))
    with pytest.raises(ConfigError, match="has changed on the Hub"):
        hub.fetch(listed, door, lambda n_bytes: None)
    assert hub_models(door.cache) == {}


def test_one_comes_at_a_time(door: hub.Door):
    pytest.importorskip("filelock")
    another = pytest.raises(ConfigError, match="Another model")
    with hub.only_one(door), another, hub.only_one(door):
        raise AssertionError
    with hub.only_one(door):
        pass


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("owner/gone", "no model owner/gone"),
        ("owner/pickle", "neither safetensors nor GGUF"),
        ("../x", "is not the name"),
        ("a/b/c", "is not the name"),
        ("", "is not the name"),
    ],
)
def test_what_is_not_there_is_a_sentence(server: Hub, door: hub.Door, name: str, words: str):
    with pytest.raises(ConfigError, match=words):
        hub.hub_model(name, door)


def test_without_the_library_a_sentence_says_so(door: hub.Door, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hub, "is_installed", lambda: False)
    with pytest.raises(ConfigError, match="pip install huggingface_hub"):
        hub.hub_model("owner/model", door)


def test_without_a_network_a_sentence_says_so(door: hub.Door, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ConfigError, match="check the network"):
        hub.hub_model("owner/model", door)

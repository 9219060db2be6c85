"""The upload door: files become a model that a link names, or a sentence; nothing else happens."""

import json
import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from brought_folders import save_folder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stand_in_hub import Hub, stand_in

from blocks import ConfigError
from blocks.text.numbers import NumberTokenizer
from blocks.weights.ledger import State
from blocks.weights.pocket import FOLDER as POCKET
from pages.server import brought, starts
from tests.blocks.gguf_files import wide_llama, write_gguf

WHOLE, CONFIG = "model.safetensors", "config.json"
few = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)


class File:
    """As Streamlit hands over what a browser has sent."""

    def __init__(self, name: str, raw: bytes):
        self.name, self.raw = name, raw

    def getbuffer(self) -> memoryview:
        return memoryview(self.raw)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> list[File]:
    path = save_folder("gpt2", tmp_path_factory.mktemp("gpt2"))
    return [File(name, (path / name).read_bytes()) for name in (CONFIG, WHOLE)]


@pytest.fixture(autouse=True)
def uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BLOCKSCOPE_UPLOADS", str(tmp_path / "kept"))
    return tmp_path / "kept" / "upload"


def with_raw(files: Sequence[File], name: str, raw: bytes) -> list[File]:
    return [File(each.name, raw if each.name == name else each.raw) for each in files]


def refused(files: Sequence[File], uploads: Path) -> str:
    """What was said; nothing is kept of it."""
    with pytest.raises(ConfigError) as error:
        brought.take_in(files)
    assert all(str(fault) for fault in error.value.faults)
    assert not uploads.exists() or list(uploads.iterdir()) == []
    return str(error.value)


def test_what_is_uploaded_is_opened_under_a_name_that_holds_its_hash(sound: list[File]):
    preset = brought.take_in(sound)
    found = brought.find(preset)
    assert found is not None and found.learned is not None and found.ledger is not None
    assert preset == f"upload:gpt2-{found.short_digest}"
    assert brought.ledger_of(f"{preset}@{found.short_digest}") is found.ledger
    assert brought.take_in(sound[::-1]) == preset
    assert brought.find(preset) is found
    start = starts.start(preset)
    assert start.weights == f"{preset}@{found.short_digest}"
    assert starts.model(start.weights) is found.learned
    assert found.learned.tokenizer == NumberTokenizer(37)
    assert starts.is_known(preset) and brought.lacking(preset) is None
    with pytest.raises(KeyError):
        starts.model(f"{preset}@0000000000")


def test_a_file_of_ours_is_a_model_too():
    raw = (POCKET / "sort.safetensors").read_bytes()
    found = brought.find(brought.take_in([File("step-100.safetensors", raw)]))
    assert found is not None and found.learned is not None and found.learned.card is not None
    assert found.learned.card.task == "sorting letters" and found.ledger is None


def test_what_is_too_large_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of 50 GB there is only a hole on the disk, but reading it would take as long."""
    ours, theirs = tmp_path / "folders" / "ours", save_folder("gpt2", tmp_path / "folders/theirs")
    ours.mkdir()
    shutil.copy(POCKET / "sort.safetensors", ours)
    os.truncate(ours / "sort.safetensors", 50 * 10**9)
    monkeypatch.setenv("BLOCKSCOPE_FOLDERS", str(tmp_path / "folders"))
    monkeypatch.setenv("BLOCKSCOPE_MEMORY_GIB", "0.00001")
    monkeypatch.setattr(brought.places, "fingerprint", None)
    monkeypatch.setattr(Path, "read_bytes", None)
    for folder in (ours, theirs):
        found = brought.find(f"folder:{folder.name}")
        assert found is not None and any("more than the" in str(each) for each in found.faults)


def test_what_was_too_large_is_opened_where_more_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = save_folder("gpt2", tmp_path / "folders/theirs")
    monkeypatch.setenv("BLOCKSCOPE_FOLDERS", str(folder.parent))
    for gib, is_sound in (("0.00001", False), ("1", True)):
        monkeypatch.setenv("BLOCKSCOPE_MEMORY_GIB", gib)
        assert brought.is_sound("folder:theirs") == is_sound


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../config.json", "not a valid file name"),
        ("/etc/config.json", "not a valid file name"),
        ("..\\config.json", "not a valid file name"),
        (".safetensors", "not a valid file name"),
        ("a\0.safetensors", "not a valid file name"),
        ("\ud800.safetensors", "not a valid file name"),
        ("x" * 300 + ".safetensors", "not a valid file name"),
        ("config.json", "uploaded twice"),
        ("pytorch_model.bin", "cannot be read here"),
        ("other.json", "cannot be read here"),
        ("second.safetensors/x", "not a valid file name"),
    ],
    ids=ascii,
)
def test_a_name_that_leads_elsewhere_is_refused(
    sound: list[File], uploads: Path, name: str, words: str
):
    assert words in refused([*sound, File(name, b"{}")], uploads)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([], "no .safetensors"),
        ([File(CONFIG, b"{}")], "no .safetensors"),
        ([File(WHOLE, b"")], "not a Blockscope model file"),
        ([File(CONFIG, b"[" * 90_000), File(WHOLE, b"")], "."),
        ([File(CONFIG, b'{"model_type": "mamba"}'), File(WHOLE, b"")], "Unknown model family"),
    ],
)
def test_what_is_no_model_is_a_sentence(files: list[File], uploads: Path, words: str):
    assert words in refused(files, uploads)


def test_of_refused_files_the_ledger_says_what_is_wrong(sound: list[File]):
    config = json.loads(sound[0].raw) | {"n_positions": 18}
    with pytest.raises(brought.RefusedError) as error:
        brought.take_in(with_raw(sound, CONFIG, json.dumps(config).encode()))
    assert error.value.ledger is not None
    wrong = [row for row in error.value.ledger.rows if not row.state.is_sound]
    assert [(row.key, row.state) for row in wrong] == [
        ("transformer.wpe.weight", State.WRONG_SHAPE)
    ]


@few
@given(st.data())
def test_changed_and_cut_uploads_are_opened_or_refused(sound: list[File], data: st.DataObject):
    file = data.draw(st.sampled_from(sound))
    raw = bytearray(file.raw)
    if data.draw(st.booleans()):
        raw = raw[: data.draw(st.integers(0, len(raw)))]
    else:
        most = min(3000 if data.draw(st.booleans()) else len(raw), len(raw))
        for place in data.draw(st.lists(st.integers(0, most - 1), min_size=1, max_size=4)):
            raw[place] = data.draw(st.integers(0, 255))
    opened_or_refused(with_raw(sound, file.name, bytes(raw)))


@few
@given(st.data())
def test_lying_headers_are_opened_or_refused(sound: list[File], data: st.DataObject):
    raw = sound[1].raw
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + length])
    entry = header[data.draw(st.sampled_from(sorted(header)))]
    odd = st.one_of(
        st.none(),
        st.integers(-(2**70), 2**70),
        st.text(max_size=5),
        st.lists(st.integers(-2, 2**40), max_size=3),
        st.recursive(st.none(), lambda inner: st.lists(inner), max_leaves=5),
    )
    entry[data.draw(st.sampled_from(["dtype", "shape", "data_offsets", "x"]))] = data.draw(odd)
    changed = json.dumps(header).encode()
    lying = struct.pack("<Q", len(changed)) + changed + raw[8 + length :]
    opened_or_refused(with_raw(sound, WHOLE, lying))


@few
@given(st.text(max_size=12), st.sampled_from(["", ".json", ".safetensors", "/../x.safetensors"]))
def test_any_name_is_opened_or_refused(sound: list[File], name: str, ending: str):
    opened_or_refused([*sound, File(name + ending, b"{}")])


def opened_or_refused(files: Sequence[File]) -> None:
    try:
        preset = brought.take_in(files)
    except ConfigError as error:
        assert str(error)
    else:
        assert brought.is_sound(preset)
    root = Path(os.environ["BLOCKSCOPE_UPLOADS"])
    assert {path.name for path in root.glob("*")} <= {"upload", "hub"}
    assert all(path.parent.parent == root / "upload" for path in root.rglob("*.safetensors"))


@pytest.mark.parametrize(
    "preset",
    [
        "upload:",
        "upload:..",
        "upload:../upload",
        "folder:/etc",
        "folder:../..",
        "hub:a/../../b",
        "upload:gpt2-0123456789",
    ],
)
def test_a_link_to_what_is_not_here_says_so(preset: str):
    assert brought.find(preset) is None and not starts.is_known(preset)
    assert str(brought.lacking(preset))


def test_the_oldest_makes_room_and_what_is_too_large_is_refused(
    sound: list[File], uploads: Path, monkeypatch: pytest.MonkeyPatch
):
    first = brought.take_in(sound)
    other = with_raw(sound, CONFIG, sound[0].raw + b" ")
    n_bytes = sum(len(each.raw) for each in other)
    monkeypatch.setenv("BLOCKSCOPE_UPLOADS_GIB", repr(1.5 * n_bytes / 2**30))
    second = brought.take_in(other)
    assert brought.find(first) is None and brought.is_sound(second)
    monkeypatch.setenv("BLOCKSCOPE_UPLOADS_GIB", repr(0.5 * n_bytes / 2**30))
    with pytest.raises(ConfigError, match="more than the"):
        brought.take_in(sound)


def test_a_folder_is_opened_once_and_anew_when_its_files_change(
    sound: list[File], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("BLOCKSCOPE_FOLDERS", str(tmp_path / "served"))
    folder = tmp_path / "served" / "owner" / "toy"
    folder.mkdir(parents=True)
    for each in sound:
        (folder / each.name).write_bytes(each.raw)
    assert "folder:owner/toy" in brought.folders()
    first = brought.find("folder:owner/toy")
    assert first is brought.find("folder:owner/toy") and brought.is_sound("folder:owner/toy")
    (folder / CONFIG).write_bytes(sound[0].raw + b"\n")
    second = brought.find("folder:owner/toy")
    assert first is not None and second is not None
    assert second.digest != first.digest and brought.is_sound("folder:owner/toy")
    (folder / CONFIG).write_text("{")
    fault = brought.lacking("folder:owner/toy")
    assert fault is not None and not brought.is_sound("folder:owner/toy")


def test_what_other_programs_keep_here_is_for_one_person_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / ".cache" / "llama.cpp" / "toy.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF, but no model")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("BLOCKSCOPE_HUB", "1")
    assert brought.on_this_machine() == ("local:llama.cpp/toy.gguf",)
    found = brought.find("local:llama.cpp/toy.gguf")
    assert found is not None and "versions 2 and 3" in str(found.faults[0])
    assert brought.find("local:../../etc/passwd") is None
    monkeypatch.setenv("BLOCKSCOPE_HUB", "0")
    assert brought.on_this_machine() == () and brought.find("local:llama.cpp/toy.gguf") is None
    assert brought.lacking("local:llama.cpp/toy.gguf") is not None


@pytest.fixture
def on_the_hub(sound: list[File], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Two models on a hub of this machine, which offers it."""
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BLOCKSCOPE_HUB", "1")
    files = {each.name: each.raw for each in sound}
    gguf = write_gguf(tmp_path / "toy.gguf", wide_llama()).read_bytes()
    models = {"a/one": files, "a/two": files | {"x": b""}, "a/rounded": {"toy-Q4_0.gguf": gguf}}
    with stand_in(models) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        yield server


def fetched(name: str) -> str:
    brought.fetch(brought.on_the_hub(name), lambda n_bytes: None)
    return brought.from_the_hub(name)


@pytest.mark.parametrize(
    ("is_alone", "place"), [(True, ".cache/huggingface/hub"), (False, "kept/hub")]
)
def test_one_person_fetches_into_the_cache_of_the_hub_and_a_class_into_that_of_the_server(
    on_the_hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_alone: bool, place: str
):
    monkeypatch.setattr(brought.address, "is_alone", lambda: is_alone)
    assert brought.from_the_hub("a/one") == "" and brought.find("hub:a/one") is None
    assert fetched("a/one") == "hub:a/one" and brought.is_sound("hub:a/one")
    assert fetched("a/rounded") == "hub:a/rounded/toy-Q4_0.gguf"
    assert brought.is_sound("hub:a/rounded/toy-Q4_0.gguf")
    assert {each.name for each in (tmp_path / place).glob("models--*")} == {
        "models--a--one",
        "models--a--rounded",
    }
    assert brought.on_this_machine() == ("hub:a/one", "hub:a/rounded/toy-Q4_0.gguf")
    monkeypatch.setenv("BLOCKSCOPE_HUB", "0")
    assert brought.on_this_machine() == ()
    assert brought.is_sound("hub:a/one") is not is_alone  # a class keeps what it has fetched


def test_what_a_class_fetches_has_the_room_of_uploads(
    on_the_hub: Hub, sound: list[File], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(brought.address, "is_alone", lambda: False)
    n_bytes = sum(len(each.raw) for each in sound)
    monkeypatch.setenv("BLOCKSCOPE_UPLOADS_GIB", repr(1.5 * n_bytes / 2**30))
    upload = brought.take_in(sound)
    assert fetched("a/one") == "hub:a/one" and brought.find(upload) is None
    assert fetched("a/two") == "hub:a/two" and brought.from_the_hub("a/one") == ""
    upload = brought.take_in(sound)
    assert brought.is_sound(upload) and brought.from_the_hub("a/two") == ""
    monkeypatch.setenv("BLOCKSCOPE_UPLOADS_GIB", repr(0.5 * n_bytes / 2**30))
    with pytest.raises(ConfigError, match="more than the"):
        fetched("a/one")


def test_a_rounded_file_is_refused_before_it_comes_where_its_weights_are_too_large(
    on_the_hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    n_bytes = (tmp_path / "toy.gguf").stat().st_size
    monkeypatch.setattr(brought, "_most_bytes", lambda: 2 * n_bytes)
    with pytest.raises(ConfigError, match="more than the"):
        brought.on_the_hub("a/rounded")


def test_what_was_stopped_counts_once_when_it_goes_on(
    on_the_hub: Hub, sound: list[File], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(brought.address, "is_alone", lambda: False)
    n_bytes = sum(len(each.raw) for each in sound)
    monkeypatch.setenv("BLOCKSCOPE_UPLOADS_GIB", repr(1.2 * n_bytes / 2**30))

    def stop(n_bytes: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        brought.fetch(brought.on_the_hub("a/one"), stop)
    so_far: list[int] = []
    brought.fetch(brought.on_the_hub("a/one"), so_far.append)
    assert brought.is_sound("hub:a/one") and so_far[0] == len(sound[0].raw)

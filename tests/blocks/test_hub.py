"""The hub, played by a server of this machine: sizes first, whole files or none."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from blocks import ConfigError
from blocks.weights import hub

SHA = "0123456789012345678901234567890123456789"
FILES = {
    "config.json": b'{"model_type": "gpt2"}',
    "model.safetensors": bytes(3 * 2**20),
    "model-00001-of-00002.safetensors": b"a copy",
    "pytorch_model.bin": b"a pickle",
    "onnx/model.safetensors": b"elsewhere",
}
MODELS = {"owner/model": FILES, "owner/pickle": {"pytorch_model.bin": b"a pickle"}}


class Hub(BaseHTTPRequestHandler):
    """Answers as the hub does; of `owner/model` the config comes cut where told so."""

    is_cut = False

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        name = "/".join(path.removeprefix("/api/models").split("/")[1:3])
        files = MODELS.get(name, {})
        if path.startswith("/api/models/") and files:
            siblings = [{"rfilename": each, "size": len(raw)} for each, raw in files.items()]
            self.answer(json.dumps({"id": name, "sha": SHA, "siblings": siblings}).encode())
        elif f"/resolve/{SHA}/" in path:
            raw = files[path.partition(f"/resolve/{SHA}/")[2]]
            self.answer(raw[:-1] if self.is_cut else raw)
        else:
            self.send_error(404)

    def answer(self, raw: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_said: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    pytest.importorskip("huggingface_hub")
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_what_is_read_here_is_listed_with_its_size_and_fetched_whole(endpoint: str, tmp_path: Path):
    found = hub.hub_model("owner/model", endpoint=endpoint)
    wanted = {name: FILES[name] for name in ("config.json", "model.safetensors")}
    assert found.revision == SHA and found.n_bytes == sum(map(len, wanted.values()))
    so_far = list(hub.fetch(found, tmp_path / "owner" / "model", endpoint=endpoint))
    assert so_far == sorted(so_far) and so_far[-1] == found.n_bytes and len(so_far) > 2
    kept = {path.name: path.read_bytes() for path in (tmp_path / "owner" / "model").iterdir()}
    assert kept == wanted


def test_whoever_stops_leaves_nothing_behind(endpoint: str, tmp_path: Path):
    coming = hub.fetch(
        hub.hub_model("owner/model", endpoint=endpoint), tmp_path / "x", endpoint=endpoint
    )
    next(coming)
    coming.close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_comes_cut_is_refused(
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = hub.hub_model("owner/model", endpoint=endpoint)
    monkeypatch.setattr(Hub, "is_cut", True)
    with pytest.raises(ConfigError, match="arrived incomplete"):
        list(hub.fetch(found, tmp_path / "x", endpoint=endpoint))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("owner/gone", "did not return owner/gone"),
        ("owner/pickle", "no safetensors"),
        ("../x", "is not the name"),
        ("a/b/c", "is not the name"),
        ("", "is not the name"),
    ],
)
def test_what_is_not_there_is_a_sentence(endpoint: str, name: str, words: str):
    with pytest.raises(ConfigError, match=words):
        hub.hub_model(name, endpoint=endpoint)


def test_without_the_library_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hub, "is_installed", lambda: False)
    with pytest.raises(ConfigError, match="pip install huggingface_hub"):
        hub.hub_model("owner/model")


def test_without_a_network_a_sentence_says_so():
    pytest.importorskip("huggingface_hub")
    with pytest.raises(ConfigError, match="check the name and the network"):
        hub.hub_model("owner/model", endpoint="http://127.0.0.1:9")

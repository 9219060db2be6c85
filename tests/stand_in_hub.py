"""The Hugging Face hub, played by a server of this machine, with every fault that it may have."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

SHA = "0123456789012345678901234567890123456789"
API = re.compile(r"/api/models/(?P<name>[^?]+?)(/revision/(?P<ref>[\w%]+))?(\?.*)?")
FILE = re.compile(rf"/(?P<name>[^?]+)/resolve/{SHA}/(?P<file>[^?]+)")
LARGE = 10_000  # bytes from which a file is one of "large file storage", named by its SHA-256


class Hub(ThreadingHTTPServer):
    """Models by name, each its files.

    `cuts`: how many answers still break off in the middle; `damaged`: files that come with a wrong
    byte; `gated`: models whose files are for those who may; `asked`: (method, file, range) so far.
    """

    def __init__(self, models: Mapping[str, Mapping[str, bytes]]):
        super().__init__(("127.0.0.1", 0), _Answer)
        self.models = models
        self.cuts, self.damaged, self.ignores_range = 0, set[str](), False
        self.gated: dict[str, int] = {}  # by name the status that is answered
        self.converted: dict[str, str] = {}  # by name the only revision that has safetensors
        self.asked: list[tuple[str, str, str]] = []
        self.accounts: set[str] = set()

    @property
    def endpoint(self) -> str:
        """What HF_ENDPOINT is set to."""
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def stand_in(models: Mapping[str, Mapping[str, bytes]]) -> Iterator[Hub]:
    """A hub that answers until the end of this."""
    with Hub(models) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()


def etag(raw: bytes) -> str:
    """SHA-256 of a large file, git's SHA-1 of a small one."""
    if len(raw) >= LARGE:
        return hashlib.sha256(raw).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(raw) + raw).hexdigest()


class _Answer(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        hub = self.server
        hub.accounts.add(self.headers.get("Authorization", ""))
        if (found := API.fullmatch(self.path)) and found["name"] in hub.models:
            files = hub.models[found["name"]]
            if hub.converted.get(found["name"], found["ref"]) != found["ref"]:
                files = {name: raw for name, raw in files.items() if name != "model.safetensors"}
            self.list_files(found["name"], files)
        elif (found := FILE.fullmatch(self.path)) and found["name"] in hub.models:
            hub.asked.append((self.command, found["file"], self.headers.get("Range", "")))
            if status := hub.gated.get(found["name"]):
                self.say(status, b"", {"X-Error-Code": "GatedRepo"})
            else:
                self.send_file(found["file"], hub.models[found["name"]][found["file"]])
        else:
            self.say(404, b"", {"X-Error-Code": "RepoNotFound"})

    def list_files(self, name: str, files: Mapping[str, bytes]) -> None:
        siblings = [{"rfilename": each, "size": len(raw)} for each, raw in files.items()]
        raw = json.dumps({"id": name, "sha": SHA, "siblings": siblings}).encode()
        self.say(200, raw, {"Content-Type": "application/json"})

    def send_file(self, name: str, raw: bytes) -> None:
        hub = self.server
        said = {"ETag": f'"{etag(raw)}"', "X-Repo-Commit": SHA}
        if name in hub.damaged:
            raw = raw[:-1] + bytes([raw[-1] ^ 1])
        start = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        status = 200
        if start and not hub.ignores_range:
            status, first = 206, int(start[1])
            said["Content-Range"] = f"bytes {first}-{len(raw) - 1}/{len(raw)}"
            raw = raw[first:]
        self.say(status, raw, said)

    def say(self, status: int, raw: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(raw))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if "ETag" in headers and len(raw) >= LARGE and self.server.cuts:
            self.server.cuts -= 1
            self.wfile.write(raw[: len(raw) // 2])
            self.close_connection = True
        else:
            self.wfile.write(raw)

    def log_message(self, *_said: object) -> None:
        """Nothing."""

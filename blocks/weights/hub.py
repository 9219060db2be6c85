"""Models from the Hugging Face hub by name: what there is, how large, and its files.

`huggingface_hub` fetches them into a cache of its own layout, where they are opened in place. It
need not be installed; nothing is asked of the network before a reader asks.
"""

import errno
import hashlib
import importlib
import importlib.util
import io
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from blocks.cost.units import bytes_text
from blocks.model.faults import N_, ConfigError
from blocks.weights.caches import folder_of
from blocks.weights.folder import GGUF, WHOLE, refusal
from blocks.weights.places import OF_MARIAN, TABLES

HUB = "https://huggingface.co"  # unless HF_ENDPOINT names another
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
DIGEST = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?", re.ASCII)
SECONDS = 30.0
# Of these the safetensors wait in a pull request that the hub's own converter has opened.
CONVERTED = {"Helsinki-NLP/opus-mt-en-zh": "refs/pr/6"}
# Of several GGUF files one is fetched: about 4 bits a weight first, as most people choose.
ROUNDED = (
    *("Q4_K_M", "Q4_K_S", "Q4_0", "Q4_1", "IQ4_NL", "IQ4_XS", "Q5_K_M", "Q5_K_S", "Q5_0", "Q5_1"),
    *("Q6_K", "Q8_0", "Q3_K_M", "Q3_K_L", "Q3_K_S", "Q2_K", "BF16", "F16", "F32"),
)
IS_ROUNDED = re.compile(r"[-._]I?Q\d_[^.]+\.gguf", re.IGNORECASE)
MOST_BITS = 8.5  # of a rounded weight: Q8_0, in which others too have some of their tensors
FORMAT = re.compile(rf"[-._]({'|'.join(ROUNDED)})\.gguf", re.IGNORECASE)


@dataclass(frozen=True)
class HubModel:
    """What the hub holds of a model, of all that is read here: (name, bytes) of each file.

    `revision`: the commit; the files stay the same. `ref`: what the hub calls it.
    """

    name: str
    revision: str
    files: tuple[tuple[str, int], ...]
    ref: str = "main"

    @property
    def n_bytes(self) -> int:
        """The number of bytes to fetch."""
        return sum(size for _name, size in self.files)

    @property
    def n_opened(self) -> int:
        """The bytes that it takes at least once it is opened: rounded weights become float32."""
        is_rounded = IS_ROUNDED.search(self.files[-1][0])
        return int(self.n_bytes * 32 / MOST_BITS) if is_rounded else self.n_bytes


@dataclass(frozen=True)
class Door:
    """The way to the hub: the folder that keeps what comes, and in whose name it is asked for.

    `has_account`: with what `hf auth login` has kept on this machine; else as anybody.
    """

    cache: Path
    has_account: bool = True

    @property
    def token(self) -> bool | None:
        """As `huggingface_hub` takes it."""
        return None if self.has_account else False


def is_installed() -> bool:
    """Whether the library that talks to the hub is there."""
    return importlib.util.find_spec("huggingface_hub") is not None


def hub_model(name: str, door: Door) -> HubModel:
    """What the hub holds under this name, and may be fetched. Raises `ConfigError`."""
    if not NAME.fullmatch(name) or ".." in name:
        raise refusal(
            N_("{name} is not the name of a model on the Hub: enter owner/model"), name=name
        )
    library = _library()
    try:
        api = library.HfApi(endpoint=_endpoint(), token=door.token)
        ref = CONVERTED.get(name)
        found = api.model_info(name, revision=ref, files_metadata=True, timeout=SECONDS)
        sizes = {each.rfilename: int(each.size or 0) for each in found.siblings or ()}
        model = HubModel(name, str(found.sha), _wanted(name, sizes), ref or "main")
        _metadata(model, model.files[-1][0], door)  # the list is for all, the weights may not be
    except Exception as error:  # of the library, of what it talks with, of the network
        raise _refused(name, error, door) from None
    return model


@contextmanager
def only_one(door: Door) -> Iterator[None]:
    """One model comes at a time, whoever asks for it. Raises `ConfigError`."""
    from filelock import FileLock, Timeout  # which comes with the library

    locks = door.cache / ".locks"
    locks.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(locks / "blockscope.lock", timeout=0):
            yield
    except Timeout:
        text = N_("Another model is being downloaded here: try again when that is done")
        raise refusal(text) from None


def fetch(model: HubModel, door: Door, said: Callable[[int], None]) -> None:
    """Bring the files into the cache; `said` hears how many bytes of the whole are there.

    What is no `Exception` and raised by `said` stops it, and the next try goes on from there. Only
    whole and checked files are named in the cache. Raises `ConfigError`.
    """
    folder, n_bytes = folder_of(door.cache, model.name), 0
    try:
        (folder / "blobs").mkdir(parents=True, exist_ok=True)
        files = [_file(model, name, size, door) for name, size in model.files]
        _check_room(model, sum(each.n_missing for each in files), folder)
        for file in files:
            if not file.is_whole:
                _bring(file, door, said, n_bytes)
            n_bytes += file.size
            said(n_bytes)
        _name(model, folder, door)
    except Exception as error:
        raise _refused(model.name, error, door) from None


class _File(NamedTuple):
    """One file to fetch: kept under its digest, once it is whole."""

    name: str
    url: str
    size: int
    blob: Path

    @property
    def partial(self) -> Path:
        """What has come of it."""
        return self.blob.with_name(f"{self.blob.name}.incomplete")

    @property
    def is_whole(self) -> bool:
        """Whether it need not come at all."""
        return self.blob.is_file() and self.blob.stat().st_size == self.size

    @property
    def n_missing(self) -> int:
        """The bytes that are still to come."""
        if self.is_whole:
            return 0
        n_kept = self.partial.stat().st_size if self.partial.is_file() else 0
        return self.size - n_kept if n_kept <= self.size else self.size


def _file(model: HubModel, name: str, size: int, door: Door) -> _File:
    """Raises `ConfigError` where it is no longer what was listed."""
    metadata = _metadata(model, name, door)
    digest = str(metadata.etag)
    if metadata.size != size or not DIGEST.fullmatch(digest):
        raise refusal(N_("{name} has changed on the Hub: look the model up again"), name=name)
    return _File(
        name, _url(model, name), size, folder_of(door.cache, model.name) / "blobs" / digest
    )


def _bring(file: _File, door: Door, said: Callable[[int], None], before: int) -> None:
    """Fetch what is missing of a file, and check the whole; so many bytes came before it."""
    with _Coming(file.partial, file.size, lambda n: said(before + n)) as coming:
        _part("file_download").http_get(
            file.url,
            coming,
            resume_size=coming.tell(),
            headers=_part("utils").build_hf_headers(token=door.token),
            expected_size=file.size,
        )
    if _digest(file.partial, file.blob.name) != file.blob.name:
        file.partial.unlink()
        text = N_("The download of {name} from the Hub was damaged and has been deleted: try again")
        raise refusal(text, name=file.name)
    file.partial.replace(file.blob)


def _name(model: HubModel, folder: Path, door: Door) -> None:
    """Give the files their names in the cache, last of all the one by which it is found."""
    for name, _size in model.files:
        _library().hf_hub_download(
            model.name,
            name,
            revision=model.revision,
            cache_dir=door.cache,
            endpoint=_endpoint(),
            token=door.token,
        )
    ref = folder / "refs" / model.ref.removeprefix("refs/")
    ref.parent.mkdir(parents=True, exist_ok=True)
    ref.write_text(model.revision)


class _Coming(io.BufferedWriter):
    """A file that goes on where it ended, and tells how long it is as it grows."""

    def __init__(self, path: Path, most: int, said: Callable[[int], None]):
        super().__init__(io.FileIO(path, "a"))
        self.most, self.said = most, said
        if self.tell() > most:
            self.truncate(0)
            self.seek(0)

    def write(self, piece: Any) -> int:
        """Raises `ConfigError` where more comes than was promised."""
        if self.tell() + len(piece) > self.most:
            raise refusal(N_("The Hub sent more bytes than it had listed: look the model up again"))
        n_bytes = super().write(piece)
        self.said(self.tell())
        return n_bytes


def _digest(path: Path, like: str) -> str:
    """SHA-256 of a large file; of a small one SHA-1 as git takes it, with its length before it."""
    if len(like) == 64:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    raw = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()


def _check_room(model: HubModel, need: int, folder: Path) -> None:
    """Raise `ConfigError` where the disk has no room for what is still to come."""
    free = shutil.disk_usage(folder).free
    if need > free:
        text = N_(
            "{name} needs {need} more disk space, but only {free} is free: delete some files,"
            " or choose a smaller model"
        )
        raise refusal(text, name=model.name, need=bytes_text(need), free=bytes_text(free))


def _refused(name: str, error: Exception, door: Door) -> ConfigError:
    """What to say of an error of the library, of what it talks with, or of the network."""
    if isinstance(error, ConfigError):
        return error
    errors = _part("errors")
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        text = N_(
            "The disk is full: delete some files and try again. The part of {name} that is "
            "already downloaded is kept"
        )
    elif isinstance(error, errors.GatedRepoError) or status == 403:
        text = GATED if door.has_account else GATED_FOR_ALL
    elif isinstance(error, errors.RepositoryNotFoundError) or status in (401, 404):
        text = N_(
            "The Hub has no model {name}, or it is private: check the name, or log in with "
            "`hf auth login`"
        )
    else:
        text = N_(
            "{name} could not be downloaded from the Hub ({why}): check the network and try "
            "again. The part already downloaded is kept"
        )
    page = f"{_endpoint()}/{name}"
    return refusal(text, name=name, page=page, why=type(error).__name__)


GATED = N_(
    "{name} is gated: accept its license on {page}, log in on this machine with `hf auth login`, "
    "and try again"
)
GATED_FOR_ALL = N_(
    "{name} is gated: its license must be accepted with an account, and this server downloads"
    " without one. Choose another model"
)


def _metadata(model: HubModel, name: str, door: Door) -> Any:
    """Size and digest of a file, as `huggingface_hub` tells them."""
    url = _url(model, name)
    return _library().get_hf_file_metadata(
        url, token=door.token, timeout=SECONDS, endpoint=_endpoint()
    )


def _url(model: HubModel, name: str) -> str:
    return _library().hf_hub_url(model.name, name, revision=model.revision, endpoint=_endpoint())


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT") or HUB


def _library() -> Any:
    """`huggingface_hub`, which then tells nobody what it is used for. Raises `ConfigError`."""
    if not is_installed():
        text = N_(
            "Downloading from the Hub needs a library that is not installed: run pip install "
            "huggingface_hub"
        )
        raise refusal(text)
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read where it is imported
    return importlib.import_module("huggingface_hub")


def _part(name: str) -> Any:
    return importlib.import_module(f"huggingface_hub.{name}")


def _wanted(name: str, sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Of all files of a model those that are read here, the weights last.

    Pickles and copies stay where they are; of GGUF files, each a whole model, one is chosen.
    """
    weights = sorted(each for each in sizes if _is_weights(each))
    if WHOLE in weights:
        weights = [WHOLE]
    is_marian = all(each in sizes for each in OF_MARIAN)
    tables = [each for each in TABLES if each in sizes and (is_marian or each not in OF_MARIAN)]
    if not weights:
        tables, weights = [], sorted(filter(_rank, sizes), key=lambda each: (_rank(each), each))[:1]
    if not weights:
        text = N_(
            "{name} has neither safetensors nor GGUF files on the Hub, and other formats are "
            "never opened"
        )
        raise refusal(text, name=name)
    return tuple((each, sizes[each]) for each in (*tables, *weights))


def _is_weights(name: str) -> bool:
    return "/" not in name and name.startswith("model") and name.endswith(".safetensors")


def _rank(name: str) -> int:
    """Of a GGUF file, by its format: 1 is what is fetched first; 0 for what is none."""
    if "/" in name or not name.endswith(GGUF) or PART.search(name):
        return 0
    found = FORMAT.search(name)
    return 1 + (ROUNDED.index(found[1].upper()) if found else len(ROUNDED))


PART = re.compile(r"-\d{5}-of-\d{5}|mmproj|imatrix")  # of a model; of another model; of none

"""Models that readers bring: uploaded, in a folder that is allowed, or from the hub.

Each is a folder on this machine, opened once for all readers and mapped into memory; a link names
it. What is uploaded is found by its name alone, which holds a share of its hash.
"""

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from blocks import ConfigError, Fault, ModelConfig
from blocks.cost.units import bytes_text
from blocks.model.faults import N_
from blocks.text.chat import Chat
from blocks.text.marks import Marks, marks_of
from blocks.text.numbers import NumberTokenizer
from blocks.text.tokenizer import Tokenizer
from blocks.weights import hub, places
from blocks.weights.caches import folder_of, hub_cache, hub_model, hub_models, models_here
from blocks.weights.folder import CONFIG, GGUF
from blocks.weights.ledger import Ledger
from blocks.weights.model_file import Card, ModelFile, read_model_file
from blocks.weights.places import Stamp
from blocks.weights.published import (
    OVER_BUDGET,
    Published,
    open_published,
    read_config,
    read_ledger,
)
from blocks.weights.rounded_inputs import RoundedInput
from blocks.weights.tensors import Weights, bytes_of, of_first_layers
from pages.server import address, settings
from pages.server.once import once
from pages.server.shelf import Shelf, weighed
from pages.session.slot import Slot
from pages.words.language import _

UPLOAD, FOLDER, HUB, LOCAL = "upload:", "folder:", "hub:", "local:"
MINE = Slot[tuple[str, ...]]("my_models", ())  # of this session, the newest first
N_HASH, MOST_FILES, MOST_NAME = 10, 1000, 24
WEIGHTS = (".safetensors", GGUF)
NOT_HERE = {
    UPLOAD: N_("{name} was uploaded by a user and is not on this server: upload its files again"),
    FOLDER: N_("{name} is not among the folders on this server: ask the administrator"),
    LOCAL: N_(
        "{name} is not among the models that other programs store on this machine, or is not "
        "offered here"
    ),
    HUB: N_("{name} has not been downloaded from the Hub to this server: download it first"),
}


class Learned(NamedTuple):
    """A model with the weights it has learned, and what its tokens mean.

    `file`: of ours alone; `chat`: of published ones, how they are asked.
    """

    config: ModelConfig
    tokenizer: Tokenizer
    tensors: Weights
    marks: Marks
    file: ModelFile | None = None
    chat: Chat | None = None

    @property
    def card(self) -> Card | None:
        return self.file.card if self.file else None

    @property
    def inputs(self) -> Mapping[str, RoundedInput]:
        found = self.file.inputs if self.file else {}
        return {name: found[name] for name in found if name in self.tensors}

    def first_layers(self, n_layers: int) -> Self:
        """The same model cut after its first layers; whole where it has no more."""
        if n_layers >= self.config.n_layers:
            return self
        tensors = of_first_layers(self.tensors, n_layers)
        return self._replace(config=self.config.first_layers(n_layers), tensors=tensors)

    @classmethod
    def of_file(cls, file: ModelFile) -> Self:
        marks = marks_of(file.tokenizer)
        return cls(file.config, file.tokenizer, file.tensors, marks, file)

    @classmethod
    def of_published(cls, found: Published) -> Self:
        """The model of a published folder; without a tokenizer its tokens are numbers."""
        tokenizer = found.tokenizer or NumberTokenizer(found.config.vocab_size)
        return cls(found.config, tokenizer, found.tensors, found.marks, chat=found.chat)


@dataclass(frozen=True, eq=False)
class Brought:
    """A folder that was opened, or why it could not be. `digest`: SHA-256 of all its files.

    `counted`: the model that takes too much memory here, as its files describe it.
    """

    digest: str = ""
    family: str = ""
    learned: Learned | None = None
    ledger: Ledger | None = None
    faults: tuple[Fault, ...] = ()
    counted: ModelConfig | None = None

    @property
    def short_digest(self) -> str:
        return self.digest[:N_HASH]


class RefusedError(ConfigError):
    """Files that make no model; `ledger` says which of their tensors are wrong, where it can."""

    def __init__(self, found: Brought):
        super().__init__(found.faults)
        self.ledger = found.ledger


class Upload(Protocol):
    """A file that a browser has sent."""

    @property
    def name(self) -> str:
        """What the reader calls it."""

    def getbuffer(self) -> memoryview:
        """Its bytes."""


def is_name(preset: str) -> bool:
    """Whether this names something that was brought, here or elsewhere."""
    return preset.startswith((*NOT_HERE,))


def whose_weights(weights: str) -> str:
    """Say where the weights of this name are from: how a file's were made, is not known here."""
    if is_name(weights):
        return _("The weights come from an opened file.")
    return _("The weights are trained.")


def find(preset: str) -> Brought | None:
    """What was brought under this name, sound or not; None where it is not here."""
    if not is_name(preset):
        return None
    found = _path(preset)
    return None if found is None else _of_folder(found)


def is_here(preset: str) -> bool:
    """Whether there is something of this name to be opened; no file is read for that."""
    return is_name(preset) and _path(preset) is not None


def _path(preset: str) -> Path | None:
    kind, name = _split(preset)
    if kind == HUB:
        models = (name, name.rpartition("/")[0])  # a folder, or the model of a GGUF file
        found = (hub_model(cache, each).get(name) for cache in _hub_caches() for each in models)
        return next(filter(None, found), None)
    return _kept_here().get(name) if kind == LOCAL else places.below(_roots(kind), name)


def from_the_hub(name: str) -> str:
    """The name of a model of the hub that is here, perhaps as a GGUF file; empty where it is not.

    No file is opened.
    """
    found = (each for cache in reversed(_hub_caches()) for each in hub_model(cache, name))
    return next((HUB + each for each in found), "")


def ledger_of(weights: str) -> Ledger | None:
    """Where the tensors of a published model that was brought went; None for any other."""
    found = find(weights.partition("@")[0])
    return found.ledger if found else None


def title(weights: str) -> str:
    return weights.partition("@")[0].partition(":")[2]


def is_sound(preset: str) -> bool:
    found = find(preset)
    return found is not None and found.learned is not None


def lacking(preset: str) -> Fault | None:
    """Why a name in a link leads to no model."""
    found = find(preset)
    if found is not None:
        return found.faults[0] if found.faults else None
    kind, name = _split(preset)
    return Fault(NOT_HERE[kind], {"name": ascii(name[:80])})


def mine() -> tuple[str, ...]:
    """What this session has brought and is still here, the newest first."""
    return tuple(each for each in MINE.get() if is_sound(each))


def remember(preset: str) -> None:
    others = (each for each in MINE.get() if each != preset)
    MINE.keep((preset, *others)[:8])


def folders() -> tuple[str, ...]:
    """What may be opened of the folders that are allowed: folders, and GGUF files."""
    return tuple(FOLDER + name for name in places.listed(settings.folders()))


def on_this_machine() -> tuple[str, ...]:
    """What came from the hub and what other programs keep, where readers may open it."""
    if not address.serves_one_person():
        return ()
    return (*(HUB + name for name in _from_hub()), *(LOCAL + name for name in _kept_here()))


def _kept_here() -> dict[str, Path]:
    return models_here(Path.home(), os.environ) if address.serves_one_person() else {}


def _from_hub() -> dict[str, Path]:
    """What readers have fetched, and where they may open it, what is in the cache of the hub."""
    each = map(hub_models, reversed(_hub_caches()))
    return {name: path for found in each for name, path in found.items()}


def _hub_caches() -> tuple[Path, ...]:
    """The hub's own, where readers may open what is in it, before that of this server."""
    own = _root(HUB)
    if address.serves_one_person():
        return hub_cache(Path.home(), os.environ), own
    return (own,)


def _door() -> hub.Door:
    """One person has the hub's own cache and account; a class a cache of the server, as anybody."""
    if address.is_alone():
        return hub.Door(hub_cache(Path.home(), os.environ))
    return hub.Door(_root(HUB), has_account=False)


def take_in(files: Sequence[Upload]) -> str:
    """Keep and open what was uploaded; returns its name.

    Raises `RefusedError`, or another `ConfigError` where the files were not even opened.
    """
    named = _checked(files)
    root = _root(UPLOAD)
    _make_room(sum(file.getbuffer().nbytes for file in named.values()))
    folder = Path(tempfile.mkdtemp(prefix=".", dir=root))
    try:
        for name, file in named.items():
            (folder / name).write_bytes(file.getbuffer())
        found = _of_folder(folder)
        if found.faults:
            raise RefusedError(found)
        name = f"{found.family[:MOST_NAME]}-{found.short_digest}"
        if not (root / name).exists():
            folder.rename(root / name)
        return UPLOAD + name
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def on_the_hub(name: str) -> hub.HubModel:
    """What there is to fetch, refused where it could not be opened. Raises `ConfigError`."""
    found = hub.hub_model(name, _door())
    if found.n_opened > _most_bytes():
        raise _too_large(name, found.n_opened)
    return found


def fetch(model: hub.HubModel, said: Callable[[int], None]) -> None:
    """Bring a model from the hub; `said` hears how many bytes are there. Raises `ConfigError`.

    In the cache of a server that serves others, the oldest makes room as it does for uploads.
    """
    door = _door()
    with hub.only_one(door):
        if door.has_account:
            hub.fetch(model, door, said)
            return
        folder = folder_of(door.cache, model.name)
        _make_room(model.n_bytes, beside=folder)
        hub.fetch(model, door, said)
        folder.touch()  # the newest
        _make_room(0)  # as others may have uploaded meanwhile


def _split(preset: str) -> tuple[str, str]:
    kind, colon, name = preset.partition(":")
    return kind + colon, name


def _most_bytes() -> int:
    """Of one model; the other half is for what its passes show."""
    return settings.memory_budget() // 2


def _roots(kind: str) -> tuple[Path, ...]:
    return settings.folders() if kind == FOLDER else (_root(kind),)


def _root(kind: str) -> Path:
    found = Path(settings.uploads() or _temporary().name) / kind.removesuffix(":")
    found.mkdir(parents=True, exist_ok=True)
    return found


@once
def _temporary() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="blockscope-", ignore_cleanup_errors=True)


class _Key(NamedTuple):
    """A folder as it is now, and how much a model may take: with other files it is another one."""

    path: str
    stamp: Stamp
    most_bytes: int


@once
def _opened() -> Shelf[_Key, Brought]:
    """What was brought, mapped once for all readers."""
    return weighed(_open, _bytes, 1)


def _of_folder(folder: Path) -> Brought:
    stamp = places.stamp(folder)
    if stamp is None:
        return Brought(faults=UNREADABLE)
    return _opened().get(_Key(str(folder), stamp, _most_bytes()))


def _open(key: _Key) -> Brought:
    folder = Path(key.path)
    try:
        weights = [*folder.glob("*.safetensors")]
        if not (folder / CONFIG).exists() and len(weights) == 1:
            path = weights[0]
            if path.stat().st_size > _most_bytes():
                raise _too_large(path.name, path.stat().st_size)
            file = read_model_file(weights[0].read_bytes())
            return Brought(places.fingerprint(folder), "blockscope", Learned.of_file(file))
        found = open_published(folder, budget=key.most_bytes)
        digest = places.fingerprint(folder)  # which reads all, so only of what fits
    except ConfigError as error:
        counted = read_config(folder) if error.faults[0].text == OVER_BUDGET else None
        faults = (*map(_with_setting, error.faults),)
        return Brought(ledger=_ledger(folder), faults=faults, counted=counted)
    except OSError:
        return Brought(faults=UNREADABLE)
    return Brought(digest, found.family, Learned.of_published(found), found.ledger)


def _too_large(name: str, n_bytes: int) -> ConfigError:
    text = N_(
        "{name} takes {need}, more than the {budget} allowed for one model here: half of "
        "BLOCKSCOPE_MEMORY_GIB, which is {gib}. Set BLOCKSCOPE_MEMORY_GIB to {enough} or more "
        "on the server, or choose a smaller model"
    )
    need, budget = bytes_text(n_bytes), bytes_text(_most_bytes())
    said = {"name": name, "need": need, "budget": budget, **_setting(n_bytes)}
    return ConfigError([Fault(text, said)])


def _with_setting(fault: Fault) -> Fault:
    """The fault of too many bytes with the setting of the server that allows more."""
    n_bytes = fault.values.get("n_bytes")
    if fault.text != OVER_BUDGET or not isinstance(n_bytes, int):
        return fault
    text = N_(
        "The weights take {need} as {dtype}, more than the {budget} allowed for one model here: "
        "half of BLOCKSCOPE_MEMORY_GIB, which is {gib}. Set BLOCKSCOPE_MEMORY_GIB to {enough} or "
        "more on the server, or open a smaller model"
    )
    return Fault(text, {**fault.values, **_setting(n_bytes)})


def _setting(n_bytes: int) -> dict[str, str]:
    """The memory of the server, and what allows a model of so many bytes, in GiB."""
    enough = math.ceil(2 * n_bytes / settings.GIB)
    return {"gib": f"{settings.budget_gib():g}", "enough": str(enough)}


def _ledger(folder: Path) -> Ledger | None:
    """Of files that make no model, where it can be told."""
    try:
        return read_ledger(folder)
    except ConfigError:
        return None


def _bytes(found: Brought) -> int:
    return bytes_of(found.learned.tensors) if found.learned else 0


def _checked(files: Sequence[Upload]) -> dict[str, Upload]:
    """The files by name: those of a published folder, or one of ours; none leads elsewhere."""
    named: dict[str, Upload] = {}
    faults = []
    for file in files[:MOST_FILES]:
        name = file.name
        said = {"name": ascii(name[:80])}
        is_plain = name == Path(name).name and "\\" not in name and name.isprintable()
        if not is_plain or name.startswith(".") or len(name) > 200:
            faults.append(Fault(N_("{name} is not a valid file name"), said))
        elif name not in places.TABLES and not name.endswith(WEIGHTS):
            text = N_("{name} cannot be read here: upload {names}, or .safetensors or .gguf files")
            faults.append(Fault(text, {**said, "names": ", ".join(places.TABLES)}))
        elif name in named:
            faults.append(Fault(N_("{name} was uploaded twice"), said))
        named[name] = file
    if not faults and not any(name.endswith(WEIGHTS) for name in named):
        faults.append(Fault(N_("The files include no .safetensors or .gguf file: add the weights")))
    if faults:
        raise ConfigError(faults)
    return named


def _make_room(n_bytes: int, *, beside: Path | None = None) -> None:
    """Forget what came first, where there is no room for more. Raises `ConfigError`.

    `beside`: the folder of what comes, of which a part may be here.
    """
    most = settings.uploads_bytes()
    if n_bytes > most:
        text = N_(
            "The files take {need}, more than the {budget} reserved for uploads on this server"
        )
        said = {"need": bytes_text(n_bytes), "budget": bytes_text(most)}
        raise ConfigError([Fault(text, said)])
    found = (*_root(UPLOAD).glob("[!.]*"), *_root(HUB).glob("[!.]*"))  # with a dot: still comes
    kept = (folder for folder in found if folder.is_dir() and folder != beside)
    by_age = sorted(kept, key=lambda folder: folder.stat().st_mtime)
    sizes = {folder: _bytes_below(folder) for folder in by_age}
    while sizes and sum(sizes.values()) + n_bytes > most:
        oldest = next(iter(sizes))
        del sizes[oldest]
        shutil.rmtree(oldest, ignore_errors=True)


def _bytes_below(folder: Path) -> int:
    """Of all files; what links lead to counts where it lies."""
    files = (each for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
    return sum(each.stat().st_size for each in files)


UNREADABLE = (Fault(N_("The folder cannot be read: ask the server administrator")),)

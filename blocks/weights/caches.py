"""Models that other programs have brought to this machine: opened where they lie, never copied.

The hub's library, Ollama, LM Studio and llama.cpp each keep their files in a folder of their own,
by a layout of their own; nothing outside of these folders is named here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from blocks.weights.folder import CONFIG, GGUF

MOST_MODELS, MOST_BYTES = 200, 2**20  # in all; of a small file that tells where another lies
LONGEST_NAME = 200  # of a model on the hub: its owner and itself have 96 at most
REVISION = re.compile(r"[0-9a-f]{40}", re.ASCII)
DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
OF_MODEL = "application/vnd.ollama.image.model"
Found = Iterator[tuple[str, Path]]


def models_here(home: Path, environment: Mapping[str, str]) -> dict[str, Path]:
    """Each model by the name of its program and its own, such as "ollama/llama3.2:1b".

    `home`: of the user; `environment`: variables that move a cache elsewhere.
    """
    found = (
        *_of_ollama(Path(environment.get("OLLAMA_MODELS") or home / ".ollama" / "models")),
        *_of_files("lmstudio", home / ".lmstudio" / "models", "*/*/*" + GGUF),
        *_of_files(
            "llama.cpp",
            Path(environment.get("LLAMA_CACHE") or home / ".cache" / "llama.cpp"),
            "*" + GGUF,
        ),
    )
    return dict(found[:MOST_MODELS])


def hub_cache(home: Path, environment: Mapping[str, str]) -> Path:
    """Where `huggingface_hub` keeps what it fetches, unless it is told otherwise."""
    start = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    all_of_it = Path(environment.get("HF_HOME") or start / "huggingface")
    return Path(environment.get("HF_HUB_CACHE") or all_of_it / "hub")


def folder_of(cache: Path, name: str) -> Path:
    """Where such a cache keeps a model of the hub."""
    return cache / f"models--{name.replace('/', '--')}"


def hub_models(cache: Path) -> dict[str, Path]:
    """What such a cache holds, by its name on the hub: folders, and GGUF files (owner/name/file).

    Of each model the revision that the hub calls main, or else a pull request that has weights.
    """
    found = (each for model in sorted(cache.glob("models--*")) for each in _of_hub(model))
    return dict([*found][:MOST_MODELS])


def hub_model(cache: Path, name: str) -> dict[str, Path]:
    """The same of one model; the others are not looked at. Nothing where the name is odd."""
    is_plain = name.isprintable() and "\\" not in name and len(name) <= LONGEST_NAME
    return dict(_of_hub(folder_of(cache, name))) if is_plain else {}


def _of_hub(model: Path) -> Found:
    refs = model / "refs"
    for ref in (refs / "main", *sorted((refs / "pr").glob("*"))):
        if found := [*_of_ref(model, ref)]:
            yield from found
            return


def _of_ref(model: Path, ref: Path) -> Found:
    revision = _text(ref).strip()
    snapshot = model / "snapshots" / revision
    if not REVISION.fullmatch(revision) or not snapshot.is_dir():
        return
    name = model.name.removeprefix("models--").replace("--", "/")
    if (snapshot / CONFIG).is_file() and any(snapshot.glob("*.safetensors")):
        yield name, snapshot
    for file in sorted(snapshot.glob("*" + GGUF)):
        yield f"{name}/{file.name}", file


def _of_ollama(root: Path) -> Found:
    """A manifest for each tag names the layers of a model; one of them is a GGUF file."""
    for manifest in sorted((root / "manifests").glob("*/*/*/*")):
        file = root / "blobs" / _digest(_text(manifest)).replace(":", "-")
        owner, model, tag = manifest.parts[-3:]
        if file.is_file():
            start = "" if owner == "library" else f"{owner}/"
            yield f"ollama/{start}{model}:{tag}", file


def _digest(text: str) -> str:
    """That of the weights in a manifest; "none" where there is none."""
    try:
        layers = json.loads(text)["layers"]
        found = [each["digest"] for each in layers if each["mediaType"] == OF_MODEL]
        return found[0] if DIGEST.fullmatch(found[0]) else "none"
    except (ValueError, TypeError, LookupError, RecursionError):
        return "none"


def _of_files(program: str, root: Path, pattern: str) -> Found:
    for file in sorted(root.glob(pattern)):
        if file.is_file() and not file.is_symlink():
            yield f"{program}/{file.relative_to(root).as_posix()}", file


def _text(path: Path) -> str:
    """A small text; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return ""

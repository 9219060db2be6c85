"""Where models lie on this machine: folders and GGUF files below the folders that are allowed."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from blocks.weights.folder import (
    CONFIG,
    GENERATION,
    GGUF,
    INDEX,
    SOURCE,
    TEMPLATE,
    TOKENIZER,
    TOKENIZER_CONFIG,
    VOCABULARY,
    inside,
)

MOST_FOLDERS, DEEPEST = 200, 3
OF_MARIAN = (SOURCE, VOCABULARY)
TABLES = (CONFIG, TOKENIZER, INDEX, TOKENIZER_CONFIG, TEMPLATE, GENERATION, *OF_MARIAN)
Stamp = tuple[tuple[str, int, int], ...]


def listed(roots: Sequence[Path]) -> dict[str, Path]:
    """The folders with a config.json and the GGUF files below these, by their path from there.

    Links are not followed. Where two roots have the same, the first.
    """
    found: dict[str, Path] = {}
    for root in roots:
        for model in _models(root, DEEPEST):
            found.setdefault(model.relative_to(root).as_posix(), model)
            if len(found) >= MOST_FOLDERS:
                return found
    return found


def below(roots: Sequence[Path], name: str) -> Path | None:
    """The model of this name below one of the roots; None for whatever leads elsewhere."""
    parts = name.split("/")
    if len(parts) > DEEPEST or not all(map(_is_plain, parts)):
        return None
    return next((found for root in roots if (found := _reached(root, parts)) is not None), None)


def stamp(model: Path) -> Stamp | None:
    """Name, size and time of change of all that is read; None where it cannot be."""
    try:
        found = [(path.name, path.stat()) for path in _read(model)]
    except OSError:
        return None
    return tuple((name, each.st_size, each.st_mtime_ns) for name, each in found)


def fingerprint(model: Path) -> str:
    """SHA-256 over all that is read: the same for the same files, wherever they lie.

    Raises `ConfigError` where a file leads elsewhere.
    """
    whole = hashlib.sha256()
    for path in _read(model):
        with inside(path.parent, path.name).open("rb") as file:
            whole.update(f"{path.name}\0".encode() + hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _models(root: Path, deepest: int) -> Iterator[Path]:
    try:
        entries = sorted(root.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink() or not _is_plain(entry.name):
            continue
        if _is_gguf(entry) or (entry / CONFIG).is_file():
            yield entry
        elif deepest > 1 and entry.is_dir():
            yield from _models(entry, deepest - 1)


def _reached(root: Path, parts: Sequence[str]) -> Path | None:
    found = root
    for part in parts:
        found = found / part
        if found.is_symlink() or not (found.is_dir() or _is_gguf(found)):
            return None
    return found


def _is_gguf(path: Path) -> bool:
    return path.suffix == GGUF and path.is_file()


def _is_plain(name: str) -> bool:
    """Whether this can be the name of a folder that is shown: no dot first, nothing odd."""
    is_odd = name.startswith(".") or os.sep in name or "\\" in name or "@" in name
    return bool(name) and len(name) <= 100 and name.isprintable() and not is_odd


def _read(model: Path) -> list[Path]:
    if model.is_file():
        return [model]
    tables = [model / name for name in TABLES if (model / name).exists()]
    return [*tables, *sorted(model.glob("*.safetensors")), *sorted(model.glob("*" + GGUF))]

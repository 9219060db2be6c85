"""Where models lie on this machine: folders below those that whoever serves allows."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from blocks.weights.folder import CONFIG, INDEX, TOKENIZER, inside

MOST_FOLDERS, DEEPEST = 200, 3
TABLES = (CONFIG, TOKENIZER, INDEX)
Stamp = tuple[tuple[str, int, int], ...]


def listed(roots: Sequence[Path]) -> dict[str, Path]:
    """The folders with a config.json below these, by their path from there; links not followed.

    Where two roots have the same, the first.
    """
    found: dict[str, Path] = {}
    for root in roots:
        for folder in _models(root, DEEPEST):
            found.setdefault(folder.relative_to(root).as_posix(), folder)
            if len(found) >= MOST_FOLDERS:
                return found
    return found


def below(roots: Sequence[Path], name: str) -> Path | None:
    """The folder of this name below one of the roots; None for whatever leads elsewhere."""
    parts = name.split("/")
    if len(parts) > DEEPEST or not all(map(_is_plain, parts)):
        return None
    return next((found for root in roots if (found := _reached(root, parts)) is not None), None)


def stamp(folder: Path) -> Stamp | None:
    """Name, size and time of change of all that is read; None where it cannot be."""
    try:
        found = [(path.name, path.stat()) for path in _read(folder)]
    except OSError:
        return None
    return tuple((name, each.st_size, each.st_mtime_ns) for name, each in found)


def fingerprint(folder: Path) -> str:
    """SHA-256 over all that is read: the same for the same files, wherever they lie.

    Raises `ConfigError` where a file leads elsewhere.
    """
    whole = hashlib.sha256()
    for path in _read(folder):
        with inside(folder, path.name).open("rb") as file:
            whole.update(f"{path.name}\0".encode() + hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def _models(root: Path, deepest: int) -> Iterator[Path]:
    try:
        entries = sorted(root.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink() or not entry.is_dir() or not _is_plain(entry.name):
            continue
        if (entry / CONFIG).is_file():
            yield entry
        elif deepest > 1:
            yield from _models(entry, deepest - 1)


def _reached(root: Path, parts: Sequence[str]) -> Path | None:
    folder = root
    for part in parts:
        folder = folder / part
        if folder.is_symlink() or not folder.is_dir():
            return None
    return folder


def _is_plain(name: str) -> bool:
    """Whether this can be the name of a folder that is shown: no dot first, nothing odd."""
    is_odd = name.startswith(".") or os.sep in name or "\\" in name or "@" in name
    return bool(name) and len(name) <= 100 and name.isprintable() and not is_odd


def _read(folder: Path) -> list[Path]:
    tables = [folder / name for name in TABLES if (folder / name).exists()]
    return [*tables, *sorted(folder.glob("*.safetensors"))]

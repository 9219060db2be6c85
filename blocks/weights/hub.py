"""Models from the Hugging Face hub by name: what there is, how large, and its files.

`huggingface_hub` need not be installed; nothing is asked of the network before a reader asks.
"""

import importlib
import importlib.util
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blocks.model.faults import N_
from blocks.weights.folder import refusal
from blocks.weights.places import TABLES

HUB = "https://huggingface.co"
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?", re.ASCII)
CHUNK, SECONDS = 2**20, 30.0


@dataclass(frozen=True)
class HubModel:
    """What the hub holds of a model, of all that is read here: (name, bytes) of each file.

    `revision`: the commit; the files stay the same.
    """

    name: str
    revision: str
    files: tuple[tuple[str, int], ...]

    @property
    def n_bytes(self) -> int:
        """The number of bytes to fetch."""
        return sum(size for _name, size in self.files)


def is_installed() -> bool:
    """Whether the library that talks to the hub is there."""
    return importlib.util.find_spec("huggingface_hub") is not None


def hub_model(name: str, *, endpoint: str = HUB) -> HubModel:
    """What the hub holds under this name. Raises `ConfigError`."""
    if not NAME.fullmatch(name) or ".." in name:
        raise refusal(
            N_("{name} is not the name of a model on the hub: enter owner/model"), name=name
        )
    if not is_installed():
        text = N_("The hub needs a library that is not installed: pip install huggingface_hub")
        raise refusal(text)
    hub = importlib.import_module("huggingface_hub")
    try:
        found = hub.HfApi(endpoint=endpoint).model_info(name, files_metadata=True, timeout=SECONDS)
    except Exception as error:  # of the library, of what it talks with, of the network
        text = N_("The hub did not return {name} ({why}): check the name and the network")
        raise refusal(text, name=name, why=type(error).__name__) from None
    sizes = {each.rfilename: int(each.size or 0) for each in found.siblings or ()}
    return HubModel(name, str(found.sha), tuple(sorted(_wanted(name, sizes).items())))


def fetch(model: HubModel, target: Path, *, endpoint: str = HUB) -> Iterator[int]:
    """Bring the files into a folder, whole or not at all; yields the bytes that have come.

    Whoever stops asking leaves nothing behind. Raises `ConfigError`.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial, n_bytes = Path(tempfile.mkdtemp(prefix=".", dir=target.parent)), 0
    try:
        for name, size in model.files:
            with (partial / name).open("wb") as file:
                for chunk in _chunks(model, name, endpoint):
                    n_bytes += file.write(chunk)
                    yield n_bytes
            if (partial / name).stat().st_size != size:
                raise refusal(N_("{name} arrived incomplete from the hub: try again"), name=name)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _chunks(model: HubModel, name: str, endpoint: str) -> Iterator[bytes]:
    hub = importlib.import_module("huggingface_hub")
    url = hub.hf_hub_url(model.name, name, revision=model.revision, endpoint=endpoint)
    session: Any = hub.utils.get_session()
    try:
        headers = hub.utils.build_hf_headers()
        with session.stream("GET", url, headers=headers, follow_redirects=True) as answer:
            answer.raise_for_status()
            yield from answer.iter_bytes(CHUNK)
    except GeneratorExit:
        raise
    except Exception as error:
        text = N_("{name} could not be fetched from the hub ({why}): try again")
        raise refusal(text, name=name, why=type(error).__name__) from None


def _wanted(name: str, sizes: dict[str, int]) -> dict[str, int]:
    """Of all files of a model those that are read here; pickles and copies stay where they are."""
    weights = {each: size for each, size in sizes.items() if _is_weights(each)}
    whole = {each: size for each, size in weights.items() if each == "model.safetensors"}
    if not weights:
        text = N_("{name} has no safetensors files on the hub, and no other format is opened")
        raise refusal(text, name=name)
    return {each: sizes[each] for each in TABLES if each in sizes} | (whole or weights)


def _is_weights(name: str) -> bool:
    return "/" not in name and name.startswith("model") and name.endswith(".safetensors")

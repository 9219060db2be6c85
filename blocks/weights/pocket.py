"""The small trained models that ship with Blockscope; `make pocket` retrains them."""

from functools import lru_cache

from blocks.model.faults import N_, UnknownNameError, unknown_fault
from blocks.model.shipped import shipped
from blocks.weights.model_file import ModelFile, read_model_file

FOLDER = shipped("models")


@lru_cache(maxsize=1)
def pocket_names() -> tuple[str, ...]:
    """Names of the models that are here; the folder is listed once."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.safetensors")))


@lru_cache(maxsize=8)
def pocket(name: str) -> ModelFile:
    """One of them, read once. Raises `UnknownNameError`."""
    if name not in pocket_names():
        text = N_("No model called {name} ships with Blockscope: the nearest names are {names}")
        raise UnknownNameError([unknown_fault(text, name, pocket_names())])
    return read_model_file((FOLDER / f"{name}.safetensors").read_bytes())

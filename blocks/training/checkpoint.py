"""A training on disk: written whole or not at all, and resumed to the last bit."""

import errno
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor

from blocks.model.faults import N_, ConfigError, Fault
from blocks.training.spec import TrainingSpec

MODEL, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"
MAPS, MAPS_OPTIMIZER = "maps.safetensors", "maps-optimizer.safetensors"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A training after `step` updates, all on the CPU.

    Every random draw has its own generator, made from the seed and the step, so no random state
    needs to be kept. `maps` are what a student learns beside its own weights to meet its teacher.
    """

    spec: TrainingSpec
    step: int
    seconds: float
    weights: Mapping[str, Tensor]
    optimizer: Mapping[str, Tensor]
    maps: Mapping[str, Tensor] = field(default_factory=dict)
    maps_optimizer: Mapping[str, Tensor] = field(default_factory=dict)


def save(checkpoint: Checkpoint, folder: Path) -> None:
    """Write model.safetensors, optimizer.safetensors and state.json into `folder`, and maps.

    They are written beside it first and renamed then; where that fails, the checkpoint of before
    stays whole and a `ConfigError` says why.
    """
    new = folder.with_name(f".{folder.name}.{uuid4().hex}")
    try:
        _write(checkpoint, new)
        _exchange(folder, new)
    except OSError as error:
        raise ConfigError([_write_fault(folder, error)]) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def load(folder: Path) -> Checkpoint:
    """Read what `save` has written; `ConfigError` where there is none or it is damaged."""
    present = folder if folder.exists() else _previous(folder)
    try:
        state = json.loads((present / STATE).read_text(encoding="utf-8"))
        return Checkpoint(
            spec=TrainingSpec.from_plain(state["spec"]),
            step=int(state["step"]),
            seconds=float(state["seconds"]),
            weights=safetensors.load_file(present / MODEL),
            optimizer=safetensors.load_file(present / OPTIMIZER),
            maps=_if_there(present / MAPS),
            maps_optimizer=_if_there(present / MAPS_OPTIMIZER),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        text = N_("No checkpoint can be read from {folder} ({error}): start a new run")
        values = {"folder": folder, "error": f"{type(error).__name__}: {error}"}
        raise ConfigError([Fault(text, values)]) from error


def _if_there(file: Path) -> dict[str, Tensor]:
    return safetensors.load_file(file) if file.exists() else {}


def _write(checkpoint: Checkpoint, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / MODEL).write_bytes(safetensors.save(dict(checkpoint.weights)))
    (folder / OPTIMIZER).write_bytes(safetensors.save(dict(checkpoint.optimizer)))
    for name, maps in ((MAPS, checkpoint.maps), (MAPS_OPTIMIZER, checkpoint.maps_optimizer)):
        if maps:
            (folder / name).write_bytes(safetensors.save(dict(maps)))
    state: dict[str, Any] = {
        "step": checkpoint.step,
        "seconds": checkpoint.seconds,
        "spec": checkpoint.spec.plain(),
    }
    (folder / STATE).write_text(json.dumps(state, indent=2), encoding="utf-8")


def _exchange(folder: Path, new: Path) -> None:
    """Put `new` in the place of `folder`; between the two renames `load` finds the previous."""
    shutil.rmtree(_previous(folder), ignore_errors=True)
    if folder.exists():
        folder.replace(_previous(folder))
    new.replace(folder)
    shutil.rmtree(_previous(folder), ignore_errors=True)


def _previous(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.previous")


def _write_fault(folder: Path, error: OSError) -> Fault:
    values = {"folder": folder, "error": error.strerror or str(error)}
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Fault(
            N_("The disk is full, and nothing was saved in {folder}: free some space"), values
        )
    return Fault(N_("Nothing could be saved in {folder} ({error}): choose another folder"), values)

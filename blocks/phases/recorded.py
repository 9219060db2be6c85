"""Finished clocks that ship with us, numbers alone: `python -m blocks.phases.recorded` makes them.

The same processor, thread count and version of PyTorch give the same numbers; elsewhere a jump may
come some steps earlier or later.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from safetensors import numpy as safetensors

from blocks.model.shipped import shipped
from blocks.phases.clock import Change, Clock, Kept
from blocks.phases.hindsight import Hindsight
from blocks.phases.setups import SETUPS
from blocks.phases.superposition import Dictionary, DictionaryKept, Toy, ToyKept
from blocks.training.tasks import TaskKind

FILE = shipped("runs", "phases.safetensors")
SPARSITIES = (0.0, 0.7, 0.9, 0.97)
N_THREADS = 1
DECAY_ENDS_AT = 400
HEAD_LEAVES_AT = 150
PREVIOUS_TOKEN_HEAD = 1  # of the first layer
Series = Clock | Toy | Dictionary
Arrays = dict[str, np.ndarray[Any, Any]]


def series() -> dict[str, Series]:
    """All that ship, by the name in the file."""
    return {
        **{str(kind): Clock(kind=kind) for kind in SETUPS},
        "without decay": Clock(
            kind=TaskKind.MODULAR_ADDITION, change=Change(step=DECAY_ENDS_AT, weight_decay=0.0)
        ),
        "without a head": Clock(
            kind=TaskKind.INDUCTION, change=Change(step=HEAD_LEAVES_AT, head=PREVIOUS_TOKEN_HEAD)
        ),
        **{f"toy {each}": Toy(sparsity=each) for each in SPARSITIES},
        "dictionary": Dictionary(),
    }


def recorded(wanted: Series) -> tuple[Any, ...]:
    """All values of a series, where it ships; else none."""
    names = [name for name, each in series().items() if each == wanted]
    found = _read(names[0], _all()) if names and FILE.exists() else ()
    is_bare = len(found) == wanted.n_steps - 1  # it was looked back at, and nothing was to be said
    return (*found, Hindsight({})) if is_bare else found


@lru_cache(maxsize=1)
def _all() -> Mapping[str, Any]:
    return safetensors.load_file(FILE)


def _read(name: str, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
    own = {
        key.partition("/")[2]: each for key, each in arrays.items() if key.startswith(name + "/")
    }
    if not own:
        return ()
    back = {key.removeprefix("back."): each for key, each in own.items() if key.startswith("back.")}
    kind = _kind(own)
    columns = [own[field.name] for field in fields(kind)]
    kept = tuple(kind(*map(_plain, row)) for row in zip(*columns, strict=True))
    return (*kept, Hindsight(back)) if back else kept


def _kind(own: Mapping[str, Any]) -> type[Any]:
    """Whose fields these are."""
    return next(
        kind
        for kind in (Kept, ToyKept, DictionaryKept)
        if {field.name for field in fields(kind)} <= {*own}
    )


def _plain(value: Any) -> Any:
    return value.item() if np.ndim(value) == 0 else value.astype(np.float32)


def written(name: str, found: Sequence[Any]) -> Arrays:
    """What the file holds of a series; of what is drawn three digits, of losses seven."""
    kept = [each for each in found if not isinstance(each, Hindsight)]
    columns = {
        field.name: np.stack([np.asarray(getattr(each, field.name)) for each in kept])
        for field in fields(kept[0])
    }
    back = {f"back.{key}": each for last in found[len(kept) :] for key, each in last.arrays.items()}
    return {f"{name}/{key}": _narrow(each) for key, each in (columns | back).items()}


def _narrow(values: Any) -> Any:
    is_drawn = values.ndim > 1
    kind = np.int32 if values.dtype.kind == "i" else np.float16 if is_drawn else np.float32
    return np.ascontiguousarray(values.astype(kind))


def trained() -> Iterator[Arrays]:
    """Train all, one after the other."""
    for name, each in series().items():
        found = [*each.results(())]
        print(name, found[-2], flush=True)
        yield written(name, found)


def main() -> None:
    """Train all, and put them into one file."""
    torch.set_num_threads(N_THREADS)
    safetensors.save_file({name: each for part in trained() for name, each in part.items()}, FILE)


if __name__ == "__main__":
    main()

"""Where a matrix stands in its model, by its name."""

import re
from collections.abc import Iterable

STANDS = re.compile(r"((?:\w+\.)?layers|mtp)\.(\d+)\.(?:layer\.)?(.+)")


def place_of(matrix: str) -> dict[str, object]:
    """Where a matrix stands: matrix, stack, layer (-1 outside of all), part.

    Modules that predict further ahead (`mtp`) are a stack of their own, a layer each.
    """
    path = path_of(matrix)
    found = STANDS.fullmatch(path)
    stack, layer, part = found.groups() if found else ("", "-1", path)
    return {
        "matrix": matrix,
        "stack": stack.removesuffix("layers").rstrip("."),
        "layer": int(layer),
        "part": part,
    }


def path_of(matrix: str) -> str:
    """The module whose weight it is."""
    return matrix.rpartition(".")[0]


def layer_path(matrix: str) -> str:
    """The layer that it stands in, as a module: decoder.layers.0; outside of all, its own."""
    found = STANDS.fullmatch(path := path_of(matrix))
    return f"{found[1]}.{found[2]}" if found else path


def stands_in(matrix: str, modules: Iterable[str]) -> bool:
    """Whether it belongs to one of these modules, or to a part of one."""
    return any(matrix.startswith(f"{module}.") for module in modules)

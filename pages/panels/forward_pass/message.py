"""The scene as it is sent to the renderer (assets/forward_pass): four bytes with the length of the
head, the head as JSON, the steps of all rows as float32, and a byte for each number.

The head:

    tokens    {stack: [label, …]}    pinned    {stack: row}    sinks    [row, …]    heads    n
    moves     [{path, stage, kind, part, reads, layer, stack, is_stream, title, short, says}, …]
    matrices  {path: {shape: [heads, rows, columns], of, rows, columns, strong, steps_at, codes_at}}
    readings  the same, of every layer (blocks/inspection/scene_layers.py)
    opened    [start, …]: the layers whose inside is sent
    layers    [{start, title, number}, …]
    ends      [{label, logit, score, probability, percent}, …], the likeliest first
    words, colors, place, …
"""

import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from blocks.inspection.scene import Scene
from blocks.inspection.scene_matrix import Matrix

ALIGNED = 4  # bytes: where float32 may begin


class Packed(NamedTuple):
    """Matrices as they stand in the head, and their numbers."""

    matrices: dict[str, Any]
    readings: dict[str, Any]
    steps: bytes
    codes: bytes


def packed(scene: Scene) -> Packed:
    """All numbers of a scene, one after the other."""
    both = (scene.matrices, scene.readings)
    every = [matrix for group in both for matrix in group.values()]
    steps = b"".join(np.ascontiguousarray(m.steps, np.float32).tobytes() for m in every)
    codes = b"".join(np.ascontiguousarray(m.codes).tobytes() for m in every)
    places = iter(_places(every))
    matrices, readings = ({path: next(places) for path in group} for group in both)
    return Packed(matrices, readings, steps, codes)


def _places(matrices: Iterable[Matrix]) -> Iterable[dict[str, Any]]:
    """Each with where its numbers begin."""
    steps_at = codes_at = 0
    for matrix in matrices:
        yield {
            "shape": matrix.codes.shape,
            "of": matrix.of,
            **({"first": matrix.first} if matrix.first else {}),
            "rows": matrix.rows,
            "columns": matrix.columns,
            "strong": float(f"{matrix.strong:.6g}"),
            "steps_at": steps_at,
            "codes_at": codes_at,
        }
        steps_at += matrix.steps.size
        codes_at += matrix.codes.size


def message(numbers: Packed, head: Mapping[str, Any]) -> bytes:
    """Head and numbers in one."""
    whole = {
        "matrices": numbers.matrices,
        "readings": numbers.readings,
        "n_steps": len(numbers.steps) // 4,
        **head,
    }
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNED)
    return struct.pack("<I", len(text)) + text + numbers.steps + numbers.codes

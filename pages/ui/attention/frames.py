"""The steps of one head as matrices with the reader's words, cut to what can be read."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from blocks.inspection.head_steps import HeadSteps
from blocks.model.faults import N_
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import link
from pages.ui.attention import measured
from pages.ui.attention.fields import STEPS
from pages.ui.language import _, current_language

MOST_TOKENS, MOST_FEATURES = 32, 64
MOST_LINES = 64  # tokens in pictures that are long and not square
SYMBOLS = {
    "q": "Q",
    "k": "K",
    "v": "V",
    "raw": "QKᵀ",
    "scaled": "÷ √d",
    "biased": "ALiBi",
    "masked": N_("mask"),
    "pattern": "softmax",
    "mixed": "· V",
    "written": "· W_O",
    "out_weight": "W_O",
}
TITLES = {
    "q": N_("Queries: what each token looks for"),
    "k": N_("Keys: what each token can be found by"),
    "v": N_("Values: what each token passes on"),
    "raw": N_("Scores: the dot product of each query with each key"),
    "scaled": N_("Scaled dot products: scores ÷ √d_head"),
    "biased": N_("Scores lowered by distance (ALiBi)"),
    "masked": N_("Scores that the mask lets through"),
    "pattern": N_("Weights: softmax over each row"),
    "mixed": N_("Weighted sum of the values"),
    "written": N_("Output projection: what the head adds to the stream"),
    "out_weight": N_("Output projection: the share of this head"),
}
STEP_TITLES = {
    "qkv": N_("Queries, keys, values"),
    "scores": N_("Scores q · k"),
    "scaled": N_("Divide by √d_head"),
    "bias": N_("Add the ALiBi bias"),
    "mask": N_("Apply the mask"),
    "softmax": N_("Softmax over each row"),
    "mix": N_("Weights times values"),
    "write": N_("Output projection"),
}
FRAMES_OF = {
    "qkv": ("q", "k", "v"),
    "scores": ("raw",),
    "scaled": ("scaled",),
    "bias": ("biased",),
    "mask": ("masked",),
    "softmax": ("pattern",),
    "mix": ("mixed",),
    "write": ("written",),
}


class Window(NamedTuple):
    """The tokens that are drawn: all where they can be read, else those around the pinned one."""

    first: int
    end: int

    def __contains__(self, token: object) -> bool:
        return isinstance(token, int) and self.first <= token < self.end

    def inside(self, token: int) -> int | None:
        """Its number within the window; None where it is not drawn."""
        return token - self.first if token in self else None


def window(run: Run, token: int, most: int = MOST_TOKENS) -> Window:
    """So many tokens around the pinned one."""
    n = len(run.input.labels)
    first = max(0, min(token - most // 2, n - most))
    return Window(first, min(n, first + most))


def steps(run: Run) -> tuple[str, ...]:
    """The steps that this model takes."""
    is_alibi = run.config.position.position_kind is PositionKind.ALIBI
    return tuple(step for step in STEPS if is_alibi or step != "bias")


def current_step(run: Run) -> str:
    """The step that is shown large: the reader's where this model takes it."""
    chosen = link.value("attention_step")
    return chosen if chosen in steps(run) else "scaled"


def chosen_key(run: Run, layer: int, head: int, token: int) -> int:
    """The key that is written out: the reader's, or the one that the pinned token reads most."""
    chosen = link.value("key")
    if chosen is not None:
        return min(chosen, len(run.input.labels) - 1)
    return int(np.nan_to_num(measured.head(run, layer, head).pattern[token]).argmax())


def chosen_feature(run: Run, step: str) -> int:
    """The column that is written out in the last two steps."""
    width = run.config.d_model if step == "write" else run.config.d_head
    return min(link.value("feature"), width - 1)


Frame = dict[str, Any]  # the fields of `pages.figures.matrix.Matrix`


def matrix(run: Run, layer: int, head: int, token: int, name: str) -> Frame:
    """One matrix of the head, cut to the window and to the features that are drawn."""
    return _matrices(run, layer, head, window(run, token), current_language())[name]


def strip_frames(run: Run, layer: int, head: int, token: int) -> list[tuple[str, Frame]]:
    """All of them in the order of the steps: (step, matrix)."""
    return [
        (step, matrix(run, layer, head, token, name))
        for step in steps(run)
        for name in FRAMES_OF[step]
    ]


@lru_cache(maxsize=16)
def _matrices(run: Run, layer: int, head: int, shown: Window, language: str) -> dict[str, Frame]:
    found = measured.head(run, layer, head)
    rows = slice(*shown)
    tokens = run.input.labels[rows]
    made = {}
    for name in SYMBOLS.keys() - {"out_weight"}:
        values = getattr(found, name)
        if values is None:
            continue
        is_square = name in ("raw", "scaled", "biased", "masked", "pattern")
        values = values[rows, rows] if is_square else values[rows, :MOST_FEATURES]
        columns = tokens if is_square else _features(values.shape[1])
        made[name] = _matrix(name, values, tokens, columns)
    made["out_weight"] = _out_weight(found)
    return made


def _matrix(name: str, values: np.ndarray, rows, columns) -> Frame:
    return {
        "name": name,
        "symbol": _(SYMBOLS[name]),
        "title": _(TITLES[name]),
        "values": values,
        "rows": rows,
        "columns": columns,
        "is_weights": name == "pattern",
    }


def _out_weight(found: HeadSteps) -> Frame:
    values = found.out_weight[:MOST_FEATURES, :MOST_FEATURES]
    return _matrix("out_weight", values, *(_features(n) for n in values.shape))


def _features(n: int) -> tuple[str, ...]:
    return tuple(f"[{i}]" for i in range(n))


def inside(run: Run, token: int, key: int, feature: int) -> tuple[int, int | None, int | None]:
    """Query, key and feature counted within what is drawn; None where one is not drawn."""
    shown = window(run, token)
    return token - shown.first, shown.inside(key), feature if feature < MOST_FEATURES else None

"""All that can be compared, as points on two axes: what is kept, B, and what was published."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from blocks import ModelConfig
from blocks.cost.pareto import pareto_front
from blocks.cost.summary import Summary, summarise
from blocks.model.faults import N_
from blocks.observe.run import Run
from pages.figures.theme import token_label
from pages.panels.cost import shared as cost_shared
from pages.ui import link, starts
from pages.ui.compare import beside, kept
from pages.ui.language import _

MEASURES = {
    "parameters": N_("parameters"),
    "active_parameters": N_("active parameters"),
    "read_flops": N_("FLOPs per token read"),
    "decode_flops": N_("FLOPs per token generated"),
    "weight_bytes": N_("bytes of the weights"),
    "cache_bytes": N_("KV cache, bytes per token"),
    "memory": N_("memory for inference, bytes"),
    "training_flops": N_("FLOPs to train on 20 tokens per parameter"),
    "d_model": "d_model",
    "n_layers": "n_layers",
}

OF_TEXT = ("read_flops", "decode_flops", "memory", "training_flops")

# Numbers that pass are 16 bits where weights are fewer.
CACHED_FORMATS = ("float32", "bfloat16", "float16")

BYTES = ("weight_bytes", "cache_bytes", "memory")

FLOPS = ("read_flops", "decode_flops", "training_flops")


@lru_cache(maxsize=256)
def summary(config: ModelConfig, n: int, weight_format: str) -> Summary:
    """The numbers by which one is chosen, bytes in this number format."""
    return summarise(config, n=n, dtype=weight_format)


class Candidate(NamedTuple):
    """A configuration that takes part; `key` says what a click on it sets."""

    key: str
    name: str
    kind: str
    config: ModelConfig


class Axes(NamedTuple):
    """What stands on which axis, where on it is better, and in what bytes are counted."""

    x: str
    y: str
    x_more: bool
    y_more: bool
    weight_format: str


def weight_format() -> str:
    """The number format in which bytes are counted, here and on the page of costs."""
    return link.value("weight_format")


def axes() -> Axes:
    """As the reader has set them."""
    return Axes(
        link.value("tradeoff_x"),
        link.value("tradeoff_y"),
        link.value("tradeoff_x_better") == "more",
        link.value("tradeoff_y_better") == "more",
        weight_format(),
    )


def candidates(run: Run) -> tuple[Candidate, ...]:
    """B, all that are kept, and the published ones that are neither."""
    found = [Candidate("b", _("B · now"), "b", run.config)]
    chosen = kept.a()
    for i, entry in enumerate(kept.all_kept()):
        its = beside.run_as_it_is(entry)
        kind = "a" if entry == chosen else "kept"
        name = f"A · {entry.name}" if kind == "a" else entry.name
        found.append(Candidate(f"kept:{i}", name, kind, its.config))
    if link.value("with_presets"):
        found += _published({each.config for each in found})
    return tuple(found)


def _published(there: set[ModelConfig]) -> list[Candidate]:
    known = ((name, starts.start(name)) for name in starts.names_to_count())
    return [
        Candidate(f"preset:{name}", _(start.title), "preset", start.config)
        for name, start in known
        if start.config not in there
    ]


def points(found: tuple[Candidate, ...], axes: Axes, n: int) -> pd.DataFrame:
    """One row a candidate that has both numbers: key, name, kind, x, y, on_front, said."""
    rows = []
    for each in found:
        numbers = summary(each.config, n, axes.weight_format)
        x, y = float(getattr(numbers, axes.x)), float(getattr(numbers, axes.y))
        if x > 0 and y > 0:
            rows.append((each.key, each.name, each.kind, x, y, _hover(each.name, axes, x, y)))
    table = pd.DataFrame(rows, columns=["key", "name", "kind", "x", "y", "said"])
    front = pareto_front(
        table[["x", "y"]].to_numpy(dtype=np.float64).reshape(-1, 2), (axes.x_more, axes.y_more)
    )
    return table.assign(on_front=front)


def _hover(name: str, axes: Axes, x: float, y: float) -> str:
    both = ((axes.x, x), (axes.y, y))
    said_of = (f"{_(MEASURES[measure])}: {said(measure, value)}" for measure, value in both)
    return "<br>".join((f"<b>{token_label(name, most=40)}</b>", *said_of))


def title(measure: str, n: int, weight_format: str) -> str:
    """What an axis shows; some numbers depend on the text's length or the number format."""
    said = _(MEASURES[measure])
    if measure in BYTES:
        is_cache = measure == "cache_bytes"
        said = f"{said}, {cache_format(weight_format) if is_cache else weight_format}"
    return _("{what}, n = {n:,}").format(what=said, n=n) if measure in OF_TEXT else said


def cache_format(weight_format: str) -> str:
    """In what keys and values are kept where weights have this format."""
    return weight_format if weight_format in CACHED_FORMATS else _("16 bits")


def said(measure: str, value: float) -> str:
    """A number with its unit."""
    if measure in BYTES:
        return cost_shared.in_bytes(value)
    return cost_shared.flops(value) if measure in FLOPS else f"{value:,.0f}"

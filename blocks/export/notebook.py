"""A notebook that makes the same run again, with the same package and nothing of the app."""

import dataclasses
import json
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from blocks.model.config import DEFAULTS, ModelConfig
from blocks.model.faults import N_
from blocks.observe.run import Run

Translate = Callable[[str], str]

IMPORTS = """\
from blocks import ModelConfig, count_parameters
from blocks.model.masks import MaskConfig
from blocks.observe import Input, Intervention, Run"""
OF_WEIGHTS = """\
from blocks.weights import trained
from blocks.weights.pocket import pocket

file = pocket({name!r})
model = trained(run.config, file.tensors)"""
# What a panel shows of a layer, in the words of the package; any other panel shows the stream.
FACTS = {
    "heads": "seen.heads(run.build_mask(), layer={layer})",
    "pattern": "seen.pattern(layer={layer})",
    "parameters": "count_parameters(run.config)",
    "breakdown": "count_parameters(run.config)",
}
HEAD = N_(
    "This notebook needs `blocks`: run `pip install .` in a clone of Blockscope. Seed: {seed}."
)
FLOW = "seen.flow()"


def notebook(
    run: Run,
    panel: str = "",
    *,
    layer: int = 0,
    is_pocket: bool = False,
    title: str = "",
    _: Translate = str,
) -> str:
    """The notebook as JSON: the run, its recording, and what the panel of this name shows.

    `layer`: the one that it shows. `is_pocket`: the weights of the run are those of a model that
    ships with the package; others are drawn from the seed. `title`: what stands above, with a line
    in the language of `_`.
    """
    weights = OF_WEIGHTS.format(name=run.weights) if is_pocket else "model = run.build()"
    cells = [
        _said(f"# {title or panel or 'Blockscope'}\n\n{_(HEAD).format(seed=run.seed)}"),
        _code(IMPORTS),
        _code(f"run = {written(run)}"),
        _code(weights),
        _code("seen = run.record(model)\nseen.flow()"),
    ]
    facts = FACTS.get(panel, FLOW).format(layer=layer)
    if facts != FLOW:
        cells.append(_code(facts))
    about = {"language_info": {"name": "python"}}
    for i, cell in enumerate(cells):
        cell["id"] = f"cell-{i}"
    whole = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1)


def written(value: Any) -> str:
    """A value as Python makes it again: what is as it usually is stays unsaid."""
    if not dataclasses.is_dataclass(value):
        return repr(str(value) if isinstance(value, StrEnum) else value)
    kind = type(value).__name__
    if isinstance(value, ModelConfig):
        changed = {name: each for name, each in value.flat().items() if each != DEFAULTS[name]}
        return f"{kind}({_words(changed)})"
    changed = {
        field.name: getattr(value, field.name)
        for field in dataclasses.fields(value)
        if getattr(value, field.name) != field.default
    }
    return f"{kind}({_words(changed)})"


def _words(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_word(each)}" for name, each in values.items())


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        inner = ", ".join(map(written, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return written(value)


def _code(source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "source": source,
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }


def _said(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}

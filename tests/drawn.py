"""Small frames to draw, and what is read off a picture."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from plotly import io

from blocks import ModelConfig
from blocks.inspection import tiles
from blocks.model.masks import causal
from blocks.observe import heads, wiring
from pages.figures.theme import Picture

N_TOKENS, N_HEADS = 5, 8
TOKENS = ("given", "<b>球</b>", "&amp;", "球" * 40, "🤖")


def same(text: str) -> str:
    """The text as it stands in the code."""
    return text


def marked(text: str) -> str:
    """A translation that is seen to be one."""
    return f"⟦{text}⟧"


def stages(**changes: Any) -> pd.DataFrame:
    """The stages of a configuration with numbers that differ from each other."""
    table = wiring.frame(ModelConfig.from_flat(changes))
    number = np.arange(1, len(table) + 1) / 4
    return table.assign(
        label=[f"given {i} <b>" for i in range(len(table))],
        detail="given & given",
        shape="(1, 5, 16)",
        mean=number - 1,
        std=number / 2,
        min=number - 4,
        max=number + 4,
        rms=number,
        outlier_share=0.0,
    )


def pattern(n_heads: int = N_HEADS, n_tokens: int = N_TOKENS) -> torch.Tensor:
    """Causal patterns of random weights: (1, n_heads, query, key)."""
    scores = torch.randn(1, n_heads, n_tokens, n_tokens, generator=torch.Generator().manual_seed(0))
    return scores.masked_fill(~causal(n_tokens), -torch.inf).softmax(dim=-1)


def head_table(seen: torch.Tensor) -> pd.DataFrame:
    """The measures of its heads, labelled."""
    table = heads.frame(seen, causal(seen.shape[-1]))
    return table.assign(
        label=[f"<b>{head}</b>" for head in table["head"]],
        hover=[f"given {head}" for head in table["head"]],
    )


def codes_of(seen: torch.Tensor) -> np.ndarray:
    """(n_heads, query, key), one byte a cell."""
    return tiles.encode(seen, causal(seen.shape[-1]))[0].numpy()


def weights_of(seen: torch.Tensor, head: int) -> np.ndarray:
    """(query, key), NaN where masked."""
    return tiles.weights(seen[:, head : head + 1], causal(seen.shape[-1]))


def checked(picture: Picture) -> Picture:
    """The same picture after Plotly's own check of every property."""
    return Picture(raw(go.Figure(raw(picture))))


def raw(picture: go.Figure) -> dict[str, Any]:
    """Data and layout as they were given, without the page's template."""
    layout = picture.layout.to_plotly_json()
    layout.pop("template", None)
    return {"data": [trace.to_plotly_json() for trace in picture.data], "layout": layout}


def bytes_sent(picture: go.Figure) -> int:
    """How much goes to the browser."""
    parts = raw(picture)
    parts["layout"]["template"] = {}
    return len(io.to_json(parts))


def visible(picture: go.Figure) -> Iterator[str]:
    """All that can be read in a picture, tooltips included."""
    yield from _texts(raw(picture))


def _texts(node: Any, name: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield from _texts(child, key)
    elif isinstance(node, list | tuple | np.ndarray):
        for child in node:
            yield from _texts(child, name)
    elif isinstance(node, str) and name in SHOWN:
        yield node


SHOWN = ("text", "ticktext", "name", "hovertemplate", "hovertext", "ticksuffix")
SYMBOLS = {"RMS", "std", "extra"}


def words_that_slipped_by(picture: go.Figure) -> set[str]:
    """Words in a picture made with `marked` that are neither translated nor given."""
    found: set[str] = set()
    for text in visible(picture):
        rest, n_left = text, 1
        while n_left:  # what was translated may stand in what was translated
            rest, n_left = re.subn(r"⟦[^⟦⟧]*⟧", " ", rest)
        rest = re.sub(r"%\{[^}]*\}|<[^<>]*>|&(\w+;)+|given", " ", rest)
        found |= set(re.findall(r"[A-Za-z]{2,}", rest))
    return found - SYMBOLS

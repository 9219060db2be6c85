"""What a GPT says of the reader's text: the next token, the lens, the surprise. Kept, in words."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from blocks.inspection import lens as lenses
from blocks.inspection import predictions
from blocks.observe.run import PaddingSide, Run
from blocks.text import sampling as sampled
from blocks.text.sampling import SamplingConfig
from pages.ui import cached, tokens
from pages.ui.language import _, current_language

N_LIKELIEST = 20
LENS_ROWS, LENS_COLUMNS = 16, 13


@lru_cache(maxsize=8)
def next_tokens(run: Run, position: int, sampling: SamplingConfig) -> pd.DataFrame:
    """One row a token of the vocabulary, the likeliest first: what sampling makes of each."""
    logits = cached.recording(run).output[0, position]
    alone = sampled.next_tokens(logits, SamplingConfig())["probability"]
    table = sampled.next_tokens(logits, sampling).assign(model_probability=alone)
    return table.sort_values("rank", ignore_index=True)


@lru_cache(maxsize=8)
def token_labels(run: Run) -> tuple[str, ...]:
    """What every token of the vocabulary is called."""
    return tuple(tokens.label(run, token_id) for token_id in range(run.config.vocab_size))


def likeliest(run: Run, position: int, sampling: SamplingConfig) -> pd.DataFrame:
    """The first of them with their labels, and one row for all others together."""
    return _likeliest(run, position, sampling, current_language())


@lru_cache(maxsize=64)
def _likeliest(run: Run, position: int, sampling: SamplingConfig, language: str) -> pd.DataFrame:
    table = next_tokens(run, position, sampling)
    first, rest = table[:N_LIKELIEST], table[N_LIKELIEST:]
    first = first.assign(label=[tokens.label(run, token_id) for token_id in first["token_id"]])
    if rest.empty:
        return first
    others = {
        "label": _("{n:,} others").format(n=len(rest)),
        "kept": bool(rest["kept"].any()),
        "probability": rest["probability"].sum(),
        "model_probability": rest["model_probability"].sum(),
    }
    return pd.concat([first, pd.DataFrame([others])], ignore_index=True)


class Outlook(NamedTuple):
    """The next token in numbers: the first one, how many are kept, how open it is."""

    label: str
    probability: float
    n_kept: int
    dropped: float
    bits: float


@lru_cache(maxsize=64)
def outlook(run: Run, position: int, sampling: SamplingConfig) -> Outlook:
    """Read off the whole vocabulary; `dropped` is the model's own probability that is cut off."""
    table = next_tokens(run, position, sampling)
    kept = table[table["kept"]]
    shares = kept["probability"].to_numpy()
    shares = shares[shares > 0]
    return Outlook(
        label=tokens.label(run, int(table["token_id"][0])),
        probability=float(table["probability"][0]),
        n_kept=len(kept),
        dropped=float(table["model_probability"][~table["kept"]].sum()),
        bits=max(0.0, float(-(shares * np.log2(shares)).sum())),
    )


@lru_cache(maxsize=16)
def lens(run: Run) -> lenses.Lens:
    """What the model would say after each layer, at every position."""
    return lenses.logit_lens(cached.model(run), cached.recording(run))


class LensView(NamedTuple):
    """The part of the lens that has room in a picture: rows are positions, columns layers."""

    positions: list[int]
    layers: list[int]
    labels: list[list[str]]
    probability: np.ndarray
    rank: np.ndarray


@lru_cache(maxsize=32)
def lens_view(run: Run, pinned: int) -> LensView:
    """Around the pinned token; of many layers some, the first and the last among them."""
    n_layers, n = lens(run).token_id.shape
    start = max(0, min(pinned - LENS_ROWS // 2, n - LENS_ROWS))
    positions = list(range(start, min(n, start + LENS_ROWS)))
    n_columns = min(n_layers, LENS_COLUMNS)
    layers = [round(i * (n_layers - 1) / max(1, n_columns - 1)) for i in range(n_columns)]
    token_id, probability, rank = (
        values[np.ix_(layers, positions)].T
        for values in (lens(run).token_id, lens(run).probability, lens(run).rank)
    )
    labels = [[tokens.label(run, int(cell)) for cell in row] for row in token_id]
    return LensView(positions, layers, labels, probability, rank)


@lru_cache(maxsize=16)
def lens_table(run: Run) -> pd.DataFrame:
    """The whole lens, a row a cell."""
    found = lens(run)
    layer, position = np.indices(found.token_id.shape)
    return pd.DataFrame(
        {
            "layer": layer.ravel(),
            "position": position.ravel() + 1,
            "token": np.asarray(run.input.labels, dtype=object)[position.ravel()],
            "token_id": found.token_id.ravel(),
            "says": [tokens.label(run, int(token_id)) for token_id in found.token_id.ravel()],
            "probability": found.probability.ravel(),
            "rank_of_final_answer": found.rank.ravel(),
        }
    )


@lru_cache(maxsize=32)
def decided(run: Run, position: int) -> int:
    """The layer from which on the final answer stands first; 0 is before the first layer."""
    is_first = lens(run).rank[:, position] == 1
    return int(len(is_first) - np.argmin(is_first[::-1])) if not is_first.all() else 0


def text_range(run: Run) -> tuple[int, int]:
    """The positions of the text among those of the run: first, and one after the last."""
    is_left = run.input.padding_side is PaddingSide.LEFT
    first = run.input.n_padding if is_left else 0
    return first, first + len(run.input.token_ids)


@lru_cache(maxsize=32)
def surprise(run: Run) -> pd.DataFrame:
    """One row a token of the text, the first excepted: label, position (from 0), bits, rank."""
    first, end = text_range(run)
    ids = run.values()[0, first:end]
    table = predictions.surprise(cached.recording(run).output[0, first:end], ids)
    table["position"] += first
    return table.assign(label=[run.input.labels[position] for position in table["position"]])


def guess_bits(run: Run) -> float:
    """What a guess among all tokens alike would cost."""
    return math.log2(run.config.vocab_size)

"""What a change inside the model does to its output: measured, and kept."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from blocks.inspection import output_change
from blocks.observe.interventions import Intervention, heads_of
from blocks.observe.run import Run
from blocks.observe.sweep import outputs_of_each
from pages.server import cached
from pages.stage import tokens

N_CANDIDATES, N_AT_THE_WALL = 10, 7


@lru_cache(maxsize=32)
def change(run: Run) -> pd.DataFrame:
    """A row per token of the first sequence: how far its output moved from the unchanged run's."""
    before, after = cached.recording(run.untouched).output[0], cached.recording(run).output[0]
    return output_change.output_change(before, after, is_logits=reads_tokens(run))


@lru_cache(maxsize=64)
def candidates(run: Run, token: int, n: int) -> pd.DataFrame:
    """The likeliest tokens before and after at one position, with their labels."""
    before, after = cached.recording(run.untouched).output[0], cached.recording(run).output[0]
    table = output_change.moved_most(before[token], after[token], n)
    return table.assign(label=[tokens.label(run, token_id) for token_id in table["token_id"]])


def reads_tokens(run: Run) -> bool:
    """Whether the output is a score for each token of a vocabulary."""
    return run.config.architecture.reads_tokens


def moved(run: Run) -> list[float]:
    """One number per token: bits of KL for a whole model, 1 − cosine for a block."""
    return _one_number(change(run), run)


def _one_number(table: pd.DataFrame, run: Run) -> list[float]:
    return table["kl_bits"].tolist() if reads_tokens(run) else (1 - table["cosine"]).tolist()


@lru_cache(maxsize=2048)
def moved_without(run: Run, parts: tuple[Intervention, ...], token: int) -> tuple[float, ...]:
    """The change of the output at a token, for each of these parts that is ablated alone."""
    model, seen = cached.model(run), cached.recording(run)
    with cached.turn(run.device):
        after = outputs_of_each(run, model, seen, parts, token)
    before = seen.output[:1, token].expand_as(after)
    table = output_change.output_change(before, after, is_logits=reads_tokens(run))
    return tuple(_one_number(table, run))


def grid(run: Run, found: Sequence[float]) -> np.ndarray:
    """What each part is worth: (n_layers, parts), NaN where not measured yet."""
    values = np.full(len(heads_of(run.config)), np.nan, dtype=np.float32)
    values[: len(found)] = found
    return values.reshape(run.config.n_layers, -1)


def reach(run: Run, found: Sequence[float]) -> tuple[float, float]:
    """The largest of these effects among heads, and among whole parts."""
    parts = heads_of(run.config)[: len(found)]
    of_heads = [value for part, value in zip(parts, found, strict=True) if part.head is not None]
    of_parts = [value for part, value in zip(parts, found, strict=True) if part.head is None]
    return max(of_heads, default=0.0), max(of_parts, default=0.0)

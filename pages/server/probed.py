"""What the heads of a model are for: measured once a model, whatever the reader's text."""

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

import numpy as np
import pandas as pd

from blocks.inspection import head_probe
from blocks.inspection.head_probe import HeadProbe
from blocks.model.models import Encoder
from blocks.observe.run import Run
from pages.figures.table_rows import each_row
from pages.server import cached
from pages.server.cached import Built
from pages.words import terms

Heads = tuple[tuple[int, int], ...]  # layer and head of each


def can_probe(run: Run) -> bool:
    """Whether its heads have learned something that random tokens can show."""
    return bool(run.weights) and head_probe.can_probe(run.config)


def probe(run: Run) -> HeadProbe:
    """The scores of all heads of the model of a run, as it is without changes inside."""
    return _probe(cached.built_of(run))


def bits_without(run: Run, off: Heads) -> np.ndarray:
    """How surprising the tokens of the probe are where these heads write nothing."""
    return _bits_without(cached.built_of(run), off)


@lru_cache(maxsize=32)
def _probe(built: Built) -> HeadProbe:
    model = _model(built)
    with cached.turn(built.device):
        return head_probe.head_probe(model, built.config)


@lru_cache(maxsize=32)
def _named(built: Built) -> Mapping[tuple[int, int], tuple[str, float]]:
    """Name and score of each head that has a name, by layer and head: asked for one by one."""
    rows = each_row(_probe(built).heads)
    return {(row.layer, row.head): (row.name, row.score) for row in rows if row.name}


@lru_cache(maxsize=64)
def _bits_without(built: Built, off: Heads) -> np.ndarray:
    model = _model(built)
    with cached.turn(built.device):
        return head_probe.probe_bits(model, built.config, off)


def _model(built: Built) -> Encoder:
    return cast(Encoder, cached.models().get(built))


def names_by_probe(run: Run) -> bool:
    """Whether heads are named by the probe: else, where it finds none, by the reader's text."""
    return can_probe(run) and bool(_named(cached.built_of(run)))


def badges(run: Run, heads: pd.DataFrame) -> pd.DataFrame:
    """The measures of heads with what each is called, and the share that names it.

    Two columns more: badge (empty without a name) and badge_score.
    """
    if not names_by_probe(run):
        scores = [getattr(row, row.name) if row.name else 0.0 for row in each_row(heads)]
        return heads.assign(badge=heads["name"], badge_score=scores)
    found = probe(run).heads.set_index(["layer", "head"])
    of_each = found.loc[list(zip(heads["layer"], heads["head"], strict=True))]
    return heads.assign(badge=of_each["name"].to_numpy(), badge_score=of_each["score"].to_numpy())


def badge(run: Run, layer: int, head: int) -> str:
    """What the probe calls a head, with its score; empty where it has no name."""
    if not can_probe(run):
        return ""
    return said(*_named(cached.built_of(run)).get((layer, head), ("", 0.0)))


def said(name: str, score: float) -> str:
    """A name with its share; empty without a name."""
    return f"{terms.head_name(name)} {score:.2f}" if name else ""

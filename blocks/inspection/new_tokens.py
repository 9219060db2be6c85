"""Tokens that a model has written after the text of a run, and what was read to make one."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from blocks.inspection.head_facts import Sharpest
from blocks.observe.run import Run
from blocks.text.written import Written

MOST_DRAWN = 384  # keys that a picture of all heads has room for


@dataclass(frozen=True, eq=False)
class NewTokens:
    """New tokens in their order, and the one that is looked at, from 0.

    `label`: what a token id is called; `apart`: tokens of the text that are set apart as sinks;
    `stop`: the token ids that end a text.
    """

    run: Run
    found: tuple[Written, ...]
    opened: int
    label: Callable[[int], str]
    apart: tuple[int, ...] = ()
    stop: Collection[int] = ()

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What the new tokens are called."""
        return tuple(self.label(token.token_id) for token in self.found)

    @property
    def token(self) -> Written:
        """The new token that is inspected."""
        return self.found[self.opened]

    @property
    def is_ended(self) -> bool:
        """Whether it is the last of its text."""
        return self.token.token_id in self.stop

    @property
    def keys(self) -> tuple[str, ...]:
        """The tokens that the heads read to make it."""
        before = (*(self.run.input.tokens or ()), *self.labels[: self.opened])
        return before[len(before) - self.token.reads.shape[-1] :]

    @property
    def first_key(self) -> int:
        """The position in the text of the first of these keys."""
        return len(self.run.input.token_ids) + self.opened - self.token.reads.shape[-1]

    @property
    def before_window(self) -> int:
        """How many keys are left out where they are drawn, the first ones of a long text."""
        return max(0, self.token.reads.shape[-1] - MOST_DRAWN)

    def put_on_first(self, n: int) -> float:
        """The share of all attention that lies on the first `n` keys, averaged over the heads."""
        return float(self.token.reads[..., :n].astype(np.float64).sum(-1).mean())

    @property
    def apart_keys(self) -> list[int]:
        """The keys that are sinks, where others are left."""
        places = (token - self.first_key for token in self.apart)
        found = [place for place in places if place >= 0]
        return found if len(found) < self.token.reads.shape[-1] else []

    @property
    def sharpest(self) -> Sharpest | None:
        """Where the largest of its weights stands, sinks left out; None where nothing attends."""
        n_heads, n_keys = self.token.reads.shape[1:]
        if not n_keys:
            return None
        reads = self.token.reads.astype(np.float32)
        reads[..., self.apart_keys] = 0
        row, key = divmod(int(reads.argmax()), n_keys)
        nth, head = divmod(row, n_heads)
        layer = self.run.config.attention_layers[nth]
        return Sharpest(layer, head, key, float(reads[nth, head, key]), bool(self.apart_keys))

    def table(self) -> pd.DataFrame:
        """One row a new token: label, how probable it was, where its context began."""
        columns = (
            *("token_id", "probability", "model_probability"),
            *("context_start", "cache_bytes"),
        )
        rows = [[getattr(token, name) for name in columns] for token in self.found]
        table = pd.DataFrame(rows, columns=list(columns))
        table.insert(0, "label", list(self.labels))
        return table

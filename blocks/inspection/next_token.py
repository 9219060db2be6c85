"""The next token: what the model says, and what sampling makes of it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from torch import Tensor

from blocks.observe.run import Run
from blocks.text import sampling as sampled
from blocks.text.sampling import SamplingConfig

N_LIKELIEST = 12


def vocabulary(logits: Tensor, sampling: SamplingConfig) -> pd.DataFrame:
    """`next_tokens` with the model's own probability, the likeliest first; logits (vocab_size,)."""
    alone = sampled.next_tokens(logits, SamplingConfig())["probability"]
    table = sampled.next_tokens(logits, sampling).assign(model_probability=alone)
    return table.sort_values("rank", ignore_index=True)


@dataclass(frozen=True, eq=False)
class NextFacts:
    """What may come after a position of a run, counted from 0.

    `tokens`: the whole vocabulary (see `vocabulary`); `label`: what a token id is called.
    """

    run: Run
    position: int
    sampling: SamplingConfig
    tokens: pd.DataFrame
    label: Callable[[int], str]

    @property
    def after(self) -> str:
        """The token that these would follow."""
        return self.run.input.labels[self.position]

    @cached_property
    def likeliest(self) -> pd.DataFrame:
        """The first of them with their labels."""
        first = self.tokens[:N_LIKELIEST]
        return first.assign(label=[self.label(int(token_id)) for token_id in first["token_id"]])

    @property
    def n_others(self) -> int:
        """How many tokens are less likely than these."""
        return max(0, len(self.tokens) - N_LIKELIEST)

    def of_others(self, column: str) -> float:
        """The probability of all the others together."""
        return float(self.tokens[column][N_LIKELIEST:].sum())

    @property
    def probability(self) -> float:
        """What the first is drawn with."""
        return float(self.tokens["probability"].iloc[0])

    @property
    def n_kept(self) -> int:
        """How many tokens can be drawn."""
        return int(self.tokens["kept"].sum())

    @property
    def dropped(self) -> float:
        """The model's own probability of all that cannot be drawn."""
        return float(self.tokens["model_probability"][~self.tokens["kept"]].sum())

    @property
    def bits(self) -> float:
        """The entropy of the draw."""
        shares = self.tokens["probability"].to_numpy()
        shares = shares[shares > 0]
        return max(0.0, float(-(shares * np.log2(shares)).sum()))

    @property
    def n_alike(self) -> float:
        """The number of equally likely tokens with the same entropy."""
        return float(2**self.bits)

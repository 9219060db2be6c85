"""How the cache of keys and values grows with the text: measured, and by formula."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch

from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.kinds import TokenMixer
from blocks.model.kv_cache import (
    kv_cache_bytes,
    kv_cache_bytes_per_token,
    layer_windows,
    state_bytes,
)
from blocks.observe.run import Run
from blocks.text.written import Written


def cache_growth(
    config: ModelConfig,
    n_prompt: int,
    tokens: Sequence[Written],
    *,
    itemsize: int,
    window_size: int | None = None,
) -> pd.DataFrame:
    """One row per step of the model, as it wrote `tokens` after a prompt of `n_prompt`.

    Columns: n_read (tokens of the text by then), n_kept (those whose keys and values are kept, in
    the layer that sees farthest; 0 where states are kept), measured, formula (bytes), every_head
    (bytes, had each query head keys and values of its own).
    """
    n_read = [n_prompt + i for i in range(len(tokens))]
    table = pd.DataFrame({"n_read": n_read})
    starts = [token.context_start for token in tokens]
    n_there = table["n_read"] - starts
    windows = _of_attention(config, layer_windows(config, window_size))
    farthest = max((math.inf if window is None else window - 1) for window in windows)
    table["n_kept"] = n_there.clip(upper=farthest).astype(int) * config.has_attention
    table["measured"] = [token.cache_bytes for token in tokens]
    for name, of in (("formula", config), ("every_head", with_every_head(config))):
        table[name] = [kv_cache_bytes(of, itemsize, n, window_size=window_size) for n in n_there]
    return table


def _of_attention(config: ModelConfig, windows: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Those of layers that attend; all of them where none does."""
    found = tuple(each for i, each in enumerate(windows) if config.attends_in(i))
    return found or windows


def with_every_head(config: ModelConfig) -> ModelConfig:
    """The same model with keys and values of each query head's own, in every layer."""
    return config.replace(n_kv_heads=None, d_kv_latent=0, token_mixer=TokenMixer.ATTENTION)


@dataclass(frozen=True, eq=False)
class CacheFacts:
    """The cache of a run as its text grew (see `cache_growth`); `window_size`: how far it sees."""

    run: Run
    steps: pd.DataFrame
    window_size: int | None

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return devices.DTYPES[self.run.dtype].itemsize

    @property
    def bytes_per_token(self) -> int:
        """What each token adds."""
        return kv_cache_bytes_per_token(self.run.config, self.itemsize)

    @property
    def state_bytes(self) -> int:
        """What the states of all layers take that do not attend."""
        return state_bytes(self.run.config, self.itemsize)

    @property
    def state_width(self) -> int:
        """Numbers in one row of the states of all heads."""
        return self.run.config.n_state_heads * self.run.config.d_state

    @property
    def exact_itemsize(self) -> int:
        """Bytes of a number of a matrix that a gated delta rule keeps."""
        return max(self.itemsize, torch.float32.itemsize)

    @property
    def last(self) -> pd.Series:
        """The newest step."""
        return self.steps.iloc[-1]

    @property
    def times_saved(self) -> float:
        """As many times as much it would take, had each query head keys and values of its own.

        Of states, which do not grow, at the newest step.
        """
        if not self.run.config.attends:
            return float(self.last["every_head"] / self.last["formula"])
        every_head = kv_cache_bytes_per_token(with_every_head(self.run.config), self.itemsize)
        return every_head / self.bytes_per_token

    @property
    def n_local(self) -> int:
        """Layers that keep their window alone."""
        return self.run.config.n_local(self.run.config.n_layers)

    @property
    def is_shifted(self) -> bool:
        """Whether tokens were let go since the context was full."""
        return bool((self.steps["n_kept"] < self.steps["n_read"]).any())


def cache_facts(run: Run, tokens: Sequence[Written], window_size: int | None) -> CacheFacts:
    """The cache of a run, as `tokens` were written after its text."""
    steps = cache_growth(
        run.config,
        len(run.input.token_ids),
        tokens,
        itemsize=devices.DTYPES[run.dtype].itemsize,
        window_size=window_size,
    )
    return CacheFacts(run, steps, window_size)


@dataclass(frozen=True, eq=False)
class CacheTimes:
    """Milliseconds of each token, in a row each: n_read, with_cache, without; and the device.

    For the first token both read the whole text: it is left out of the medians.
    """

    steps: pd.DataFrame
    device: str

    @property
    def n(self) -> int:
        """Tokens of which the medians are taken."""
        return len(self.steps) - 1

    @property
    def with_cache(self) -> float:
        """The median with the cache."""
        return float(self.steps["with_cache"][1:].median())

    @property
    def without(self) -> float:
        """The median without."""
        return float(self.steps["without"][1:].median())

    @property
    def ratio(self) -> float:
        """How many times as long it takes without."""
        return self.without / self.with_cache

"""Texts that grow: kept while they are looked at, shared by all who look at the same one."""

import math
import threading
import time
from functools import lru_cache

import pandas as pd
import streamlit as st

from blocks import ConfigError
from blocks.inspection.cache_growth import cache_growth
from blocks.model import devices
from blocks.model.masks import MaskKind
from blocks.observe.interventions import Intervention, InterventionKind, replacements
from blocks.observe.run import Run, out_of_memory_fault
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig
from blocks.text.written import Written, written
from pages.ui import cached, tokens

N_TIMED = 32


class Writer:
    """One text that grows token by token; sessions that share it take turns."""

    def __init__(self, run: Run, sampling: SamplingConfig, seed: int):
        self.run, self.sampling, self.seed = run, sampling, seed
        self.lock = threading.Lock()
        self._begin()

    def write(self, n_tokens: int, *, seconds: float = math.inf) -> None:
        """Go on until there are this many new tokens, or the time is up.

        Raises `ConfigError` where the device has no memory left; the text then begins anew.
        """
        ends = time.monotonic() + seconds
        while len(self.tokens) < n_tokens and time.monotonic() < ends:
            try:
                self._one_more(n_tokens)
            except RuntimeError as error:
                self._begin()
                if not devices.is_out_of_memory(error):
                    raise
                raise ConfigError([out_of_memory_fault()]) from None

    def _begin(self) -> None:
        self.generation = generation(self.run, self.sampling, self.seed, is_observed=True)
        self.tokens: list[Written] = []

    def _one_more(self, n_tokens: int) -> None:
        with self.lock, cached.turn(self.run.device):
            if len(self.tokens) < n_tokens:
                self.generation.advance(1)  # nothing is left in it but the one that is new
                self.tokens.append(written(self.generation.new_tokens.pop(), self.sampling))


# Few, since each keeps its model alive.
@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=cached.WRITTEN_OUT)
def writer(run: Run, sampling: SamplingConfig, seed: int) -> Writer:
    """The text that this run grows into; the same for all who ask for the same."""
    return Writer(run, sampling, seed)


def generation(
    run: Run, sampling: SamplingConfig, seed: int, begun: tuple[int, ...] = (), **more: bool
) -> Generation:
    """The text of a run, and tokens that were `begun` after it, ready to grow without padding."""
    return Generation(
        cached.model(run),
        run.config,
        (*run.input.token_ids, *begun),
        sampling,
        seed=seed,
        window_size=window_size(run),
        replace=replacements(lasting(run)),
        **more,
    )


def lasting(run: Run) -> tuple[Intervention, ...]:
    """The changes inside that hold for every new token: parts that are switched off at all."""
    off = (each for each in run.interventions if each.kind is InterventionKind.ZERO)
    return tuple(each for each in off if each.token is None)


def window_size(run: Run) -> int | None:
    """How far back a token sees, where the mask says so."""
    is_window = run.mask.mask_kind is MaskKind.SLIDING_WINDOW
    return run.mask.window_size if is_window else None


def is_as_masked(run: Run) -> bool:
    """Whether the mask of the run is the one that text grows with."""
    return run.mask.mask_kind in (
        MaskKind.CAUSAL,
        MaskKind.CAUSAL_PADDING,
        MaskKind.SLIDING_WINDOW,
    )


def labels(run: Run, found: list[Written]) -> list[str]:
    """What the new tokens are called."""
    return [tokens.label(run, token.token_id) for token in found]


def frame(run: Run, found: list[Written]) -> pd.DataFrame:
    """One row a new token: label, how probable it was, where its context began."""
    columns = ("token_id", "probability", "model_probability", "context_start", "cache_bytes")
    rows = [[getattr(token, name) for name in columns] for token in found]
    table = pd.DataFrame(rows, columns=list(columns))
    table.insert(0, "label", labels(run, found))
    return table


def keys(run: Run, found: list[Written], index: int) -> tuple[str, ...]:
    """The tokens that the heads read to make a new one."""
    n_keys = found[index].reads.shape[-1]
    before = (*run.input.tokens, *labels(run, found[:index]))
    return before[-n_keys:]


def growth(run: Run, found: list[Written]) -> pd.DataFrame:
    """What the cache took at each step, and what the formula says."""
    return cache_growth(
        run.config,
        len(run.input.token_ids),
        found,
        itemsize=itemsize(run),
        window_size=window_size(run),
    )


def itemsize(run: Run) -> int:
    """Bytes of one number."""
    return devices.DTYPES[run.dtype].itemsize


@lru_cache(maxsize=16)
def times(run: Run, sampling: SamplingConfig, seed: int, attempt: int) -> pd.DataFrame:
    """Measure each token with and without the cache: n_read, with_cache, without; milliseconds.

    The two take turns, so that whatever else the machine does meets both alike.
    """
    cached_one, anew = (
        generation(run, sampling, seed, use_cache=use_cache) for use_cache in (True, False)
    )
    for n in range(1, N_TIMED + 1):
        for text in (cached_one, anew):
            with cached.turn(run.device):
                text.advance(n)
    return pd.DataFrame(
        {
            "n_read": [len(run.input.token_ids) + i for i in range(N_TIMED)],
            "with_cache": [token.milliseconds for token in cached_one.new_tokens],
            "without": [token.milliseconds for token in anew.new_tokens],
        }
    )

"""Room in memory for what is drawn: refused where there can be none, else waited for.

Whoever computes with a model passes here first; what it takes is held until the page, or the
section, is drawn.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from blocks import ConfigError
from blocks.cost.memory import Memory, run_fault, run_memory
from blocks.cost.units import bytes_text
from blocks.model import devices
from blocks.observe.run import Run
from pages.server import cached
from pages.server.settings import counted, memory_budget
from pages.server.turns import NotTogetherError, turns
from pages.session.slot import Slot
from pages.words.language import _

TOGETHER = Slot("bytes_together", 0)


def take_for(run: Run) -> None:
    """Hold what this run takes. Raises `ConfigError` where it cannot be."""
    if fault := run_fault(run, memory_budget(run.device)):
        raise ConfigError([fault])
    need = _need(run)
    _take(lambda: need.activations if cached.is_at_hand(run) else need.total, run.device)


def _take(need: Callable[[], int], device: str) -> None:
    """Hold so many bytes of a device; who waits for them is told.

    Raises `ConfigError` where too many wait.
    """
    waiting = _Waiting(need)
    turns().take(lambda: counted(need(), device), waiting.tell)
    if waiting.place:
        waiting.place.empty()


def hold_run(run: Run) -> None:
    """As `take_for`, on a page: what it may not have beside what it holds, it begins anew with."""
    with _all_at_once():
        take_for(run)


def hold_bytes(n_bytes: int, device: str) -> None:
    """Hold so many bytes of a device on a page, as `hold_run` does."""
    with _all_at_once():
        _take(lambda: n_bytes, device)


@contextmanager
def _all_at_once() -> Iterator[None]:
    try:
        together = TOGETHER.take()
        _take(lambda: together, devices.available_devices()[0])
        yield
    except NotTogetherError as error:
        TOGETHER.keep(error.n_bytes)
        st.rerun()


@lru_cache(maxsize=256)
def _need(run: Run) -> Memory:
    return run_memory(run)


class _Waiting:
    """What is said to who waits; saying it again asks whether the reader is still there."""

    def __init__(self, need: Callable[[], int]):
        self.need = need
        self.place: DeltaGenerator | None = None

    def tell(self, n_before: int) -> None:
        """So many are before this one; nothing where nobody looks."""
        if get_script_run_ctx() is None:
            return
        self.place = self.place or st.empty()
        text = _(
            "Waiting for memory: {need} is needed here, but other users’ models are using it "
            "({n} ahead of you). The run will start by itself."
        )
        self.place.info(
            text.format(need=bytes_text(self.need()), n=n_before), icon=":material/hourglass:"
        )

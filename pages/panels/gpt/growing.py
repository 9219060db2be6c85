"""A text that grows token by token, and how it may grow."""

import math
import threading
import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple, cast

from blocks import ConfigError
from blocks.inspection.new_tokens import NewTokens
from blocks.model import devices
from blocks.model.masks import MaskKind
from blocks.model.models import GPT
from blocks.observe.interventions import lasting
from blocks.observe.run import Run, out_of_memory_fault
from blocks.text.generation import Generation
from blocks.text.sampling import SamplingConfig
from blocks.text.written import Written, written
from pages.server import cached, starts
from pages.server.once import once
from pages.server.shelf import Shelf, weighed
from pages.stage import tokens
from pages.state import sinks
from pages.state.values import State

MOST_TEXTS = 32


class Writer:
    """One text that grows token by token; sessions that share it take turns."""

    def __init__(self, run: Run, sampling: SamplingConfig, seed: int):
        self.run, self.sampling, self.seed = run, sampling, seed
        self.lock = threading.Lock()
        self._begin()

    def write(self, n_tokens: int, *, seconds: float = math.inf) -> None:
        """Go on until there are this many new tokens, the text ends, or the time is up.

        Raises `ConfigError` where the device has no memory left; the text then begins anew.
        """
        ends = time.monotonic() + seconds
        while len(self.tokens) < n_tokens and not self.is_ended and time.monotonic() < ends:
            try:
                with self.lock, cached.turn(self.run.device):
                    if len(self.tokens) < n_tokens and not self.is_ended:
                        self.generation.advance(1)  # nothing is left in it but the one that is new
                        self.tokens.append(written(self.generation.new_tokens.pop(), self.sampling))
            except RuntimeError as error:
                self._begin()
                if not devices.is_out_of_memory(error):
                    raise
                raise ConfigError([out_of_memory_fault()]) from None

    @property
    def is_ended(self) -> bool:
        return self.generation.is_ended

    def _begin(self) -> None:
        self.generation = generation(
            self.run, self.sampling, self.seed, is_observed=True, stop=stop(self.run)
        )
        self.tokens: list[Written] = []


class _Asked(NamedTuple):
    """All that decides a text."""

    run: Run
    sampling: SamplingConfig
    seed: int


@once
def _writers() -> Shelf[_Asked, Writer]:
    """The texts of all readers. Each keeps its model alive, and that is what it weighs."""
    return weighed(
        lambda asked: Writer(*asked),
        lambda writer: cached.weight_of_model(writer.generation.model),
        4,
        MOST_TEXTS,
    )


def writer_of(run: Run, sampling: SamplingConfig, seed: int) -> Writer:
    """The text that this run grows into; the same for all who ask for the same."""
    return _writers().get(_Asked(run, sampling, seed))


class Text(NamedTuple):
    """A text that grows: from which run, how it is sampled, how far it has come."""

    run: Run
    sampling: SamplingConfig
    seed: int
    n_tokens: int

    @property
    def writer(self) -> Writer:
        return writer_of(self.run, self.sampling, self.seed)


def text_so_far(run: Run, sampling: SamplingConfig, state: State) -> Text:
    """The text as far as it has been written, up to what the reader asked for."""
    seed = state.sampling_seed
    n_written = len(writer_of(run, sampling, seed).tokens)
    return Text(run, sampling, seed, min(state.n_new_tokens, n_written))


def new_tokens(
    run: Run,
    sampling: SamplingConfig,
    seed: int,
    n_tokens: int,
    opened: int = -1,
    is_apart: bool = False,
) -> NewTokens:
    """What was written, and one token of it; `is_apart`: the sinks of the text are."""
    found = tuple(writer_of(run, sampling, seed).tokens[:n_tokens])
    apart = sinks.set_apart(run, is_apart)
    return NewTokens(run, found, opened, partial(tokens.label, run), apart, stop(run))


def generation(
    run: Run, sampling: SamplingConfig, seed: int, begun: tuple[int, ...] = (), **more: Any
) -> Generation:
    """The text of a run, and tokens that were `begun` after it, ready to grow without padding."""
    return Generation(
        cast(GPT, cached.writing_model(run)),
        run.config,
        (*run.input.token_ids, *begun),
        sampling,
        seed=seed,
        window_size=window_size(run),
        interventions=lasting(run.interventions),
        **more,
    )


def stop(run: Run) -> Collection[int]:
    """The token ids that end a text of this run: none of the models that ship with us."""
    chat = starts.chat(run.weights)
    return chat.stop if chat else ()


class ReadOff:
    """A text that grows by its likeliest tokens, each read off a recording of all before it.

    The page on which a word is appended needs the recording of the longer text: that it is made
    here costs nothing, and no cache is filled beside it.
    """

    def __init__(self, run: Run, begun: tuple[int, ...] = ()):
        self.run = reduce(longer, begun, run)
        self.new_tokens: list[Likeliest] = []

    def advance(self, n_tokens: int) -> None:
        """Let the text grow until it has this many new tokens."""
        while len(self.new_tokens) < n_tokens:
            token_id = int(cached.recording(self.run).output[0, -1].argmax())
            self.new_tokens.append(Likeliest(token_id))
            self.run = longer(self.run, token_id)


class Likeliest(NamedTuple):
    """A token that was read off."""

    token_id: int


def longer(run: Run, token_id: int) -> Run:
    """The run of a text with one more token."""
    text, label = run.input, tokens.label(run, token_id)
    longer = replace(
        text, tokens=(*(text.tokens or ()), label), token_ids=(*text.token_ids, token_id)
    )
    return replace(run, input=longer)


def is_read_off(run: Run, n_more: int) -> bool:
    """Whether recordings of the text and up to `n_more` tokens after it tell how it goes on."""
    is_changed = run.interventions or run.training or run.input.n_padding
    has_room = run.input.shape[1] + n_more <= run.config.max_seq_len
    return is_as_masked(run) and has_room and not is_changed


def window_size(run: Run) -> int | None:
    is_window = run.mask.mask_kind is MaskKind.SLIDING_WINDOW
    return run.mask.window_size if is_window else None


def is_as_masked(run: Run) -> bool:
    """Whether the mask of the run is the one that text grows with."""
    return run.mask.mask_kind in (MaskKind.CAUSAL, MaskKind.CAUSAL_PADDING, MaskKind.SLIDING_WINDOW)

"""The target, written step by step: what was chosen, what could have been, what became of it."""

from collections.abc import Callable

from pages.ui.seq2seq import decoding
from pages.ui.seq2seq.decoding import Search, Standing
from pages.ui.steps import in_steps


def write(search: Search) -> Standing:
    """Write the target, in sight of the reader where it takes long."""
    steps = [_step(search, step) for step in range(1, search.n_steps + 1)]
    in_steps(steps, what=search, key="writing")
    return decoding.standing(search)


def _step(search: Search, step: int) -> Callable[[], None]:
    return lambda: decoding.writer(search).advance_to(step)

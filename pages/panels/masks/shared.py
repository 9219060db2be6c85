"""Sentences that read the masks and leak tests of this run, and what their pictures show."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from blocks.inspection import leaks
from blocks.inspection import mask_steps as steps_measures
from blocks.inspection.leaks import AttentionPath, LeakTest
from blocks.inspection.mask_faults import MaskFault
from blocks.inspection.mask_steps import Cells, Layer, Numbers
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.ui import cached, link
from pages.ui.language import _, literal


@lru_cache(maxsize=32)
def open_cells(run: Run) -> Cells:
    """The mask of the first sequence, True where a query may see a key: (query, key)."""
    return steps_measures.open_cells(run)


@lru_cache(maxsize=8)
def layer_steps(run: Run, layer: int, fault: MaskFault = MaskFault.NONE, scale: int = 1) -> Layer:
    """One layer before the mask and after it, clean or with a fault."""
    with cached.turn(run.device):
        return steps_measures.layer_steps(run, cached.model(run), layer, fault, scale)


@lru_cache(maxsize=32)
def steps(
    run: Run, layer: int, head: int, fault: MaskFault = MaskFault.NONE, scale: int = 1
) -> tuple[Numbers, Numbers]:
    """Scores before the mask and pattern after it of one head: (query, key) each."""
    return layer_steps(run, layer, fault, scale).head(head)


@lru_cache(maxsize=32)
def forbidden(run: Run) -> NDArray[np.bool_]:
    """What must be exactly 0 through all layers: (output, token)."""
    return leaks.forbidden(run)


@lru_cache(maxsize=32)
def mixing(test: LeakTest) -> float:
    """By how much one sequence of a batch moves when another one changes."""
    with cached.turn(test.run.device):
        return leaks.beside(test, cached.model(test.run))


@lru_cache(maxsize=256)
def _measure(
    measure: Callable[..., NDArray[np.float64]],
    test: LeakTest,
    chunk: tuple[int, ...],
    together: bool,
) -> NDArray[np.float64]:
    with cached.turn(test.run.device):
        return measure(test, cached.model(test.run), chunk, together=together)


@dataclass(frozen=True)
class Leaks:
    """A leak test as far as it has gone: the tokens that were changed, the outputs followed back.

    Each is a tuple of steps, and each step a tuple of tokens.
    """

    test: LeakTest
    together: bool
    changed: tuple[tuple[int, ...], ...]
    followed: tuple[tuple[int, ...], ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        """Tokens that were changed."""
        return tuple(token for chunk in self.changed for token in chunk)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Outputs whose gradient was taken."""
        return tuple(output for chunk in self.followed for output in chunk)


def tokens_to_change(run: Run, at_most: int) -> tuple[int, ...]:
    """All tokens, or as many as asked for, evenly spread; the first and the last among them."""
    n = run.input.shape[1]
    if n <= at_most:
        return tuple(range(n))
    return tuple(sorted({int(place) for place in np.linspace(0, n - 1, at_most).round()}))


def measured_planned(test: LeakTest, tokens: Sequence[int]) -> Leaks:
    """The whole test, in steps of about a second."""
    together = mixing(test) == 0
    size = leaks.rows_at_once(test.run)
    chunks = tuple(tuple(tokens[i : i + size]) for i in range(0, len(tokens), size))
    return Leaks(test, together, chunks, chunks)


def as_far_as(plan: Leaks, n_steps: int) -> Leaks:
    """The part of it that the first steps have done."""
    n_changed = len(plan.changed)
    return replace(
        plan,
        changed=plan.changed[:n_steps],
        followed=plan.followed[: max(0, n_steps - n_changed)],
    )


def moved(found: Leaks) -> NDArray[np.float64]:
    """By how much each output moves: (output, changed token)."""
    parts = [_measure(leaks.moved, found.test, c, found.together) for c in found.changed]
    return np.concatenate(parts).T


def gradients(found: Leaks) -> NDArray[np.float64]:
    """How strongly each output depends on each input: (output, token)."""
    parts = [_measure(leaks.gradients, found.test, c, found.together) for c in found.followed]
    return np.concatenate(parts)


def runs_fused(run: Run) -> bool:
    """Whether the fused kernel can be asked for: dropout needs the pattern."""
    return not (run.training and run.config.dropout > 0)


def leak_test(run: Run, path: str, fault: str, scale: int, change_seed: int) -> LeakTest:
    """The test that the reader has set; a fault is planted into the steps of attention."""
    is_fused = path == AttentionPath.FUSED and fault == MaskFault.NONE and runs_fused(run)
    return LeakTest(
        run=run,
        path=AttentionPath.FUSED if is_fused else AttentionPath.EXPLICIT,
        fault=MaskFault(fault),
        score_scale=scale,
        change_seed=change_seed,
    )


def blind_query(run: Run, pinned: int) -> tuple[int, bool]:
    """A query that may see no key, and whether the run has one: else the pinned one is taken."""
    blind = np.flatnonzero(~open_cells(run).any(axis=1))
    if not len(blind):
        return pinned, False
    return (pinned if pinned in blind else int(blind[0])), True


def score_scale() -> int:
    """Only where −10,000 is planted do larger scores matter."""
    is_asked = link.value("planted_fault") == MaskFault.ADDITIVE
    return link.value("score_scale") if is_asked else 1


def _button(key: str, label: str, **settings: object) -> None:
    st.button(label, on_click=_set, args=(settings,), key=key, icon=":material/tune:")


def _set(settings: Mapping[str, object]) -> None:
    for name, value in settings.items():
        link.change(name, value)
    link.redraw_everything()


def found_so_far(run: Run) -> Leaks | None:
    """What the test on screen has found, if anything: the page does not work for it again."""
    fault = link.value("planted_fault")
    plan = planned(run, fault)
    known, n_done = st.session_state.get(f"{steps_key(fault)}_done", (None, 0))
    return as_far_as(plan, n_done) if known == plan and n_done else None


def planned(run: Run, fault: str) -> Leaks:
    """The whole test that the reader has set."""
    settings = link.value("attention_path"), fault, score_scale(), link.value("leak_seed")
    tokens = tokens_to_change(run, link.value("n_changed"))
    return measured_planned(leak_test(run, *settings), tokens)


def steps_key(fault: str) -> str:
    """Under which name its steps are counted."""
    return "leak" if fault == MaskFault.NONE else "fault_leak"


def token(run: Run, place: int) -> str:
    """A token in a sentence: its number from 1, and what it is."""
    return f"{place + 1} {literal(run.input.labels[place])}"


def pattern_alt(run: Run, layer: int, head: int, *_more: Hashable) -> str:
    """The pattern in words."""
    text = _(
        "Attention weights of head {head} in layer {layer} after the mask; queries down, "
        "keys across."
    )
    return text.format(head=from_one(head), layer=from_one(layer))


def frame(found: Leaks) -> pd.DataFrame:
    """One row a pair of output and changed token, to take away."""
    change, cells = moved(found), forbidden(found.test.run)
    rows = [
        (output, found.tokens[column], bool(cells[output, found.tokens[column]]), x)
        for (output, column), x in np.ndenumerate(change)
    ]
    table = pd.DataFrame(rows, columns=["output", "token", "is_forbidden", "moved"])
    if not found.followed:
        return table
    slopes = [
        (output, token, x)
        for (row, token), x in np.ndenumerate(gradients(found))
        for output in (found.outputs[row],)
    ]
    gradient = pd.DataFrame(slopes, columns=["output", "token", "gradient"])
    return table.merge(gradient, how="left", on=["output", "token"])

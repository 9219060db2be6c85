"""The leak test that the reader has set: in steps of about a second, as far as it has gone."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from blocks.inspection import leaks
from blocks.inspection.leaks import AttentionPath, LeakFacts, LeakTest
from blocks.inspection.mask_faults import MaskFault
from blocks.observe.run import Run
from pages.panels.masks import shared
from pages.server import cached
from pages.show.steps import n_finished
from pages.state.values import State


@dataclass(frozen=True)
class Plan:
    """A test, the tokens that are changed and the outputs that are followed back, step by step."""

    test: LeakTest
    together: bool
    changed: tuple[tuple[int, ...], ...]
    followed: tuple[tuple[int, ...], ...]

    @property
    def steps(self) -> list[Callable[[], NDArray[np.float64]]]:
        """What is measured, one step after another: first the changes, then the gradients."""
        return [
            partial(_measure, measure, self.test, chunk, self.together)
            for measure, chunks in ((leaks.moved, self.changed), (leaks.gradients, self.followed))
            for chunk in chunks
        ]

    def as_far_as(self, n_steps: int) -> Self:
        """The part of it that the first steps have done."""
        n_followed = max(0, n_steps - len(self.changed))
        changed, followed = self.changed[:n_steps], self.followed[:n_followed]
        return replace(self, changed=changed, followed=followed)


@lru_cache(maxsize=256)
def _measure(
    measure: Callable[..., NDArray[np.float64]],
    test: LeakTest,
    chunk: tuple[int, ...],
    together: bool,
) -> NDArray[np.float64]:
    with cached.turn(test.run.device):
        return measure(test, cached.model(test.run), chunk, together=together)


@lru_cache(maxsize=32)
def _mixing(test: LeakTest) -> float:
    with cached.turn(test.run.device):
        return leaks.beside(test, cached.model(test.run))


@lru_cache(maxsize=32)
def forbidden(run: Run) -> NDArray[np.bool_]:
    """What must be exactly 0 through all layers: (output, token)."""
    return leaks.forbidden(run)


@lru_cache(maxsize=16)
def leak_facts(done: Plan) -> LeakFacts:
    """What was found in all steps of this plan."""
    found = [step() for step in done.steps]
    n = len(done.changed)
    return LeakFacts(
        test=done.test,
        forbidden=forbidden(done.test.run),
        n_closed=int((~shared.open_cells(done.test.run)).sum()),
        tokens=tuple(token for chunk in done.changed for token in chunk),
        outputs=tuple(output for chunk in done.followed for output in chunk),
        moved=np.concatenate(found[:n]).T,
        gradient=np.concatenate(found[n:]) if done.followed else None,
        mixing=_mixing(done.test),
    )


def planned(run: Run, fault: MaskFault, state: State) -> Plan:
    """The whole test that the reader has set; a fault is planted into the steps of attention."""
    is_fused = state.attention_path == AttentionPath.FUSED
    is_fused = is_fused and fault is MaskFault.NONE and runs_fused(run)
    test = LeakTest(
        run=run,
        path=AttentionPath.FUSED if is_fused else AttentionPath.EXPLICIT,
        fault=fault,
        score_scale=score_scale(state),
        change_seed=state.leak_seed,
    )
    tokens, size = tokens_to_change(run, state.n_changed), leaks.rows_at_once(run)
    chunks = tuple(tokens[i : i + size] for i in range(0, len(tokens), size))
    return Plan(test, _mixing(test) == 0, chunks, chunks)


def tokens_to_change(run: Run, at_most: int) -> tuple[int, ...]:
    """All tokens, or as many as asked for, evenly spread; the first and the last among them."""
    n = run.input.shape[1]
    if n <= at_most:
        return tuple(range(n))
    return tuple(sorted({int(place) for place in np.linspace(0, n - 1, at_most).round()}))


def runs_fused(run: Run) -> bool:
    """Whether the fused kernel can be asked for: dropout needs the pattern."""
    return not (run.training and run.config.dropout > 0)


def planted_fault(state: State) -> MaskFault:
    return MaskFault(state.planted_fault)


def score_scale(state: State) -> int:
    return state.score_scale if planted_fault(state) is MaskFault.ADDITIVE else 1


def steps_key(fault: MaskFault) -> str:
    return "leak" if fault is MaskFault.NONE else "fault_leak"


def found_so_far(run: Run, state: State) -> Plan | None:
    """What the test on screen has done, if anything: the page does not work for it again."""
    fault = planted_fault(state)
    whole = planned(run, fault, state)
    n_done = n_finished(whole, steps_key(fault))
    return whole.as_far_as(n_done) if n_done else None

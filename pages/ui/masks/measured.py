"""What the page of masks shows, measured once and kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from blocks.inspection import leaks, mask_steps
from blocks.inspection.blind_rows import spread_of_nan
from blocks.inspection.leaks import AttentionPath, LeakTest, Verdict
from blocks.inspection.mask_faults import MaskFault
from blocks.inspection.mask_steps import Cells, Layer, Lead, Numbers
from blocks.observe.run import Run
from pages.ui import cached

COLUMNS = 4  # of the small masks


@lru_cache(maxsize=32)
def open_cells(run: Run) -> Cells:
    """The mask of the first sequence, True where a query may see a key: (query, key)."""
    return mask_steps.open_cells(run)


@lru_cache(maxsize=32)
def kinds(run: Run) -> NDArray[np.uint8]:
    """The masks of every kind for this input, side by side, one byte a cell."""
    return mask_steps.kinds_side_by_side(run, COLUMNS)


@lru_cache(maxsize=8)
def layer_steps(run: Run, layer: int, fault: MaskFault = MaskFault.NONE, scale: int = 1) -> Layer:
    """One layer before the mask and after it, clean or with a fault."""
    with cached.turn(run.device):
        return mask_steps.layer_steps(run, cached.model(run), layer, fault, scale)


@lru_cache(maxsize=32)
def steps(
    run: Run, layer: int, head: int, fault: MaskFault = MaskFault.NONE, scale: int = 1
) -> tuple[Numbers, Numbers]:
    """Scores before the mask and pattern after it of one head: (query, key) each."""
    return layer_steps(run, layer, fault, scale).head(head)


@lru_cache(maxsize=32)
def lead(run: Run) -> Lead:
    """What it would take for a bias of −1e4 to be overwhelmed, in layer 1."""
    return mask_steps.lead(run, layer_steps(run, 0))


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
    measure: Callable[..., NDArray], test: LeakTest, chunk: tuple[int, ...], together: bool
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


def planned(test: LeakTest, tokens: Sequence[int]) -> Leaks:
    """The whole test, in steps of about a second."""
    together = mixing(test) == 0
    size = leaks.rows_at_once(test.run)
    chunks = tuple(tuple(tokens[i : i + size]) for i in range(0, len(tokens), size))
    return Leaks(test, together, chunks, chunks)


def steps_of(plan: Leaks) -> list[Callable[[], NDArray]]:
    """What is measured, one step after another: first the changes, then the gradients."""
    return [
        partial(_measure, measure, plan.test, chunk, plan.together)
        for measure, chunks in ((leaks.moved, plan.changed), (leaks.gradients, plan.followed))
        for chunk in chunks
    ]


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


@lru_cache(maxsize=64)
def by_change(found: Leaks) -> Verdict:
    """What the changes say."""
    run, tokens = found.test.run, found.tokens
    cells = forbidden(run)[:, tokens]
    return leaks.verdict(moved(found), cells, range(len(cells)), tokens)


@lru_cache(maxsize=64)
def by_gradient(found: Leaks) -> Verdict:
    """What the gradients say."""
    cells = forbidden(found.test.run)[found.outputs, :]
    return leaks.verdict(gradients(found), cells, found.outputs, range(cells.shape[1]))


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


@lru_cache(maxsize=32)
def blind_rows(run: Run, layer: int, head: int, query: int) -> NDArray[np.float64]:
    """Its weights by each treatment, NaN as they are: (treatment, key)."""
    return layer_steps(run, layer).without_a_key(head, query)


@lru_cache(maxsize=32)
def spoiled_outputs(run: Run, layer: int, head: int, query: int) -> int:
    """How many outputs are no number if one row of this head is none."""
    with cached.turn(run.device):
        model = cached.model(run)
        return spread_of_nan(run, model, layer=layer, head=head, query=query)


cross = lru_cache(maxsize=32)(mask_steps.cross)

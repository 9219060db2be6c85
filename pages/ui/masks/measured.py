"""What the page of masks shows, measured once and kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from blocks import devices
from blocks.attention import attention_pattern, attention_scores
from blocks.inspection import leaks, mask_faults, tiles
from blocks.inspection.blind_rows import Treatment, spread_of_nan, treated
from blocks.inspection.leaks import AttentionPath, LeakTest, Verdict
from blocks.inspection.mask_faults import MaskFault, first_mask, open_mask, raw_scores
from blocks.masks import MaskKind, cross_padding
from blocks.probe import record
from blocks.randomness import generator
from blocks.run import Input, Run
from pages.ui import cached

Numbers = NDArray[np.float32]


class Steps(NamedTuple):
    """One head of the first sequence, (query, key) each: before the mask, and after it."""

    scores: Numbers
    pattern: Numbers


class Lead(NamedTuple):
    """How far forbidden scores of layer 1 stand above the allowed ones, and what −1e4 can bear."""

    largest: float
    bearable: float

    @property
    def scale(self) -> float:
        """How many times as large the scores must be for −1e4 to leak; 0 where they cannot."""
        return self.bearable / self.largest if self.largest > 0 else 0.0


@lru_cache(maxsize=32)
def open_cells(run: Run) -> NDArray[np.bool_]:
    """The mask of the first sequence, True where a query may see a key: (query, key)."""
    return open_mask(run).cpu().numpy()


@lru_cache(maxsize=32)
def kinds(run: Run) -> NDArray[np.uint8]:
    """The masks of every kind for this input, side by side, one byte a cell."""
    masks = [open_mask(of_kind(run, kind)) for kind in MaskKind]
    codes = torch.where(torch.stack(masks), tiles.MOST, tiles.MASKED).to(torch.uint8)
    return tiles.tile(tiles.shrink(codes), columns=len(MaskKind) // 2 + 1)


def of_kind(run: Run, kind: MaskKind) -> Run:
    """The same run with another mask."""
    return replace(run, mask=replace(run.mask, mask_kind=kind))


@lru_cache(maxsize=8)
def _queries_and_keys(run: Run, layer: int, fault: MaskFault, scale: int):
    """Scores before the mask and the pattern of a layer: (batch, n_heads, query, key)."""
    at = f"layers.{layer}."
    with cached.turn(run.device):
        model = cached.model(run)
        faults = mask_faults.planted(run, fault, score_scale=scale)
        seen = record(
            model,
            run.values(),
            mask=first_mask(run.build_mask()),
            keep={at + "q", at + "k", at + "pattern"},
            replace={**run.replacements(model), **faults},
            training_seed=run.seed if run.training else None,
        )
    return raw_scores(run.config, seen.tensor("q", layer), seen.tensor("k", layer)), seen.pattern(
        layer
    )


@lru_cache(maxsize=32)
def steps(
    run: Run, layer: int, head: int, fault: MaskFault = MaskFault.NONE, scale: int = 1
) -> Steps:
    """One head before the mask and after it, clean or with a fault."""
    scores, pattern = _queries_and_keys(run, layer, fault, scale)
    return Steps(*(each[0, head].float().cpu().numpy() for each in (scores, pattern)))


@lru_cache(maxsize=32)
def lead(run: Run) -> Lead:
    """What it would take for a bias of −1e4 to be overwhelmed, in layer 1."""
    scores, _pattern = _queries_and_keys(run, 0, MaskFault.NONE, 1)
    exponent = mask_faults.largest_exponent(devices.DTYPES[run.dtype])
    largest = mask_faults.largest_lead(scores.float(), open_mask(run))
    return Lead(largest, -mask_faults.FINITE - exponent)


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
    scores, _pattern = _queries_and_keys(run, layer, MaskFault.NONE, 1)
    rows = [treated(scores[0, head, query], treatment) for treatment in Treatment]
    return torch.stack(rows).double().cpu().numpy()


@lru_cache(maxsize=32)
def spoiled_outputs(run: Run, layer: int, head: int, query: int) -> int:
    """How many outputs are no number if one row of this head is none."""
    with cached.turn(run.device):
        model = cached.model(run)
        return spread_of_nan(run, model, layer=layer, head=head, query=query)


class Cross(NamedTuple):
    """Queries of one sequence, keys of another that is padded: (query, key) each."""

    open: NDArray[np.bool_]
    scores: Numbers
    pattern: Numbers


@lru_cache(maxsize=32)
def cross(n_queries: int, d_head: int, n_tokens: int, n_padding: int, seed: int) -> Cross:
    """One head of random queries and keys, each value from N(0, 1), drawn from the seed."""
    draw = generator(seed, "cross_padding")
    n_keys = n_tokens + n_padding
    q = torch.randn(1, 1, n_queries, d_head, generator=draw)
    k = torch.randn(1, 1, n_keys, d_head, generator=draw)
    is_token = Input(seq_len=n_tokens, n_padding=n_padding).is_token()
    mask = cross_padding(n_queries, is_token)
    scores = attention_scores(q, k)
    pattern = attention_pattern(attention_scores(q, k, mask), mask)
    return Cross(*(each[0, 0].numpy() for each in (mask, scores, pattern)))

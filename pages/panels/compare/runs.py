"""What the runs of A and B show, measured once for all panels; and why one has no run."""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from blocks import ConfigError
from blocks.inspection import pattern_distance
from blocks.inspection.two_runs import HeadDistances
from blocks.observe.run import Run
from pages.panels.compare import shared
from pages.panels.compare.shared import Pair
from pages.server import cached, room
from pages.words.language import _, literal, say_fault

if TYPE_CHECKING:
    from torch import Tensor


def stack(run: Run) -> str:
    return "encoder" if run.has_target else ""


def pattern(run: Run, layer: int) -> "Tensor":
    """(n_heads, query, key) of the first sequence, on the device."""
    return cached.recording(run).pattern(layer, stack=stack(run))[0]


def mask(run: Run, layer: int) -> "Tensor | None":
    """Who may see whom in a layer, in the first sequence: (query, key), or None."""
    found, n = run.build_mask(layer), run.input.shape[1]
    found = found.source if run.has_target else found
    return None if found is None else found.expand(*found.shape[:-2], n, n).reshape(-1, n, n)[0]


@lru_cache(maxsize=32)
def _counts(a: Run, b: Run, layer: int) -> "Tensor":
    masks = mask(a, layer), mask(b, layer)
    return pattern_distance.comparable_queries(*masks, a.input.shape[1]).to(a.device)


@lru_cache(maxsize=16)
def distances(pair: Pair) -> NDArray[np.float32]:
    """(layer, head) of all that both have: distance of heads with the same number."""
    a, b = pair.both
    rows = (
        pattern_distance.head_distances(pattern(a, i), pattern(b, i), _counts(a, b, i))
        for i in range(pair.n_layers)
    )
    return np.stack([row.cpu().numpy() for row in rows])


@lru_cache(maxsize=32)
def head_distances(pair: Pair, layer: int) -> HeadDistances:
    """Of all heads with the same number, and of every head of a layer to every head."""
    a, b = pair.both
    counts = _counts(a, b, layer)
    each = pattern_distance.all_distances(pattern(a, layer), pattern(b, layer), counts)
    return HeadDistances(layer, int(counts.sum()), distances(pair), each.cpu().numpy())


@lru_cache(maxsize=32)
def is_finite(run: Run) -> bool:
    """Whether all values that passed are numbers: a narrow format can overflow."""
    return bool(np.isfinite(cached.whole_flow(run)["rms"]).all())


def both_ran(pair: Pair) -> bool:
    """Run both; where one cannot, say why and go on without."""
    said = why_not(pair)
    for each in said:
        st.info(each, icon=":material/block:")
    return not said


def why_not(pair: Pair) -> list[str]:
    """Run both, and say why there is nothing to compare, where there is not."""
    if faults := shared.faults(pair):
        text = _(
            "{name} is not run here; only its parameters and costs are computed. {why}. "
            "Everything that needs both models to run is left out."
        )
        return [text.format(name=literal(name), why=why.rstrip(".")) for name, why in faults]
    try:
        with st.spinner(_("Running both models …"), show_time=True):
            for run in pair.both:
                room.hold_run(run)
                cached.recording(run)
    except ConfigError as error:
        return [say_fault(error.faults[0])]
    text = _("The values of {name} overflowed {dtype}: there is nothing to compare.")
    sides = zip(shared.names(pair), pair.both, strict=True)
    overflowed = ((name, run.dtype) for name, run in sides if not is_finite(run))
    return [text.format(name=literal(name), dtype=dtype) for name, dtype in overflowed]


def says_tokens_differ(pair: Pair) -> str:
    """Why patterns are not subtracted."""
    n_a, n_b = (run.input.shape[1] for run in pair.both)
    return _(
        "A and B tokenize this text differently ({n_a} and {n_b} tokens), so their "
        "attention cannot be compared cell by cell."
    ).format(n_a=n_a, n_b=n_b)

"""What the reader chooses on the page of positions."""

from functools import lru_cache
from typing import TYPE_CHECKING

from blocks import Fault
from blocks.inspection.other_positions import learned_table
from blocks.inspection.position_facts import kind_fault
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import cached, link
from pages.ui.language import _

if TYPE_CHECKING:
    from torch import Tensor

KINDS = tuple(PositionKind)


@lru_cache(maxsize=8)
def learned(run: Run) -> "Tensor":
    """The model's own table, or one that is drawn for show."""
    return learned_table(cached.model(run), run.config, run.seed).float().cpu()


def kind(run: Run) -> PositionKind:
    """The kind that is looked at: the reader's, or else the model's own."""
    return PositionKind(link.value("shown_position") or run.config.position.position_kind)


def fault(run: Run) -> Fault | None:
    """What forbids it for this model."""
    return kind_fault(run.config, kind(run))


def order(run: Run) -> tuple[PositionKind, ...]:
    """All kinds in the order in which they are measured: the one looked at, then none, and all."""
    return tuple(dict.fromkeys((kind(run), PositionKind.NONE, *PositionKind)))


def n_rows(run: Run, kind: PositionKind, n: int) -> int:
    """How many positions there are to show: a learned table ends."""
    return min(n, run.config.max_seq_len) if kind is PositionKind.LEARNED else n


def n_positions(run: Run) -> int:
    """How many positions are shown; a learned table may end before."""
    return n_rows(run, kind(run), link.value("n_positions"))


def says_how_far(n_kinds: int) -> str:
    """Before the last kind is measured, how many are; empty after it."""
    if n_kinds >= len(KINDS):
        return ""
    text = _("Measured so far: {done} of {all} encodings.")
    return text.format(done=n_kinds, all=len(KINDS))

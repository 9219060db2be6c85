"""What the reader chooses on the page of positions."""

from functools import lru_cache
from typing import TYPE_CHECKING

from blocks import ConfigError, Fault
from blocks.inspection.other_positions import learned_table
from blocks.model.kinds import PositionKind
from blocks.observe.run import Run
from pages.ui import cached, link

if TYPE_CHECKING:
    from torch import Tensor


N_STEPS, ROWS_A_STEP = 6, 8


def fault_of(run: Run, kind: PositionKind) -> Fault | None:
    """What forbids this kind for the run's configuration; RoPE needs heads of even width."""
    try:
        run.config.replace(position_kind=kind)
    except ConfigError as error:
        return error.faults[0]
    return None


def is_own_table(run: Run) -> bool:
    """Whether the model has a learned table itself; otherwise one is drawn for show."""
    return run.config.position.position_kind is PositionKind.LEARNED


@lru_cache(maxsize=8)
def _learned(run: Run) -> "Tensor":
    return learned_table(cached.model(run), run.config, run.seed).float().cpu()


def n_rows(run: Run, kind: PositionKind, n: int) -> int:
    """How many positions there are to show: a learned table ends."""
    return min(n, run.config.max_seq_len) if kind is PositionKind.LEARNED else n


def kind(run: Run) -> PositionKind:
    """The kind that is looked at: the reader's, or else the model's own."""
    return PositionKind(link.value("shown_position") or run.config.position.position_kind)


def order(run: Run) -> tuple[PositionKind, ...]:
    """All kinds in the order in which they are measured: the one looked at, then none, and all."""
    return tuple(dict.fromkeys((kind(run), PositionKind.NONE, *PositionKind)))


def n_positions(run: Run) -> int:
    """How many positions are shown; a learned table may end before."""
    return n_rows(run, kind(run), link.value("n_positions"))


KINDS = tuple(PositionKind)

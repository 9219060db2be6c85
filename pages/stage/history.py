"""The setting before, so that a change is seen as a change."""

from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

from blocks.observe.run import Run
from pages.session.slot import Slot

SHOWN = Slot[Mapping[str, tuple[Any, Any]]]("shown", {})  # by kind: now, and before
RUN = "run"
Shown = TypeVar("Shown", bound=Hashable)


def run_before(run: Run) -> Run | None:
    """The run that this session showed before this one."""
    return before(RUN, run)


def before(kind: str, current: Shown) -> Shown | None:
    """What this session showed of a kind before what it shows now; None at first."""
    kept = SHOWN.get()
    newest, earlier = kept.get(kind, (None, None))
    if current != newest:
        newest, earlier = current, newest
        SHOWN.keep({**kept, kind: (newest, earlier)})
    return earlier


def forget() -> None:
    """Begin anew: nothing was shown before."""
    SHOWN.keep({})


def ghost_of(run: Run) -> Run | None:
    """The run before this one, where the page has asked for it."""
    current, earlier = SHOWN.get().get(RUN, (None, None))
    return earlier if current == run else None

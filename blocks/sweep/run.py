"""A sweep from its first point to its last: what is known is read, the rest is trained once."""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from blocks.sweep.engine import Engine, Told
from blocks.sweep.job import Done
from blocks.sweep.point import Point
from blocks.sweep.store import Store
from blocks.sweep.sweep import Sweep
from blocks.training.events import Ended, Reason


def trained(
    sweep: Sweep, engine: Engine, store: Store, leaves_off: Callable[[], bool] = lambda: False
) -> Iterator[Told]:
    """`Done` for each point, of those that are known at once, and what is told on the way to it.

    `Ended` in its place where a point could not be trained, or is left off. All settings are
    trained from the first seed first.
    """
    losses: dict[str, float] = {}
    while not leaves_off():
        points = {point.key: point for point in sweep.points(losses)}
        wanted = [point for key, point in points.items() if key not in losses]
        if not wanted:
            return
        wanted.sort(key=lambda point: sweep.seeds.index(point.spec.seed))  # soon one of each
        for told in _trained(wanted, engine, store, leaves_off):
            match told.event:
                case Done(outcome=outcome):
                    losses[told.point.key] = outcome.held_out_loss
                case Ended(reason=reason) if reason is not Reason.STOPPED:
                    losses[told.point.key] = math.inf
            yield told


def _trained(
    wanted: list[Point], engine: Engine, store: Store, leaves_off: Callable[[], bool]
) -> Iterator[Told]:
    queue = _Waiting(store)
    for point in wanted:
        if outcome := store.get(point):
            yield Told(point, Done(outcome))
        else:
            queue.points.append(point)
    with queue.claims:
        for told in engine.events(queue.drawn(), leaves_off):
            if isinstance(told.event, Done):
                store.put(told.point, told.event.outcome)
            if isinstance(told.event, Done | Ended):
                queue.let_go(told.point)
            yield told
            yield from queue.found()
    yield from queue.found()


class _Waiting:
    """Points that nobody has trained yet, each claimed before it is drawn."""

    def __init__(self, store: Store):
        self.points: list[Point] = []
        self.claims = ExitStack()
        self._store = store
        self._claimed: dict[str, ExitStack] = {}
        self._found: list[Told] = []

    def drawn(self) -> Iterator[Point | None]:
        """The next one; None while others train all that are left."""
        while self.points:
            yield next(filter(self._is_ours, [*self.points]), None)

    def found(self) -> Iterator[Told]:
        """Points that others have finished meanwhile."""
        while self._found:
            yield self._found.pop(0)

    def let_go(self, point: Point) -> None:
        """Give up the claim of a point."""
        self._claimed.pop(point.key).close()

    def _is_ours(self, point: Point) -> bool:
        claim = self.claims.enter_context(ExitStack())
        is_free = claim.enter_context(self._store.claimed(point))
        if is_free and (outcome := self._store.get(point)):  # others had it, and are done
            self._found.append(Told(point, Done(outcome)))
            self.points.remove(point)
        elif is_free:
            self.points.remove(point)
            self._claimed[point.key] = claim
            return True
        claim.close()
        return False

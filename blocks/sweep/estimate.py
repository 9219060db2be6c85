"""How long a sweep will take, before it begins: a few updates of its trainings are timed."""

from collections.abc import Callable, Iterable, Sequence

from blocks.cost.training_cost import training_cost
from blocks.sweep.point import Point
from blocks.training.pace import Pace
from blocks.training.spec import TrainingSpec

PaceOf = Callable[[TrainingSpec], Pace | None]


def estimate_seconds(
    points: Iterable[Point], n_at_once: int, pace_of: PaceOf, *, starting: float = 0.0
) -> float | None:
    """Seconds of all, so many at a time, after the `starting` of their processes.

    The cheapest and the dearest update are timed, and the others lie between them by their FLOPs.
    None where one of the two cannot be trained here.
    """
    flops = {point: update_flops(point.spec) for point in points}
    if not flops:
        return 0.0
    ends = min(flops, key=lambda p: flops[p]), max(flops, key=lambda p: flops[p])
    paces = [pace_of(each.spec) for each in dict.fromkeys(ends)]
    known = [(flops[end], pace.update) for end, pace in zip(ends, paces, strict=False) if pace]
    if len(known) < len(paces):
        return None
    times = [Pace(_between(known, n)).seconds(p.spec.recipe) for p, n in flops.items()]
    return starting + max(sum(times) / n_at_once, max(times))


def update_flops(spec: TrainingSpec) -> int:
    """FLOPs of an update, forward and back, by formula."""
    n_tokens = spec.recipe.batch_size * spec.task.seq_len
    return training_cost(spec.config, n_tokens, n=spec.task.seq_len).exact


def _between(known: Sequence[tuple[int, float]], flops: int) -> float:
    """On the line through the two that are known."""
    (least, quick), (most, slow) = known[0], known[-1]
    share = (flops - least) / (most - least) if most > least else 0.0
    return quick + share * (slow - quick)

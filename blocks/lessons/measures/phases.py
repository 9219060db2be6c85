"""What came of recorded runs of phase changes: the same for every reader."""

from typing import Any

from blocks.lessons.measures.trained import NOT_RECORDED
from blocks.lessons.place import Place
from blocks.model.faults import ConfigError, Fault
from blocks.phases.clock import Change, Clock
from blocks.phases.facts import ClockFacts, InductionFacts, SumFacts, clock_facts
from blocks.phases.recorded import DECAY_ENDS_AT, Series, recorded
from blocks.phases.superposition import Toy
from blocks.training.tasks import TaskKind


def clock_value(at: Place, *, task: str, what: str, step: int) -> float:
    """A number of a look, by its name in `Kept`."""
    return float(getattr(_facts(task, step).now, what))


def clock_event(at: Place, *, task: str, what: str) -> int:
    """The step of an event: jump, learned_at; of modular sums restricted_at, excluded_at."""
    return int(getattr(_facts(task), what))


def key_share(at: Place, *, step: int) -> float:
    """What the key frequencies hold of the embedding's energy at a step of modular addition."""
    facts = _sum(step)
    return facts.key_share(facts.i)


def n_keys(at: Place) -> int:
    """How many key frequencies modular addition has."""
    return len(_sum(0).keys)


def sum_loss_without(at: Place, *, what: str) -> float:
    """The loss of modular addition in the end without the keys, or without as many others."""
    return float(_sum(0).back[f"without_{what}"][-1])


def accuracy_without_decay(at: Place) -> float:
    """The share of unseen sums right in the end, on the branch without weight decay."""
    change = Change(step=DECAY_ENDS_AT, weight_decay=0.0)
    return float(_found(Clock(kind=TaskKind.MODULAR_ADDITION, change=change))[-1].accuracy)


def induction_loss_without(at: Place, *, what: str) -> float:
    """The held-out loss in the end without all found heads (found), or the strongest (one).

    Of layer 1 without the head that looks most at the token before (previous), or without all
    its others (others).
    """
    facts, n_removed = _induction(), {"previous": 1, "others": -2}
    if what in n_removed:
        return float(facts.removed[what].iloc[n_removed[what]])
    return float(facts.back[f"without_{what}"][-1])


def n_induction_heads(at: Place) -> int:
    """How many heads are induction heads in the end."""
    return len(_induction().found)


def toy_features(at: Place, *, sparsity: float) -> int:
    """How many of five features a toy model keeps in two dimensions."""
    return int(_found(Toy(sparsity=sparsity))[-1].n_kept)


def toy_gap(at: Place, *, sparsity: float) -> float:
    """The mean angle between neighbors, in degrees."""
    gaps = _found(Toy(sparsity=sparsity))[-1].gaps
    return float(sum(gaps) / len(gaps))


def _found(series: Series) -> tuple[Any, ...]:
    found = recorded(series)
    if not found:
        raise ConfigError([Fault(NOT_RECORDED)])
    return found


def _facts(task: str, step: int = 0) -> ClockFacts:
    clock = Clock(kind=TaskKind(task))
    return clock_facts(clock, _found(clock), step)


def _sum(step: int) -> SumFacts:
    facts = _facts("modular_addition", step)
    assert isinstance(facts, SumFacts)
    return facts


def _induction() -> InductionFacts:
    facts = _facts("induction")
    assert isinstance(facts, InductionFacts)
    return facts

"""How often instruments are right where the answer is known, and what is left of a circuit."""

from blocks.known.cells import right_in
from blocks.known.circuit import circuit_facts
from blocks.known.recorded_circuits import recorded
from blocks.lessons.place import Place


def right_share(at: Place, *, instrument: str) -> float:
    """In which share of the models it was asked about an instrument was right."""
    n_right, n = right_in(instrument)
    return n_right / n


def circuit_weights(at: Place) -> int:
    """How many weights of the first circuit are left."""
    return len(recorded().circuits[0].kept)


def circuit_accuracy(at: Place, *, without: int) -> float:
    """The share of brackets that it gets right without a weight, numbered as in the picture."""
    return circuit_facts(recorded().circuits[0], frozenset({without - 1}), "(", 0).now.accuracy


def shuffled_ratio(at: Place) -> float:
    """How many times as many weights shuffled answers take, at least."""
    return min(recorded().ratios)

"""How long a whole model takes here that runs in int8, beside float32."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from blocks.cost.device_peak import load
from blocks.cost.timing import measure_in_rounds
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.distillation import calibrated_teacher
from blocks.efficiency.frontier import INT8, make, one_batch, one_token
from blocks.efficiency.int8_times import PassTimes, matrix_shapes
from blocks.efficiency.matrix_places import path_of
from blocks.efficiency.names import MOST_EXEMPT, compression_of, name_of
from blocks.training.teaching import Teacher

ROUNDS = 5
HOW = "float32", "int8", "mixed"


def int8_without(model: Calibrated, slower: frozenset[tuple[int, int]]) -> str:
    """The recipe of int8 in which matrices of these shapes (out, in) stay as they are.

    That of the original where all of them stay, or more than a recipe can name.
    """
    shapes = matrix_shapes(model)
    stay = frozenset(path_of(name) for name, shape in shapes.items() if shape in slower)
    if len(stay) == len(shapes) or len(stay) > MOST_EXEMPT:
        return ""
    return name_of(replace(compression_of(INT8), exempt=stay))


@dataclass(frozen=True, kw_only=True)
class Int8Passes:
    """One token, then one batch, read by a whole model in float32 and in int8, as a series.

    An encoder reads a whole row for its one token. `mixed`: the recipe of what is in int8 only
    where that is quicker, for each of both.
    """

    origin: Teacher
    mixed: tuple[str, str]
    attempt: int = 1
    device: str = "cpu"
    is_timed: bool = True
    n_steps: int = 2

    def results(self, done: Sequence[Any]) -> Iterator[PassTimes]:
        """Those after the first. Raises `ConfigError` where the model is not here."""
        model = calibrated_teacher(self.origin)
        n_batch = model.examiner.batches[0].n_tokens
        passes = ((1, one_token, self.mixed[0]), (n_batch, one_batch, self.mixed[1]))
        for n_tokens, work, mixed in passes[len(done) :]:
            made = [make(model, compression_of(name)) for name in ("", INT8, mixed)]
            works = [work(model, each) for each in made]
            times = measure_in_rounds(works, self.device, rounds=ROUNDS)
            _exact, n_int8, n_mixed = (each.n_packed for each in made)
            seconds = dict(zip(HOW, (each.fast for each in times), strict=True))
            yield PassTimes(n_tokens, n_int8=n_int8, n_mixed=n_mixed, load=load(), **seconds)

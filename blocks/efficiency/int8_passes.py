"""How long a whole model takes here that runs in int8, beside float32."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from blocks.cost.device_peak import load
from blocks.cost.timing import measure_in_rounds
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.distillation import calibrated_teacher
from blocks.efficiency.frontier import INT8, Made, make, one_batch, one_token
from blocks.efficiency.int8_times import PassTimes, matrix_shapes, measure_product, shapes_of
from blocks.efficiency.matrix_places import path_of
from blocks.efficiency.names import MOST_EXEMPT, compression_of, name_of
from blocks.model.kinds import Architecture
from blocks.training.teaching import Teacher

ROUNDS = 5
Work = Callable[[Calibrated, Made], Callable[[], object]]


def slower_shapes(model: Calibrated, n_tokens: int, seed: int) -> frozenset[tuple[int, int]]:
    """The shapes (out, in) whose product with so many tokens takes longer here in int8."""
    found = (measure_product(shape, n_tokens, seed) for shape in shapes_of(model))
    return frozenset((each.n_out, each.n_in) for each in found if each.int8 > each.float32)


def int8_without(model: Calibrated, shapes: frozenset[tuple[int, int]]) -> str:
    """The recipe of int8 in which matrices of these shapes (out, in) stay as they are.

    That of the original where all of them stay, or more than a recipe can name.
    """
    every = matrix_shapes(model)
    stay = frozenset(path_of(name) for name, shape in every.items() if shape in shapes)
    if len(stay) == len(every) or len(stay) > MOST_EXEMPT:
        return ""
    return name_of(replace(compression_of(INT8), exempt=stay))


@dataclass(frozen=True, kw_only=True)
class Int8Passes:
    """What is waited for while a model writes, then a batch: read in float32 and in int8, a series.

    The first is one token, of an encoder a row. `seed` draws what single matrices multiply.
    """

    origin: Teacher
    attempt: int = 1
    seed: int = 0
    device: str = "cpu"
    is_timed: bool = True
    n_steps: int = 2

    def results(self, done: Sequence[Any]) -> Iterator[PassTimes]:
        """Those after the first. Raises `ConfigError` where the model is not here."""
        model = calibrated_teacher(self.origin)
        passes = ((_n_first(model), one_token), (model.examiner.batches[0].n_tokens, one_batch))
        for n_tokens, work in passes[len(done) :]:
            mixed = int8_without(model, slower_shapes(model, n_tokens, self.seed))
            yield _measured(model, n_tokens, work, mixed)


def _measured(model: Calibrated, n_tokens: int, work: Work, mixed: str) -> PassTimes:
    """Each recipe once: all that is quicker in int8 may be all, or nothing."""
    made = {name: make(model, compression_of(name)) for name in dict.fromkeys(("", INT8, mixed))}
    works = [work(model, each) for each in made.values()]
    times = measure_in_rounds(works, "cpu", rounds=ROUNDS)
    seconds = dict(zip(made, (each.fast for each in times), strict=True))
    return PassTimes(
        n_tokens,
        float32=seconds[""],
        int8=seconds[INT8],
        mixed=seconds[mixed],
        n_int8=made[INT8].n_packed,
        n_mixed=made[mixed].n_packed,
        recipe=mixed,
        load=load(),
    )


def _n_first(model: Calibrated) -> int:
    ids = model.examiner.batches[0].token_ids
    is_encoder = model.file.config.architecture is Architecture.ENCODER
    return ids.shape[1] if is_encoder and isinstance(ids, Tensor) else 1

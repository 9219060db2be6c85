"""How long int8 takes here beside float32, matrix by matrix and, where it was run, as a whole."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch

from blocks.cost.device_peak import load
from blocks.cost.timing import measure_times
from blocks.efficiency.compression import Calibrated
from blocks.efficiency.packed import packed_product
from blocks.model.layout import decoding_linear
from blocks.model.models import build
from blocks.model.randomness import generator
from blocks.weights.rounded_inputs import multiplied_weights

TOKENS = (1, 16, 256)
MOST_FLOPS = 10**9
"""Of all matrices once: with more tokens at once it would take longer than a moment."""
REPEATS, LONGEST = 9, 0.03
ALIKE = 1.05


@dataclass(frozen=True)
class ProductTimes:
    """Seconds of one product of `n_tokens` rows with a matrix (out, in), one of `n_matrices`.

    `int8` includes `rounding`, what it takes to round the activations. `load`: runnable programs
    per processor meanwhile, NaN where the system does not say.
    """

    n_out: int
    n_in: int
    n_matrices: int
    n_tokens: int
    float32: float
    int8: float
    rounding: float
    load: float


Shape = tuple[int, int, int]
"""(out, in), and how many matrices have it."""


@dataclass(frozen=True)
class MatrixBytes:
    """What all matrices of a model hold, as products read it: int8 with a float32 scale per row."""

    shapes: tuple[Shape, ...]

    @property
    def n_matrices(self) -> int:
        """The number of matrices."""
        return sum(n for _out, _in, n in self.shapes)

    @property
    def n_weights(self) -> int:
        """The number of weights in all matrices."""
        return sum(n_out * n_in * n for n_out, n_in, n in self.shapes)

    @property
    def float32(self) -> int:
        """Bytes of four for each number."""
        return 4 * self.n_weights

    @property
    def int8(self) -> int:
        """A byte a number, and four a row."""
        return self.n_weights + 4 * sum(n_out * n for n_out, _in, n in self.shapes)

    @property
    def times_fewer(self) -> float:
        """How many times fewer bytes int8 reads, its speedup if reading took all the time."""
        return self.float32 / self.int8


@dataclass(frozen=True, kw_only=True)
class Int8Times:
    """Every shape with every number of tokens, as a series; nobody else computes meanwhile."""

    shapes: tuple[Shape, ...]
    attempt: int = 1
    seed: int = 0
    device: str = "cpu"
    is_timed: bool = True

    @property
    def cases(self) -> tuple[tuple[Shape, int], ...]:
        """The cases that are measured, one token always among them."""
        weights = sum(n_out * n_in * n for n_out, n_in, n in self.shapes)
        tokens = [n for n in TOKENS if n == 1 or 2 * n * weights <= MOST_FLOPS]
        return tuple((shape, n) for n in tokens for shape in self.shapes)

    @property
    def n_steps(self) -> int:
        """How many measurements there are."""
        return len(self.cases)

    def results(self, done: Sequence[Any]) -> Iterator[ProductTimes]:
        """Those after the first. Raises `ConfigError` where torch has no such kernel."""
        for shape, n_tokens in self.cases[len(done) :]:
            yield measure_product(shape, n_tokens, self.seed)


@torch.inference_mode()
def measure_product(shape: Shape, n_tokens: int, seed: int) -> ProductTimes:
    """Time both on numbers that are drawn: what they are does not matter to it.

    In float32 the matrix lies as models have it here (`pack_weights_for_decoding`).
    """
    n_out, n_in, n_matrices = shape
    random = generator(seed, "int8", str(shape))
    weight = torch.randn(n_out, n_in, generator=random).T.contiguous().T
    x, product = torch.randn(n_tokens, n_in, generator=random), packed_product(weight)
    works = (lambda: decoding_linear(x, weight), lambda: product(x), lambda: product.rounded(x))
    float32, int8, rounding = (
        measure_times(work, "cpu", repeats=REPEATS, longest=LONGEST).fast for work in works
    )
    return ProductTimes(n_out, n_in, n_matrices, n_tokens, float32, int8, rounding, load())


def shapes_of(model: Calibrated) -> tuple[Shape, ...]:
    """Of all matrices that activations are multiplied with; a tied table among them."""
    counted = Counter(matrix_shapes(model).values())
    return tuple((n_out, n_in, n) for (n_out, n_in), n in counted.items())


def matrix_shapes(model: Calibrated) -> dict[str, tuple[int, int]]:
    """(out, in) of each matrix that activations are multiplied with, by name."""
    tensors = model.file.tensors
    names = multiplied_weights(build(model.file.config, device="meta"))
    shapes = {name: tensors[name].shape for name in names if name in tensors}
    return {name: (n_out, n_in) for name, (n_out, n_in) in shapes.items()}


@dataclass(frozen=True)
class PassTimes:
    """Seconds of one pass of a whole model that reads `n_tokens`, all measured in the same rounds.

    `mixed`: in int8 are only the `n_mixed` of `n_int8` matrices that it makes quicker, as `recipe`
    says. `load`: runnable programs per processor meanwhile, NaN where the system does not say.
    """

    n_tokens: int
    float32: float
    int8: float
    mixed: float
    n_int8: int
    n_mixed: int
    recipe: str
    load: float


@dataclass(frozen=True)
class Int8Facts:
    """What was measured, for numbers of tokens that all shapes were measured with; then passes."""

    times: tuple[ProductTimes, ...]
    passes: tuple[PassTimes, ...] = ()

    @property
    def load(self) -> float:
        """The most that the machine had to do meanwhile: runnable programs per processor."""
        loads = [each.load for each in self.times] + [each.load for each in self.passes]
        return max(loads)

    @property
    def tokens(self) -> tuple[int, ...]:
        """How many are multiplied at once."""
        n_shapes = len({(each.n_out, each.n_in) for each in self.times})
        counted = Counter(each.n_tokens for each in self.times)
        return tuple(n for n, found in counted.items() if found == n_shapes)

    @property
    def matrices(self) -> MatrixBytes:
        """All matrices of the model."""
        first = self.of(self.tokens[0])
        return MatrixBytes(tuple((each.n_out, each.n_in, each.n_matrices) for each in first))

    def of(self, n_tokens: int) -> tuple[ProductTimes, ...]:
        """A measurement per shape."""
        return tuple(each for each in self.times if each.n_tokens == n_tokens)

    def seconds(self, kind: str, n_tokens: int) -> float:
        """Of all matrices once, one after the other: `float32`, `int8` or `rounding`."""
        return sum(each.n_matrices * getattr(each, kind) for each in self.of(n_tokens))

    @property
    def rounding_share(self) -> float:
        """What rounding the activations takes of int8, the mean over numbers of tokens."""
        shares = (self.seconds("rounding", n) / self.seconds("int8", n) for n in self.tokens)
        return min(1.0, fmean(shares))

"""Which products in int8 are timed, and what the times add up to."""

import pytest
from efficiency_toy import sorter

from blocks.efficiency.int8_times import MOST_FLOPS, Int8Facts, Int8Times, ProductTimes, shapes_of
from blocks.efficiency.packed import packed_fault
from blocks.work.plain import from_line, to_line

needs_kernel = pytest.mark.skipif(packed_fault() is not None, reason="torch without oneDNN")


@needs_kernel
def test_every_shape_is_measured_with_every_number_of_tokens_that_is_quick():
    model = sorter()
    shapes = shapes_of(model)
    matrices = [tensor for tensor in model.file.tensors.values() if tensor.dim() == 2]
    assert sum(n_out * n_in * n for n_out, n_in, n in shapes) <= sum(m.numel() for m in matrices)
    assert {n for _shape, n in Int8Times(shapes=shapes).cases} == {1, 16, 256}
    large = Int8Times(shapes=((MOST_FLOPS // 4096, 4096, 3),))
    assert [n for _shape, n in large.cases] == [1]
    series = Int8Times(shapes=((8, 8, 2),))
    (first, *_rest) = found = [*series.results(())]
    assert len(found) == series.n_steps == 3 and 0 < first.rounding < 1 and first.n_matrices == 2
    assert [each.n_tokens for each in series.results(found[:1])] == [16, 256]
    assert from_line(to_line(series)) == series and from_line(to_line(first)) == first


def test_times_add_up_over_matrices_and_unfinished_numbers_of_tokens_are_left_out():
    each = [
        ProductTimes(8, 8, 4, 1, 2.0, 1.0, 0.25, load=0.1),
        ProductTimes(8, 16, 1, 1, 1.0, 5.0, 1.25, load=2.0),
    ]
    facts = Int8Facts((*each, ProductTimes(8, 8, 4, 16, 1.0, 1.0, 0.5, load=0.3)))
    assert facts.tokens == (1,) and facts.matrices.n_matrices == 5
    assert facts.seconds("float32", 1) == facts.seconds("int8", 1) == 9
    assert facts.matrices.float32 == 4 * (4 * 64 + 128)
    assert facts.matrices.int8 == 4 * (64 + 4 * 8) + 128 + 4 * 8
    assert facts.matrices.times_fewer == pytest.approx(1536 / 544)
    assert facts.rounding_share == 0.25 and facts.load == 2.0

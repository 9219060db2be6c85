"""A known pattern of allocations has a known peak."""

import gc
from concurrent.futures import ThreadPoolExecutor

import torch

from blocks.cost.peak_memory import TensorMemory

SIZE = 1000  # bytes


def allocate(size: int = SIZE) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8)


def test_the_peak_is_the_most_that_was_alive_at_once():
    with TensorMemory() as memory:
        one = allocate()
        two = allocate(2 * SIZE)
        del one
        three = allocate(SIZE // 2)
        del two, three
        four = allocate()
    assert memory.peak_bytes == 3 * SIZE
    assert memory.alive_bytes == SIZE
    del four
    assert memory.alive_bytes == 0


def test_temporaries_count_while_they_live():
    with TensorMemory() as memory:
        total = (allocate() + 1) + 1  # each sum lives beside what it was made from
    assert memory.peak_bytes == 2 * SIZE
    assert memory.alive_bytes == total.nbytes


def test_views_and_changes_in_place_take_nothing():
    outside = allocate()
    with TensorMemory() as memory:
        outside.add_(1)
        outside.view(10, -1).mT.flatten(0, 0)[2:].fill_(0)
        outside.unflatten(0, (10, -1)).expand(7, -1, -1).transpose(0, 1).chunk(2)
    assert memory.peak_bytes == 0
    with TensorMemory() as memory:
        inside = allocate()
        inside[10:].view(-1).add_(1)
    assert memory.peak_bytes == SIZE


def test_a_view_keeps_its_whole_memory_alive():
    with TensorMemory() as memory:
        part = allocate()[:10]
        assert memory.alive_bytes == SIZE
        del part
        assert memory.alive_bytes == 0


def test_several_results_are_all_counted():
    x = torch.arange(10.0)
    with TensorMemory() as memory:
        values, places = x.sort()
    assert memory.peak_bytes == values.nbytes + places.nbytes


def test_without_gradients_the_count_is_the_same():
    with torch.no_grad(), TensorMemory() as memory:
        x = allocate()
        x[10:].view(-1).add_(1)
    assert memory.peak_bytes == SIZE


def test_other_threads_are_not_counted():
    with TensorMemory() as memory, ThreadPoolExecutor(1) as pool:
        kept = pool.submit(allocate).result()
    assert kept.nbytes == SIZE
    assert memory.peak_bytes == 0


def test_counting_keeps_nothing_alive():
    with TensorMemory() as memory:
        gc.collect()
        for _ in range(100):
            allocate()
    assert memory.peak_bytes == SIZE
    assert memory.alive_bytes == 0

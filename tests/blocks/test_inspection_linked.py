"""How much of its weight a head puts where the answer comes from."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.inspection.linked import linked_shares
from blocks.model.kinds import Architecture
from blocks.model.randomness import generator
from blocks.training.tasks import TaskConfig, TaskKind, build_task


def test_all_weight_on_the_links_is_a_share_of_one():
    right = torch.eye(3)[None]
    assert linked_shares(right, [(i, i) for i in range(3)]).tolist() == [1]
    assert linked_shares(right, [(0, 1), (1, 2)]).tolist() == [0]


def test_rows_without_a_link_do_not_count_and_two_links_add_up():
    pattern = torch.tensor([[[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0], [1.0, 0, 0]]])
    assert linked_shares(pattern, [(0, 0), (1, 0)]).tolist() == [0.75, 1.0]


def test_without_links_the_share_is_zero():
    assert linked_shares(torch.rand(2, 3, 4), []).tolist() == [0, 0]


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 7), st.integers(0, 99))
def test_spread_evenly_it_scores_the_share_of_linked_tokens(heads, target, source, seed):
    pattern = torch.full((heads, target, source), 1 / source)
    links = [(seed % source, row) for row in range(target)]
    assert linked_shares(pattern, links).tolist() == pytest.approx([1 / source] * heads)


@pytest.mark.parametrize("kind", [TaskKind.COPY, TaskKind.REVERSE, TaskKind.SORT])
def test_links_of_letters_lead_to_the_same_letter(kind: TaskKind):
    task = build_task(TaskConfig(kind=kind, seq_len=12, architecture=Architecture.ENCODER_DECODER))
    for row in task.draw(30, generator(0), True):
        links = task.links(row)
        assert sorted(j for _, j in links) == list(range(len(row.target)))
        assert sorted(i for i, _ in links) == list(range(len(row.source)))
        assert all(row.source[i] == row.target[j] for i, j in links)


def test_a_digit_of_a_sum_comes_from_two_digits():
    task = build_task(
        TaskConfig(kind=TaskKind.ADDITION, seq_len=14, architecture=Architecture.ENCODER_DECODER)
    )
    (row,) = task.draw(1, generator(0), True)
    digits = [int(task.tokenizer.decode([i])) if i > 1 else None for i in row.source]
    sums = [sum(digits[i] for i, place in task.links(row) if place == j) for j in range(4)]
    written = [int(task.tokenizer.decode([i])) for i in row.target]
    carry = 0
    for total, digit in zip(sums, written, strict=False):
        carry, last = divmod(total + carry, 10)
        assert last == digit
    assert carry == written[-1]


def test_links_of_a_translation_are_the_grammars():
    task = build_task(TaskConfig(kind=TaskKind.TRANSLATION, seq_len=15))
    for row in task.draw(20, generator(0), True):
        links = task.links(row)
        assert links
        assert max(i for i, _ in links) == len(row.source) - 1  # the mark at the end
        assert max(j for _, j in links) == len(row.target) - 1

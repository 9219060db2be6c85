"""The ledger in short: layers folded, nothing lost."""

from pathlib import Path

import pytest
from published_folders import saved
from toy import toy

from blocks.inspection.file_ledger import ledger_facts, planned_ledger
from blocks.weights.ledger import Entry, Ledger, State
from blocks.weights.published import open_published, read_ledger


@pytest.mark.parametrize("name", ["gpt2", "bart"])
def test_the_file_that_a_model_would_make_is_the_file_that_it_came_from(name: str, tmp_path: Path):
    folder = saved(name, tmp_path).path
    found = {row.key: row for row in read_ledger(folder).rows if row.state is State.USED}
    planned = planned_ledger(open_published(folder).config)
    assert planned is not None and planned.family == name
    assert {row.key: (row.ours, row.operation, row.shape) for row in planned.rows} == {
        key: (row.ours, row.operation, row.shape) for key, row in found.items()
    }


def test_layers_and_biases_are_folded_and_all_numbers_counted(tmp_path: Path):
    ledger = read_ledger(saved("gpt2", tmp_path).path)
    facts = ledger_facts(ledger, "toy")
    (fused,) = (group for group in facts.groups if group.theirs.endswith("c_attn"))
    assert fused.theirs == "transformer.h.*.attn.c_attn"
    assert fused.ours == tuple(f"layers.*.attention.{letter}_proj" for letter in "qkv")
    assert fused.n_tensors == 4 and set(fused.kinds) == {"weight", "bias"}
    assert sum(group.n_tensors for group in facts.groups) == len(ledger.rows)
    assert fused.n_numbers == 2 * (24 * 72 + 72)
    assert facts.n_in == {State.USED: 28} and facts.n_odd == 0
    assert facts.n_by_operation["transpose, split q k v"] == 4


def test_what_is_wrong_is_counted():
    rows = (Entry("a", State.MISSING), Entry("b.weight", State.ASIDE), Entry("c", State.TWICE))
    assert ledger_facts(Ledger("gpt2", rows)).n_odd == 2


def test_a_model_of_no_family_has_no_file():
    assert planned_ledger(toy(architecture="block")) is None

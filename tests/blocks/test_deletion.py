"""Deleted sub-layers and swapped layers against models that were built that way."""

from itertools import pairwise

import pytest
import torch
from efficiency_toy import config_of, sorter, weights_of, with_task
from toy import assert_near

from blocks.efficiency.deletion import (
    DEEP,
    Change,
    Changed,
    at_random,
    changed_model,
    least_first,
    singles,
    sublayer_paths,
    swaps,
)
from blocks.efficiency.deletion_facts import change_at, deletion_facts, n_changes
from blocks.efficiency.structured import without_layers
from blocks.model.randomness import generator
from blocks.weights.model_file import trained

READ = torch.randint(0, 11, (3, 6), generator=generator(0, "ids"))


def model_of(**changes):
    config = config_of(architecture="encoder", **changes)
    return with_task(config, weights_of(config))


@pytest.mark.parametrize(
    ("path", "matrix"),
    [
        ("layers.1.attention_residual", "layers.1.attention.out_proj"),
        ("layers.2.feed_forward_residual", "layers.2.feed_forward.down_proj"),
    ],
)
def test_what_is_deleted_is_what_writes_nothing(path: str, matrix: str):
    model = model_of()
    silent = {
        name: torch.zeros_like(tensor) if name.startswith(f"{matrix}.") else tensor
        for name, tensor in model.file.tensors.items()
    }
    with torch.no_grad():
        ours = changed_model(model, Change((path,)))(READ)
        assert_near(ours, trained(model.file.config, silent)(READ))
        assert not ours.equal(model.model(READ))


@pytest.mark.parametrize(
    "changes", [{}, {"norm_placement": "post"}, {"residual": False}, {"norm_placement": "parallel"}]
)
def test_a_layer_without_its_sublayers_is_no_layer(changes):
    model = model_of(**changes)
    both = tuple(path for path in sublayer_paths(model.model) if path.startswith("layers.1"))
    assert len(both) == (1 if changes.get("norm_placement") == "parallel" else 2)
    left = without_layers(model.file.config, model.file.tensors, (1,))
    fewer = trained(left.config, left.of(model.file.tensors))
    with torch.no_grad():
        assert_near(changed_model(model, Change(both))(READ), fewer(READ))


def test_swapped_layers_are_those_of_exchanged_weights():
    model = model_of()
    exchanged = {
        name.replace("layers.0.", "layers.x.")
        .replace("layers.2.", "layers.0.")
        .replace("layers.x.", "layers.2."): tensor
        for name, tensor in model.file.tensors.items()
    }
    with torch.no_grad():
        ours = changed_model(model, Change(swapped=("layers.0", "layers.2")))(READ)
        assert ours.equal(trained(model.file.config, exchanged)(READ))


def test_layers_are_swapped_within_a_stack():
    config = config_of(architecture="encoder-decoder")
    pairs = swaps(trained(config, weights_of(config)))
    assert len(pairs) == 6
    assert all(one.partition(".")[0] == other.partition(".")[0] for one, other in pairs)


def test_every_order_deletes_one_more_each_time():
    model = sorter().model
    for line in (at_random(model, 0), at_random(model, 1)):
        assert [len(each.deleted) for each in line] == [1, 2, 3, 4, 5, 6]
        assert all({*a.deleted} < {*b.deleted} for a, b in pairwise(line))
    assert at_random(model, 0) != at_random(model, 1)
    measured = tuple(
        Changed(each, -float(i), float(i)) for i, each in enumerate(reversed(singles(model)))
    )
    last = sublayer_paths(model)[-1]
    assert least_first(model, measured)[0] == Change((last,))


def test_every_change_of_the_facts_is_counted():
    model, asked = sorter(), []

    def measured(change: Change) -> Changed:
        asked.append(change)
        return Changed(change, 1.0 - 0.1 * len(change.deleted), float(len(change.deleted)))

    facts = deletion_facts(model, measured)
    wanted = {*asked}
    assert {change_at(model, i, measured) for i in range(n_changes(model))} == wanted
    assert facts.random_means == pytest.approx([1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    assert len(facts.deleted) == 6 and len(facts.swapped) == 3


def test_of_a_deep_model_whole_layers_go_and_neighbors_are_swapped():
    config = config_of(architecture="encoder").replace(n_layers=DEEP + 1)
    config = config.replace(vocab_size=sorter().file.config.vocab_size)
    model = with_task(config, weights_of(config))
    paths = [f"layers.{i}" for i in range(DEEP + 1)]
    first = singles(model.model)
    assert [each.deleted for each in first[1 : DEEP + 2]] == [(path,) for path in paths]
    assert [each.swapped for each in first[DEEP + 2 :]] == [*pairwise(paths)]
    assert len(at_random(model.model, 0)) == (DEEP + 1) // 2
    left = without_layers(config, model.file.tensors, (3,))
    whole = changed_model(model, Change(("layers.3",)))
    ids = model.examiner.batches[0].token_ids
    assert_near(whole(ids), trained(left.config, left.of(model.file.tensors))(ids))

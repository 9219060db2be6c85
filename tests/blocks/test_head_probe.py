"""Heads named by random tokens, whatever a reader types."""

import numpy as np
import pytest
import torch

from blocks import record
from blocks.inspection.head_probe import KINDS, as_many_others, head_probe, probe_bits, probe_ids
from blocks.model.masks import causal
from blocks.weights.model_file import trained
from pages.server import starts

INDUCTION = starts.start("induction")


@pytest.fixture(scope="module")
def model():
    found = starts.model(INDUCTION.weights)
    return trained(INDUCTION.config, found.tensors, device="cpu", dtype=torch.float32)


@pytest.fixture(scope="module")
def probe(model):
    return head_probe(model, INDUCTION.config)


def test_what_learned_to_repeat_has_induction_heads_and_lives_by_them(model, probe):
    assert set(probe.named("induction")["layer"]) == {1}
    first, second = probe.copies()
    assert first > 6 and second < 0.5
    off = probe.places("induction")
    assert probe.copies(probe_bits(model, INDUCTION.config, off))[1] > second + 3
    assert probe_bits(model, INDUCTION.config, ()) == pytest.approx(probe.bits, rel=1e-3)


def test_scores_are_the_weights_where_the_key_is_found_by_its_token(model, probe):
    """Of each query of the second copy: the key is looked up by what stands there."""
    ids = probe_ids(INDUCTION.config)
    seen = record(model, ids, mask=causal(ids.shape[1]))
    n = ids.shape[1] // 2
    for layer, head in ((0, 2), (1, 1)):
        found = {kind: [] for kind in KINDS}
        for row, pattern in zip(ids.tolist(), seen.pattern(layer)[:, head], strict=True):
            for query in range(n + 1, 2 * n):
                earlier = row.index(row[query])
                keys = (earlier + 1, query - 1, earlier, 0, query)
                for kind, key in zip(KINDS, keys, strict=True):
                    found[kind].append(float(pattern[query, key]))
        table = probe.heads.set_index(["layer", "head"])
        expected = [np.mean(found[kind]) for kind in KINDS]
        assert table.loc[(layer, head), list(KINDS)].tolist() == pytest.approx(expected, abs=1e-6)
    targets = ids[:, 1:, None]
    log_p = seen.output[:, :-1].log_softmax(-1).gather(-1, targets)[..., 0].mean(0) / np.log(2)
    assert probe.bits == pytest.approx(-log_p.numpy(), rel=1e-4)


def test_a_control_takes_other_heads_of_the_same_layers(probe):
    others = as_many_others(probe.heads, [(1, 0), (1, 2), (0, 3)])
    assert sorted(layer for layer, _head in others) == [0, 1, 1]
    assert not {*others} & {(1, 0), (1, 2), (0, 3)} and len({*others}) == 3
    assert len(as_many_others(probe.heads, [(1, head) for head in range(4)])) == 0

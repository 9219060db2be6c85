"""A model trained to be sparse: few weights are left, and the drawn edges are all of it."""

import numpy as np
import pytest
import torch

from blocks.known import bracket_texts, sparse
from blocks.known.bracket_texts import CHARACTERS, IGNORED, N_KINDS, held_out, learned
from blocks.known.circuit import Column, Node, ablated, circuit_facts, edge_of, through_edges
from blocks.known.circuit_parts import parts
from blocks.known.faithful import faithful
from blocks.known.followed import contributions, followed
from blocks.known.recorded_circuits import (
    CONTROL_SEEDS,
    LEAST_RATIO,
    N_TEXTS,
    SEEDS,
    climbed,
    recorded,
    rung,
)
from blocks.known.sparse import CONFIG, Circuit, Part, SparseTraining, model_of, weights_of
from blocks.known.stacked import trained_together
from blocks.model.models import build


@pytest.fixture(scope="module")
def circuit() -> Circuit:
    """The one that ships for seed 0."""
    return recorded().circuits[0]


def test_an_answer_is_the_bracket_that_is_open():
    texts = learned(0)
    for row, answers in zip(
        texts.token_ids[:50].tolist(), texts.answers[:50].tolist(), strict=True
    ):
        counts = [0] * N_KINDS
        for token, answer in zip(row, answers, strict=True):
            if token < 2 * N_KINDS:
                counts[token % N_KINDS] += 1 if token < N_KINDS else -1
            expected = N_KINDS + counts.index(1) if any(counts) else IGNORED
            assert answer == expected


def test_shuffled_answers_are_the_same_ones_and_equal_for_equal_beginnings():
    true, dealt = learned(0), learned(0, is_shuffled=True)
    assert torch.equal(true.token_ids, dealt.token_ids)
    assert torch.equal(true.answers == IGNORED, dealt.answers == IGNORED)
    known: dict[tuple[int, ...], int] = {}
    truths: dict[tuple[int, ...], int] = {}
    for row, told, right in zip(
        *map(torch.Tensor.tolist, (true.token_ids, dealt.answers, true.answers)), strict=True
    ):
        for i, answer in enumerate(told):
            assert known.setdefault(tuple(row[: i + 1]), answer) == answer
            truths[tuple(row[: i + 1])] = right[i]
    assert sorted(known.values()) == sorted(truths.values())
    assert known != truths


def test_only_the_largest_weights_of_each_matrix_stay():
    model = build(CONFIG, seed=0)
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    sparse.keep_largest(model.parameters(), 0.1)
    for name, weight in model.named_parameters():
        n = max(sparse.LEAST_KEPT, round(0.1 * weight.numel()))
        assert int((weight != 0).sum()) == n
        assert weight[weight != 0].abs().min() > before[name][weight == 0].abs().max()


def test_a_short_training_tells_how_far_it_is_and_goes_on_where_it_was(monkeypatch):
    monkeypatch.setattr(bracket_texts, "N_HELD_OUT", 16)
    training = SparseTraining(seed=99, n_updates=20, n_texts=16, is_shuffled=True)
    found = [*training.results(())]
    assert len(found) == training.n_steps
    assert [each.n_updates for each in found[:-1]] == [*range(1, 21)]
    assert isinstance(found[-1], Circuit) and isinstance(found[0], Part)
    assert found[-2].n_weights == len(found[-1].kept) == 6 * sparse.LEAST_KEPT
    assert [*training.results(found[:15])] == found[15:]
    told = rung(training, found[-1])
    assert told.n_trained == told.n_kept == found[-2].n_weights


def test_the_drawn_edges_alone_are_the_model(circuit: Circuit):
    """An independent pass in NumPy over the edges gives the logits and attention of the model."""
    texts, edges = held_out(0).token_ids[:8], [*map(edge_of, circuit.kept)]
    logits = model_of(circuit.kept)(texts).detach()
    for row, expected in zip(texts.tolist(), logits, strict=True):
        np.testing.assert_allclose(
            through_edges(edges, row).logits, expected, rtol=1e-4, atol=1e-5 * expected.abs().max()
        )


def test_weights_come_back_from_the_model_that_has_them_alone(circuit: Circuit):
    assert weights_of(model_of(circuit.kept)) == circuit.kept


def test_flows_into_a_node_sum_to_what_it_is(circuit: Circuit):
    facts = circuit_facts(circuit, frozenset(), "(ab)[b]{a", 8)
    inside = facts.passed.inside
    for column in (Column.VALUE, Column.LOGIT):
        for node in {edge.end for edge in facts.edges if edge.end.column is column}:
            into = sum(facts.flow(edge) for edge in facts.edges if edge.end == node)
            assert into == pytest.approx(inside[column][8, node.place], rel=1e-6, abs=1e-9)


def test_what_each_token_adds_sums_to_the_logits_of_the_model(circuit: Circuit):
    """Against dense matrices of the model itself, with the attention weights held."""
    model = model_of(circuit.kept)
    matrices = {name: each.detach().double() for name, each in model.named_parameters()}
    _q, _k, v, out = (
        matrices[f"layers.0.attention.{name}_proj.weight"] for name in ("q", "k", "v", "out")
    )
    text, token = "(ab)[b]{a", 8
    for key in (7, 8, 4):
        facts = circuit_facts(circuit, frozenset(), text, token, key)
        held = torch.tensor(facts.passed.pattern[:, token, key]).repeat_interleave(CONFIG.d_head)
        stream = matrices["embed.weight"][facts.token_ids[key]]
        dense = out @ (held * (v @ stream)) + (stream if key == token else 0)
        dense = matrices["unembed.weight"] @ dense
        found = followed(facts)
        np.testing.assert_allclose(contributions(facts)[key], dense, rtol=1e-6)
        assert found.sum == pytest.approx(dense[CHARACTERS.index("}")].item(), rel=1e-6)
        for i, value in found.last_steps.items():
            start, _end, weight = facts.edges[i][:3]
            assert value == pytest.approx(found.added[start.column][start.place] * weight)
        assert sum(found.last_steps.values()) == pytest.approx(found.sum)
    logits = model(torch.tensor([facts.token_ids])).detach()[0, token]
    np.testing.assert_allclose(contributions(facts).sum(0), logits, rtol=1e-4)
    assert bracket_texts.opened(facts.token_ids) == 7
    assert bracket_texts.opened(facts.token_ids[:7]) is None


def test_without_the_weight_needed_most_one_kind_of_answer_is_wrong(circuit: Circuit):
    facts = circuit_facts(circuit, frozenset({0}), "(ab)[b]{a", 8)
    wrong = [kind for kind, share in facts.by_kind.items() if share < 0.5]
    assert wrong == ["}"] and all(s == 1 for k, s in facts.by_kind.items() if k != "}")


def test_an_edge_that_is_taken_out_is_measured_anew(circuit: Circuit):
    facts = circuit_facts(circuit, frozenset({0}), "(ab)[b]{a", 8)
    assert facts.now == facts.alone[0] == ablated(facts.circuit, frozenset({0}))
    assert facts.now.loss == max(each.loss for each in facts.alone) > facts.whole.loss
    assert facts.now.accuracy < facts.whole.accuracy
    whole = circuit_facts(circuit, frozenset(), "(ab)[b]{a", 8)
    assert whole.said == "}"


def test_what_ships_has_few_weights_says_all_and_is_faithful():
    assert 0 in recorded().circuits
    for found in recorded().circuits.values():
        assert len(found.kept) <= len(found.trained) <= 195
        assert found.accuracy == 1 and found.held_out >= 0.9995
        assert not {each[:3] for each in found.kept} & {each[:3] for each in found.pruned}
    assert is_faithful(recorded().circuits[0])


def is_faithful(circuit: Circuit) -> bool:
    agreement = faithful(circuit)
    return agreement.most_changed <= 0.01 and agreement.cosine >= 0.95


def test_models_trained_together_learn_what_each_would_learn_alone():
    tried = [SparseTraining(seed=1, is_shuffled=k, n_updates=20, n_texts=4) for k in (False, True)]
    together = trained_together(tried)
    for training, model in zip(tried, together, strict=True):
        alone = [*training.results(())][-1]
        found = training.pruned(model)
        assert [each[:3] for each in found.kept] == [each[:3] for each in alone.kept]
        pair = ([each.value for each in x.kept] for x in (found, alone))
        np.testing.assert_allclose(*pair, rtol=1e-3)


def test_the_control_needs_weights_for_each_shuffled_answer_and_few_for_a_rule():
    found = recorded()
    for n_texts in N_TEXTS:
        true, dealt = (found.learned(n_texts, is_shuffled=each) for each in (False, True))
        assert {e.seed for e in true} == {e.seed for e in dealt} == {*CONTROL_SEEDS}
        assert max(each.held_out for each in dealt) < 0.5 < min(each.held_out for each in true)
    assert found.is_proof and max(found.ratios) > min(found.ratios) >= LEAST_RATIO


def test_a_control_passes_with_five_times_the_weights_with_every_seed():
    true = recorded().learned(N_TEXTS[-1], is_shuffled=False)
    for times, n_learned, passes in ((4, 3, False), (5, 3, True), (5, 2, False)):
        more = [each._replace(is_shuffled=True, n_kept=times * each.n_kept) for each in true]
        control = (*true, *more[:n_learned])
        assert recorded()._replace(control=control).is_proof == passes


def test_parts_name_what_moves_them(circuit: Circuit):
    facts = circuit_facts(circuit, frozenset(), "(ab)[b]{a", 8)
    assert {each for part in parts(facts) for each in part.raises.split()} <= {*CHARACTERS}
    start, end, weight = facts.edges[0]
    assert isinstance(start, Node) and end.column is not Column.TOKEN and weight != 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", SEEDS)
def test_every_seed_finds_a_circuit_anew(seed: int):
    found = [*SparseTraining(seed=seed).results(())][-1]
    assert isinstance(found, Circuit) and is_faithful(found)
    assert len(found.kept) <= 195 and found.accuracy == 1 and found.held_out >= 0.9995


@pytest.mark.exhaustive
def test_the_control_comes_out_anew():
    ships = [each for each in recorded().control if each.n_texts == N_TEXTS[0]]
    assert [*climbed(CONTROL_SEEDS, N_TEXTS[0])] == ships

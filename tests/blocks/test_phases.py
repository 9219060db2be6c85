"""Phase changes: measures against their definitions, branches against their trunk, what ships."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from blocks.inspection.head_probe import KINDS
from blocks.model.models import build
from blocks.model.randomness import generator
from blocks.phases import fourier, recorded
from blocks.phases.clock import Change, Clock, trained
from blocks.phases.facts import clock_facts, falls_at
from blocks.phases.hindsight import Hindsight, ov_circuit, qk_circuit, removal_orders
from blocks.phases.setups import SETUPS
from blocks.phases.superposition import ToyKept
from blocks.training.tasks import TaskKind
from blocks.weights.tensors import read_weights

P = 59


def shorter(monkeypatch: pytest.MonkeyPatch, kind: TaskKind, n_steps: int, every: int) -> None:
    setup = SETUPS[kind]
    recipe = setup.recipe.replace(n_steps=n_steps, batch_size=8)
    config = setup.config.replace(d_model=16, max_seq_len=setup.config.max_seq_len)
    short = dataclasses.replace(setup, config=config, recipe=recipe, every=every)
    monkeypatch.setitem(SETUPS, kind, short)


def test_the_energy_is_that_of_a_discrete_fourier_transform():
    embedding = torch.randn(P, 8, generator=generator(0), dtype=torch.float64)
    found = np.abs(np.fft.rfft(embedding.numpy(), axis=0))[1:] ** 2
    expected = found.sum(1) / found.sum()
    np.testing.assert_allclose(fourier.energy(embedding), expected, rtol=1e-9)


def test_an_embedding_without_a_frequency_has_nothing_of_it_and_all_of_the_others():
    embedding = torch.randn(P, 8, generator=generator(1), dtype=torch.float64)
    cut = fourier.without(embedding, torch.tensor([3, 11]))
    basis = fourier.waves(P)
    left, whole = (basis @ each for each in (cut, embedding))
    others = [i for i in range(len(basis)) if i not in (3, 11)]
    torch.testing.assert_close(left[others], whole[others])
    assert left[[3, 11]].norm() < 1e-9 * whole.norm()


def test_frequencies_in_planes_that_are_not_at_right_angles_are_each_an_exact_circle():
    places, random = torch.tensor([1, 4, 11]), generator(2)
    own = torch.linalg.qr(torch.randn(3, 8, 2, generator=random, dtype=torch.float64)).Q
    embedding = torch.einsum("kxp,kdx->pd", fourier.waves(P)[places], own)
    axes = own.mT.flatten(0, 1)
    assert (axes @ axes.T - torch.eye(6)).abs().max() > 0.3
    found = torch.einsum("pd,kdx->kpx", embedding, fourier.planes(embedding, places))
    torch.testing.assert_close(found.norm(dim=2), torch.full((3, P), (2 / P) ** 0.5).double())


@pytest.mark.parametrize("sign", [1, -1])
def test_logits_made_of_a_wave_alone_lose_nothing_restricted_and_all_excluded(sign: int):
    a, b = torch.cartesian_prod(torch.arange(P), torch.arange(P)).unbind(1)
    answers = (a + sign * b) % P
    angle = 2 * math.pi * 5 * (answers[:, None] - torch.arange(P)) / P
    logits, place = 9 * angle.double().cos(), torch.tensor([4])
    basis = fourier.sum_waves(P, place, sign)
    whole = float(cross_entropy(logits, answers))
    assert fourier.restricted_loss(logits, answers, basis) == pytest.approx(whole)
    everything = torch.ones(P * P, dtype=torch.bool)
    excluded = fourier.excluded_loss(logits, answers, basis, everything)
    assert excluded == pytest.approx(math.log(P))


def test_a_fall_is_found_half_way_and_else_at_the_end():
    steps = range(0, 70, 10)
    assert falls_at(steps, np.array([4.0, 5, 8, 7, 5, 1, 0])) == 50
    assert falls_at(steps, np.array([4.0, 1, 0, 1, 5, 6, 7])) == 60


def test_the_loss_on_all_pairs_is_that_of_one_pass_over_all_of_them(monkeypatch):
    kind = TaskKind.MODULAR_ADDITION
    shorter(monkeypatch, kind, 4, 2)
    clock = Clock(kind=kind)
    facts = clock_facts(clock, [*clock.results(())], 0)
    pairs = torch.cartesian_prod(torch.arange(P), torch.arange(P))
    first, equal = 1, 0  # the tokens of 0 and of =
    for training, found in zip(trained(clock), facts.whole, strict=True):
        equals = torch.full((len(pairs), 1), equal)
        logits = training.model(torch.cat([pairs + first, equals], 1))[:, -1]
        expected = cross_entropy(logits, pairs.sum(1) % P + first)
        assert found == pytest.approx(expected.item(), rel=1e-5)


def test_dimensionality_is_that_of_the_polygon():
    angles = np.radians(np.arange(5) * 72)
    pentagon = np.stack([np.cos(angles), np.sin(angles)])
    facing = np.array([[1, -1, 0, 0, 0], [0, 0, 1, 0, 0]])
    for directions, shares in ((pentagon, [0.4] * 5), (facing, [0.5, 0.5, 1, 0, 0])):
        kept = ToyKept(0, 0.0, directions.astype(np.float32))
        np.testing.assert_allclose(kept.dimensionality, shares, atol=1e-6)
        assert kept.n_kept == np.count_nonzero(shares)
    np.testing.assert_allclose(ToyKept(0, 0.0, pentagon.astype(np.float32)).gaps, 72, rtol=1e-5)


def test_a_branch_without_a_change_is_its_trunk_to_the_last_bit(monkeypatch):
    kind = TaskKind.INDUCTION
    shorter(monkeypatch, kind, 8, 4)
    runs = {
        name: [read_weights(each.model) for each in trained(Clock(kind=kind, change=change))]
        for name, change in {
            "trunk": None,
            "same": Change(step=4),
            "cut": Change(step=4, head=5),
        }.items()
    }
    for i, weights in enumerate(runs["trunk"]):
        assert all(torch.equal(weights[name], runs["same"][i][name]) for name in weights)
    name = "layers.1.attention.out_proj.weight"
    assert not runs["cut"][2][name][:, 4:8].any() and runs["cut"][2][name][:, :4].all()
    assert torch.equal(runs["cut"][1][name], runs["trunk"][1][name])


@pytest.mark.parametrize("kind", ["modular_subtraction", "induction", "parity"])
def test_a_clock_tells_each_look_and_then_looks_back(monkeypatch, kind: str):
    shorter(monkeypatch, TaskKind(kind), 2, 1)
    clock = Clock(kind=TaskKind(kind), seed=3)
    found = [*clock.results(())]
    assert len(found) == clock.n_steps == 4
    assert [each.step for each in found[:-1]] == [0, 1, 2]
    assert next(clock.results(found[:2])) == found[2]
    facts = clock_facts(clock, found, 1)
    assert facts.now.step == 1 and len(facts.table) == 3
    again = recorded._read("x", recorded.written("x", found))
    assert [each.step for each in again[:3]] == [0, 1, 2]
    for name, array in found[-1].arrays.items():
        np.testing.assert_allclose(again[-1].arrays[name], array, rtol=2e-3, atol=2e-3)


def test_the_circuits_are_products_of_the_weights_of_one_head():
    model = build(SETUPS[TaskKind.INDUCTION].config, seed=1)
    weights = {name: each.double() for name, each in read_weights(model).items()}
    rows = slice(16, 32)  # of head 1
    v, out, q, k = (
        weights[f"layers.{layer}.attention.{name}.weight"]
        for layer, name in ((0, "v_proj"), (0, "out_proj"), (1, "q_proj"), (1, "k_proj"))
    )
    embed, moved = weights["embed.weight"].T, out[:, rows] @ v[rows]
    with torch.no_grad():
        found = ov_circuit(model, 1).double(), qk_circuit(model, 5, 1).double()
    torch.testing.assert_close(
        found[0], weights["unembed.weight"] @ moved @ embed, rtol=1e-4, atol=1e-5
    )
    scores = (q[rows] @ embed).T @ (k[rows] @ moved @ embed) / 4
    torch.testing.assert_close(found[1], scores, rtol=1e-4, atol=1e-4)


def test_heads_go_from_the_strongest_on_and_as_a_control_from_the_weakest():
    scores = np.zeros((4, len(KINDS)))
    scores[:2, KINDS.index("previous_token")] = 0.1, 0.8
    scores[2:, KINDS.index("induction")] = 0.9, 0.3
    found = removal_orders(scores, 2)
    assert found == [[(1, 0), (1, 1)], [(0, 1), (0, 0)], [(0, 0), (0, 1)]]


@pytest.mark.parametrize("name", recorded.series())
def test_what_ships_is_whole(name: str):
    series = recorded.series()[name]
    found = recorded.recorded(series)
    assert len(found) == series.n_steps
    is_looked_back = isinstance(series, Clock) and series.change is None
    assert isinstance(found[-1], Hindsight) == is_looked_back


def test_all_that_ships_is_small():
    assert recorded.FILE.stat().st_size < 1_500_000

"""Tables of positions against the formulas of their papers and against models nobody here wrote."""

import math

import numpy as np
import pytest
import torch
from toy import assert_near, draw, scramble, toy
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from blocks import build
from blocks.inspection import position_tables
from blocks.inspection.other_positions import first_layer, learned_table, with_position
from blocks.inspection.position_tables import position_table
from blocks.model.kinds import PositionKind
from blocks.model.positions import (
    Rope,
    Rotary,
    alibi_bias,
    rotate_pairs,
    sinusoidal_table,
    wave_angles,
)

LONG = 64


def papers_table(n: int, d_model: int) -> np.ndarray:
    """Vaswani et al. 2017, section 3.5, in float64 numpy, one number at a time."""
    table = np.zeros((n, d_model))
    for position in range(n):
        for i in range(0, d_model, 2):
            angle = position / 10_000 ** (i / d_model)
            table[position, i] = math.sin(angle)
            if i + 1 < d_model:
                table[position, i + 1] = math.cos(angle)
    return table


@pytest.mark.parametrize("d_model", [1, 7, 16])
def test_sinusoidal_is_the_paper_to_float32(d_model: int):
    expected = torch.tensor(papers_table(LONG, d_model), dtype=torch.float32)
    assert_near(sinusoidal_table(LONG, d_model), expected, tolerance=1e-5)


@pytest.mark.parametrize(("d_head", "base"), [(8, 10_000.0), (32, 500_000.0)])
def test_rope_is_that_of_llama(d_head: int, base: float):
    q, k = (draw(2, 3, LONG, d_head, seed=seed) for seed in (0, 1))
    speeds = 1.0 / base ** (torch.arange(0, d_head, 2).float() / d_head)
    angles = torch.outer(torch.arange(LONG).float(), speeds)
    both = torch.cat((angles, angles), dim=-1)[None]
    theirs = apply_rotary_pos_emb(q, k, both.cos(), both.sin())
    ours = (rotate_pairs(x, wave_angles(LONG, d_head, base)) for x in (q, k))
    for our, their in zip(ours, theirs, strict=True):
        assert_near(our, their, tolerance=1e-5)
    assert torch.equal(
        Rotary(Rope(d_head, base))(q), rotate_pairs(q, wave_angles(LONG, d_head, base))
    )


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 6, 8, 12, 16])
def test_alibi_is_that_of_bloom_up_to_what_softmax_does_not_see(n_heads: int):
    theirs = build_alibi_tensor(torch.ones(1, LONG), n_heads, torch.float32)
    theirs = theirs.view(n_heads, 1, LONG) - theirs.view(n_heads, LONG, 1)  # slope · (key − query)
    ours = alibi_bias(n_heads, LONG).tril()
    assert_near(ours, theirs.tril(), tolerance=1e-5)


def test_each_kind_has_its_table():
    config, learned = toy(), draw(8, 16)
    shapes = {
        PositionKind.NONE: (5, 0),
        PositionKind.SINUSOIDAL: (5, 16),
        PositionKind.LEARNED: (5, 16),
        PositionKind.ROPE: (5, 2),
        PositionKind.ALIBI: (5, 4),
    }
    for kind, shape in shapes.items():
        assert position_table(config, kind, 5, learned=learned).shape == shape
    bias = position_table(config, PositionKind.ALIBI, 5, query=2, learned=learned)
    assert torch.equal(bias.T, alibi_bias(4, 5)[:, 2])


def test_wavelengths_are_measured_where_a_wave_begins_anew():
    config = toy(d_model=32, n_heads=2)
    for kind in (PositionKind.SINUSOIDAL, PositionKind.ROPE):
        waves = position_tables.wavelengths(config, kind, 64)
        assert waves["wavelength"].iloc[0] == pytest.approx(2 * math.pi)
        width = config.d_model if kind is PositionKind.SINUSOIDAL else config.d_head
        speed = wave_angles(2, width, 10_000.0)[1].double()
        assert torch.tensor(waves["wavelength"]) * speed == pytest.approx(2 * math.pi, rel=1e-5)


def test_half_distance_halves_a_weight():
    table = position_tables.half_distances(toy())
    factor = np.exp(-table["slope"] * table["half_distance"])
    assert factor.tolist() == pytest.approx([0.5] * 4)


def test_spectrum_finds_the_wave_that_is_there():
    position = torch.arange(40)[:, None]
    table = position_tables.spectrum(torch.cos(2 * math.pi * position / 8).expand(-1, 3))
    strongest = table.loc[table["share"].idxmax()]
    assert strongest["wavelength"] == 8 and strongest["share"] == pytest.approx(1)
    assert table["share"].sum() == pytest.approx(1)
    assert position_tables.spectrum(torch.zeros(6, 2))["share"].sum() == 0


def test_likeness_of_waves_depends_on_the_distance_alone():
    square = position_tables.similarity(sinusoidal_table(LONG, 16))
    table = position_tables.by_distance(square)
    assert (table["most"] - table["least"]).max() < 1e-4
    assert table["mean"][0] == pytest.approx(1)
    assert table["mean"][3] == pytest.approx(square[10, 13].item(), abs=1e-4)


def test_rope_similarity_is_what_the_formula_expects():
    table = position_tables.rope_similarity(toy(d_model=64, n_heads=2), LONG, seed=0)
    assert table["mean"][0] == pytest.approx(1) and table["std"][0] < 1e-5
    standard_error = table["std"] / position_tables.N_DRAWS**0.5
    assert ((table["mean"] - table["expected"]).abs() <= 5 * standard_error + 1e-5).all()


def test_a_learned_table_is_drawn_as_build_draws_it():
    config, other = toy(position_kind="learned"), toy(position_kind="rope")
    built = build(config, seed=3).position.weight
    assert torch.equal(position_tables.drawn_table(config, 3), built)
    assert torch.equal(learned_table(build(other, seed=3), other, 3, 5), built[:5])


def test_a_table_that_is_only_shown_is_drawn_as_far_as_anybody_looks():
    config = toy(max_seq_len=10**6)
    assert len(position_tables.drawn_table(config, 3)) == position_tables.MOST_DRAWN


@pytest.mark.parametrize("kind", PositionKind)
@pytest.mark.parametrize("own", ["learned", "rope", "sinusoidal"])
@pytest.mark.thinned
def test_another_kind_keeps_the_weights(kind: PositionKind, own: str):
    for architecture in ("block", "encoder", "gpt"):
        config = toy(position_kind=own, architecture=architecture, vocab_size=11, n_layers=2)
        model = build(config, seed=1)
        other = with_position(model, config, kind, seed=1)
        expected = build(config.replace(position_kind=kind), seed=1)
        x = torch.tensor([[1, 5, 2]]) if architecture != "block" else draw(1, 3, 16)
        with torch.no_grad():
            assert torch.equal(other(x), expected(x))
            if kind is config.position.position_kind:
                assert torch.equal(other(x), model(x))


@pytest.mark.parametrize(
    "changes",
    [
        {"architecture": "encoder", "first_norm": False},
        {"n_experts": 3, "n_dense_layers": 1, "router_kind": "sigmoid"},
        {"n_experts": 3, "n_dense_layers": 1, "n_mtp_modules": 1},
        {"n_mtp_modules": 2},
    ],
    ids="-".join,
)
def test_the_first_layer_alone_is_the_first_layer_whatever_comes_after(changes: dict):
    config = toy(**{"architecture": "gpt", "vocab_size": 11, "n_layers": 2, **changes})
    model, x = scramble(build(config)), draw(1, 3, config.d_model)
    alone = first_layer(model, config, PositionKind.NONE, torch.float32, seed=0)
    with torch.no_grad():
        assert torch.equal(alone(x), model.layers[0](x))


def test_the_model_stays_as_it_is():
    config = toy(position_kind="rope")
    model = build(config)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    first_layer(model, config, PositionKind.LEARNED, torch.float64, seed=0)
    with_position(model, config, PositionKind.NONE, seed=0).double()
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert next(model.parameters()).dtype is torch.float32

"""Positions against the formulas of their papers."""

import math
from itertools import product

import pytest
import torch
from toy import BATCH, D_MODEL, SEQ_LEN, assert_near, draw, scramble, toy, toy_input
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

from blocks import ConfigError, ModelConfig, build
from blocks.model.in_use import settings_in_use
from blocks.model.kinds import RopeScaling
from blocks.model.positions import (
    Rope,
    Rotary,
    alibi_bias,
    alibi_slopes,
    rope_of,
    rotate_pairs,
    sinusoidal_table,
)
from blocks.text import Generation, SamplingConfig

BASE = 10_000.0
LONG = 512


@pytest.mark.parametrize("d_model", [1, 7, D_MODEL])
def test_sinusoidal_table_is_the_formula_of_the_paper(d_model: int):
    def wave(position: int, column: int) -> float:
        angle = position / BASE ** (2 * (column // 2) / d_model)
        return math.cos(angle) if column % 2 else math.sin(angle)

    expected = [[wave(position, i) for i in range(d_model)] for position in range(LONG)]
    table = sinusoidal_table(LONG, d_model)
    assert_near(table[:SEQ_LEN], torch.tensor(expected[:SEQ_LEN]), tolerance=1e-6)
    assert_near(table, torch.tensor(expected), tolerance=1e-4)  # a float32 angle near 512


@pytest.mark.parametrize("d_model", [1, 7, D_MODEL])
def test_sines_first_are_the_waves_of_marian(d_model: int):
    expected = MarianSinusoidalPositionalEmbedding(SEQ_LEN, d_model).create_weight()
    table = sinusoidal_table(SEQ_LEN, d_model, sines_first=True)
    assert_near(table, expected, tolerance=1e-6)
    same = (each.sort(dim=-1).values for each in (table, sinusoidal_table(SEQ_LEN, d_model)))
    assert torch.equal(*same)


@pytest.mark.parametrize("d_model", [7, D_MODEL])
def test_sinusoidal_positions_are_added_to_the_input(d_model: int):
    model = build(toy(d_model=d_model, n_heads=1, position_kind="sinusoidal"))
    x = draw(BATCH, SEQ_LEN, d_model)
    assert_near(model.position(x) - x, sinusoidal_table(SEQ_LEN, d_model).expand_as(x))


def test_learned_positions_are_rows_of_the_table():
    model, x = build(toy(position_kind="learned")), toy_input()
    assert torch.equal(model.position(x), x + model.position.weight[:SEQ_LEN])


def test_learned_positions_refuse_a_sequence_longer_than_their_table():
    max_seq_len = SEQ_LEN - 1
    model = build(toy(position_kind="learned", max_seq_len=max_seq_len))
    message = rf"seq_len \({SEQ_LEN}\) exceeds max_seq_len \({max_seq_len}\)"
    with pytest.raises(ConfigError, match=message) as refusal:
        model(toy_input())
    assert refusal.value.faults[0].mend == {"seq_len": max_seq_len}


def test_rope_is_a_turn_in_the_complex_plane():
    d_head, base = 8, 500.0
    x = draw(BATCH, 3, SEQ_LEN, d_head)
    numbers = torch.complex(x[..., : d_head // 2], x[..., d_head // 2 :])
    speeds = torch.tensor([base ** (-2 * i / d_head) for i in range(d_head // 2)])
    angles = torch.arange(SEQ_LEN)[:, None] * speeds
    turned = numbers * torch.exp(1j * angles)
    expected = torch.cat((turned.real, turned.imag), dim=-1)
    assert_near(Rotary(Rope(d_head, base))(x), expected)


def test_rope_scores_depend_on_the_distance_only():
    d_head, seq_len = 8, 12
    q, k = (draw(d_head, seed=seed).expand(1, 1, seq_len, d_head) for seed in (0, 1))
    rotate = Rotary(Rope(d_head, BASE))
    scores = (rotate(q) @ rotate(k).mT)[0, 0]
    for distance in range(-seq_len + 1, seq_len):
        diagonal = scores.diagonal(distance)
        assert_near(diagonal, diagonal[:1].expand_as(diagonal))
    assert scores[0].unique().numel() == seq_len


def test_rope_keeps_lengths_and_leaves_the_first_token():
    x = draw(BATCH, 2, SEQ_LEN, 8)
    turned = Rotary(Rope(8, BASE))(x)
    assert_near(turned.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(turned[..., 0, :], x[..., 0, :])


def published_slopes(n_heads: int) -> list[float]:
    """`get_slopes` of github.com/ofirpress/attention_with_linear_biases."""
    if math.log2(n_heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n_heads) - 3)))
        return [start * start**i for i in range(n_heads)]
    closest = 2 ** math.floor(math.log2(n_heads))
    others = published_slopes(2 * closest)[0::2][: n_heads - closest]
    return published_slopes(closest) + others


@pytest.mark.parametrize("n_heads", range(1, 33))
def test_alibi_slopes_are_those_of_the_paper(n_heads: int):
    assert alibi_slopes(n_heads) == pytest.approx(published_slopes(n_heads))


def test_alibi_slopes_of_eight_and_twelve_heads():
    eight = [1 / 2**i for i in range(1, 9)]
    between = [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert alibi_slopes(8) == pytest.approx(eight)
    assert alibi_slopes(12) == pytest.approx(eight + between)


def test_alibi_lowers_scores_by_the_distance():
    n_heads = 3
    bias, slopes = alibi_bias(n_heads, SEQ_LEN), alibi_slopes(n_heads)
    assert bias.shape == (n_heads, SEQ_LEN, SEQ_LEN)
    for head, slope in enumerate(slopes):
        for query in range(SEQ_LEN):
            for key in range(SEQ_LEN):
                assert bias[head, query, key].item() == pytest.approx(-slope * abs(query - key))


STRETCHED = [
    ("linear", {"rope_type": "linear"}, None),
    ("yarn", {"rope_type": "yarn", "original_max_position_embeddings": 64}, None),
    (
        "yarn",
        {"rope_type": "yarn", "original_max_position_embeddings": 64, "truncate": False},
        None,
    ),
    (
        "llama3",
        {
            "rope_type": "llama3",
            "original_max_position_embeddings": 64,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
        },
        None,
    ),
    ("ntk", {"rope_type": "dynamic", "factor": 2.0}, 2 * 512),  # (2 · 1024 / 512) − 1 = 3
]


@pytest.mark.parametrize(("scaling", "parameters", "seq_len"), STRETCHED)
def test_stretched_rope_is_that_of_transformers(scaling: str, parameters: dict, seq_len: int):
    parameters = {"rope_theta": 5000.0, "factor": 3.0, **parameters}
    theirs = LlamaConfig(
        hidden_size=32,
        num_attention_heads=1,
        max_position_embeddings=512,
        rope_parameters=parameters,
    )
    speeds, size = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](theirs, "cpu", seq_len=seq_len)
    changes = {
        "rope_scaling": scaling,
        "rope_factor": 3.0,
        "rope_trained_len": 64,
        "rope_base": 5000.0,
        "yarn_whole_pairs": parameters.get("truncate", True),
    }
    ours = rope_of(toy(d_model=32, n_heads=1, position_kind="rope", **changes))
    assert_near(ours.speeds(), speeds)
    assert ours.size == pytest.approx(size)


# So far that the ramp of YaRN is cut off: at the last number that is turned, and at the first pair.
FAR = [(100.0, 4096), (100.0, 100_000), (1e6, 8), (5000.0, 7)]


@pytest.mark.parametrize(("base", "trained_len"), FAR)
@pytest.mark.parametrize("whole_pairs", [True, False])
def test_the_ramp_of_yarn_is_cut_off_where_that_of_transformers_is(
    base: float, trained_len: int, whole_pairs: bool
):
    theirs = LlamaConfig(
        hidden_size=32,
        num_attention_heads=1,
        max_position_embeddings=4 * trained_len,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": base,
            "factor": 4.0,
            "original_max_position_embeddings": trained_len,
            "truncate": whole_pairs,
        },
    )
    speeds, _ = ROPE_INIT_FUNCTIONS["yarn"](theirs, "cpu")
    ours = Rope(32, base, RopeScaling.YARN, 4.0, trained_len, whole_pairs)
    torch.testing.assert_close(ours.speeds(), speeds, rtol=1e-5, atol=0)


@pytest.mark.parametrize("n", [64, 65])
@pytest.mark.parametrize("attention_factor", [None, 1.7])
def test_longrope_is_that_of_transformers_on_either_side(n: int, attention_factor: float | None):
    short, long = ([1 + pair / step for pair in range(8)] for step in (40, 2))
    theirs = LlamaConfig(
        hidden_size=32,
        num_attention_heads=1,
        max_position_embeddings=512,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 5000.0,
            "partial_rotary_factor": 0.5,
            "short_factor": short,
            "long_factor": long,
            "original_max_position_embeddings": 64,
            "attention_factor": attention_factor,
        },
    )
    speeds, size = ROPE_INIT_FUNCTIONS["longrope"](theirs, "cpu", seq_len=n)
    config = toy(
        d_model=32,
        n_heads=1,
        position_kind="rope",
        rotary_share=0.5,
        rope_base=5000.0,
        rope_scaling="longrope",
        rope_factor=8.0,
        rope_trained_len=64,
        rope_short_factors=",".join(map(str, short)),
        rope_long_factors=",".join(map(str, long)),
        rope_attention_factor=attention_factor or 0.0,
    )
    assert_near(rope_of(config).speeds(n), speeds)
    assert rope_of(config).size == pytest.approx(size)
    x = torch.randn(1, 1, n, 32, generator=torch.Generator().manual_seed(0))
    expected = rotate_pairs(x, torch.outer(torch.arange(n), speeds), size)
    rotate = build(config).layers[0].attention.rotate
    assert_near(rotate(x), expected)
    assert_near(rotate(x[:, :, -1:], start=n - 1), expected[:, :, -1:])


def test_longrope_without_factors_is_plain_and_then_ntk():
    changes = {"rope_factor": 4.0, "rope_trained_len": 64, "position_kind": "rope"}
    ours, plain, ntk = (
        rope_of(toy(d_model=32, n_heads=1, rope_scaling=kind, **changes))
        for kind in ("longrope", "none", "ntk")
    )
    assert_near(ours.speeds(64), plain.speeds())
    assert_near(ours.speeds(65), ntk.speeds())
    assert ours.angles(2, start=63).equal(torch.outer(torch.tensor([63.0, 64.0]), ours.speeds(65)))


@pytest.mark.parametrize("factors", ["1,x", "0,1", "1,nan", "1,,2", "-1", "1e5,1"])
def test_factors_that_are_no_numbers_are_refused(factors: str):
    said = "rope_long_factors must be empty or a comma-separated list"
    with pytest.raises(ConfigError, match=said) as error:
        toy(d_model=4, n_heads=1, rope_scaling="longrope", rope_long_factors=factors)
    assert [fault.mend for fault in error.value.faults] == [{"rope_long_factors": ""}]


def test_factors_of_other_pairs_do_nothing():
    """So a model may be made narrower."""
    config = toy(d_model=8, n_heads=1, position_kind="rope", rope_scaling="longrope")
    four, three = (config.replace(rope_long_factors=text) for text in ("1,2,3,4", "1,2,3"))
    assert rope_of(four).long_factors == (1, 2, 3, 4) and rope_of(three).long_factors == ()
    assert "rope_long_factors" in settings_in_use(four)
    assert settings_in_use(three) == settings_in_use(config)


def test_of_a_million_layers_those_are_asked_that_repeat(monkeypatch: pytest.MonkeyPatch):
    asked, turns = [], ModelConfig.turns
    monkeypatch.setattr(ModelConfig, "turns", lambda *of: asked.append(of) or turns(*of))
    for nope, every, window, base in product((0, 1, 3), (0, 1, 3), (0, 4), (0.0, 100.0)):
        more = {"nope_every": nope, "global_every": every, "local_window": window}
        sizes = {"architecture": "gpt", "position_kind": "rope", "n_layers": 10**6}
        config = toy(**sizes, local_rope_base=base, **more)
        found = settings_in_use(config).keys()
        turning = [layer for layer in range(9) if turns(config, layer)]
        local = [layer for layer in turning if config.window_of(layer)]
        assert ("local_rope_base" in found) == bool(local)
        assert ("rope_base" in found) == (len(turning) > (len(local) if base > 1 else 0))
    assert len(asked) < 1000


def test_a_text_that_outgrows_longrope_is_read_again():
    """Token for token what a model writes that caches nothing."""
    config = toy(
        architecture="gpt",
        position_kind="rope",
        vocab_size=11,
        n_layers=2,
        rope_scaling="longrope",
        rope_factor=8.0,
        rope_trained_len=6,
        max_seq_len=24,
    )
    model = scramble(build(config))
    texts = [
        Generation(model, config, [3, 1, 4], SamplingConfig(temperature=0), use_cache=use_cache)
        for use_cache in (True, False)
    ]
    for text in texts:
        text.advance(8)
    assert texts[0].token_ids == texts[1].token_ids
    for cached, uncached in zip(*(text.new_tokens for text in texts), strict=True):
        assert_near(cached.logits, uncached.logits)


def test_layers_without_position_and_with_a_base_of_their_own():
    changes = {"nope_every": 2, "local_window": 3, "global_every": 3, "local_rope_base": 50.0}
    config = toy(
        position_kind="rope", n_layers=4, rope_scaling="linear", rope_factor=2.0, **changes
    )
    assert [config.turns(layer) for layer in range(4)] == [True, False, True, False]
    local, whole = rope_of(config, 0), rope_of(config, 2)
    assert (local.base, local.factor) == (50.0, 1.0)
    assert (whole.base, whole.factor) == (10_000.0, 2.0)
    assert [type(layer.attention.rotate).__name__ for layer in build(config).layers] == [
        "Rotary",
        "NoPosition",
    ] * 2

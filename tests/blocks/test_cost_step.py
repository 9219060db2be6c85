"""Facts about one step: its rule, its tokens, and what writing costs beside reading."""

import pytest
from toy import toy

from blocks.cost.crossover import crossover_facts
from blocks.cost.parameters import total_parameters
from blocks.cost.passes import PassKind, operations, total_flops
from blocks.cost.setup import Setup
from blocks.cost.step import Shape, StepFacts, step_facts
from blocks.model.config import ModelConfig
from blocks.model.presets import PRESETS

SHAPE = Shape(8, 2)
EAGER = Setup(fused=False)


def facts_of(config: ModelConfig, kind: PassKind, setup: Setup = EAGER) -> StepFacts:
    return step_facts(config, kind, SHAPE, setup, "h100-sxm")


def test_a_step_is_the_sum_of_its_products():
    config = toy(architecture="gpt")
    facts = facts_of(config, PassKind.TRAINING)
    assert facts.chosen.flops == total_flops(operations(config, PassKind.TRAINING, n=8, batch=2))
    assert facts.recomputed == 0 and facts.done == facts.chosen.flops
    assert sum(facts.shares) == pytest.approx(1)
    assert facts.of_rule == facts.chosen.flops / 16 / (6 * total_parameters(config))


def test_what_is_recomputed_is_apart():
    kept, again = (
        facts_of(toy(architecture="gpt"), PassKind.TRAINING, setup)
        for setup in (EAGER, Setup(fused=False, checkpointing=True))
    )
    assert again.chosen == kept.chosen and again.recomputed > 0
    assert again.pairs_share == kept.pairs_share


@pytest.mark.parametrize(
    ("architecture", "n_tokens"),
    [("encoder", [16, 16]), ("gpt", [16, 16, 16, 2]), ("encoder-decoder", [32, 32, 16, 2])],
)
def test_each_kind_of_step_computes_its_tokens(architecture: str, n_tokens: list[int]):
    more = {"n_decoder_layers": 1} if architecture == "encoder-decoder" else {}
    facts = facts_of(toy(architecture=architecture, **more), PassKind.FORWARD)
    assert sorted(each.n_tokens for each in facts.passes) == sorted(n_tokens)
    assert (facts.decoding is None) == (architecture == "encoder")


def test_a_weight_serves_each_text_once_while_it_is_read():
    decoding = facts_of(toy(architecture="gpt"), PassKind.DECODE).decoding
    assert decoding.flops_per_weight == 4
    assert decoding.could == pytest.approx(989.4e12 * 2 / 3350e9)


def test_the_crossover_is_where_half_of_the_flops_are_between_tokens():
    facts = crossover_facts(toy(d_model=64, n_heads=4, d_ff=256), 384)
    assert facts.at == 384 and facts.of_width == 6 and facts.pairs_share == 0.5
    assert facts.formula.endswith("= 98,304 / 256 = 384.0")
    assert 384 in facts.growth["n"].tolist()


def test_sums_by_part_are_those_of_a_well_known_course():
    """Stanford CS336, resource accounting of a GPT-2 XL with three matrices a feed-forward."""
    config = PRESETS["gpt2-xl"].replace(
        tie_embeddings=False,
        norm_kind="rmsnorm",
        position_kind="rope",
        activation="swiglu",
        attention_bias=False,
        feed_forward_bias=False,
    )
    facts = step_facts(config, PassKind.FORWARD, Shape(1024, 1), Setup(), "h100-sxm")
    assert facts.done == 4_513_336_524_800 == sum(facts.by_part.values())
    shares = {part: round(100 * flops / facts.done, 2) for part, flops in facts.by_part.items()}
    assert shares == {
        "qkv": 16.73,
        "pairs": 7.14,
        "out": 5.58,
        "feed_forward": 66.91,
        "embedding": 3.65,
    }

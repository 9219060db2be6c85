"""Served models against hand calculations of real deployments, and against published numbers."""

import dataclasses

import pytest
from drawn_configs import drawn
from toy import toy

from blocks.cost.fit import inference_need
from blocks.cost.flops import Pass, count_flops
from blocks.cost.hardware import HARDWARE
from blocks.cost.held import stage_holding
from blocks.cost.need import need
from blocks.cost.pairs import n_seen
from blocks.cost.parameters import total_parameters
from blocks.cost.passes import PassKind, operations, total_flops
from blocks.cost.served_facts import Serving
from blocks.cost.serving import Bound, Work, load, served, touched_share
from blocks.cost.setup import CacheFormat, Layout, Setup, WeightFormat
from blocks.cost.speed import Speculation, reading, writing
from blocks.cost.step import Shape
from blocks.export.recipe import need_recipe, speed_recipe
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture
from blocks.model.presets import PUBLISHED_TABLE

GIB = 2**30


def published(name: str) -> ModelConfig:
    return PUBLISHED_TABLE[name].config


def setup(kind: str = "bfloat16", cache: str | None = None, **layout: int) -> Setup:
    kept = CacheFormat(cache) if cache else None
    own = Setup(weight_format=WeightFormat(kind), cache_format=kept, layout=Layout(**layout))
    return own


def held(name: str, own: Setup, *, batch: int = 1, n: int = 1) -> tuple[int, int]:
    found = inference_need(published(name), own, batch=batch, n=n)
    return found.weights, found.cache


LLAMA_70B_LAYER = (2 * 8192 * 8192, 2 * 8192 * 1024, 3 * 8192 * 28_672)  # q and o; k and v; MLP


def test_llama_70b_on_eight_devices_and_on_sixteen():
    q_o, k_v, mlp = LLAMA_70B_LAYER
    norms, tables = 161 * 8192, 2 * 128_256 * 8192
    eight = 80 * (q_o + k_v + mlp) // 8 + tables // 8 + norms
    assert held("llama-3-70b", setup(tensor=8), batch=16, n=8192) == (
        2 * eight,
        16 * 8192 * 80 * 2 * 128 * 2,  # one head of keys and values
    )
    sixteen = 80 * (q_o // 16 + k_v // 8 + mlp // 16) + tables // 16 + norms  # 8 heads, twice
    assert held("llama-3-70b", setup(tensor=16), batch=16, n=8192) == (
        2 * sixteen,
        16 * 8192 * 80 * 2 * 128 * 2,
    )


def test_llama_70b_in_two_stages_of_four_devices():
    """The second stage has the output matrix and the last norm; both have forty layers."""
    stage = 40 * sum(LLAMA_70B_LAYER) // 4 + 128_256 * 8192 // 4 + 81 * 8192
    assert held("llama-3-70b", setup(tensor=4, pipeline=2), batch=16, n=8192) == (
        2 * stage,
        16 * 8192 * 40 * 2 * 2 * 128 * 2,
    )


def test_llama_405b_in_fp8_fits_eight_h100_and_in_bfloat16_eight_h200():
    layer = 2 * 16_384 * 16_384 + 2 * 16_384 * 1024 + 3 * 16_384 * 53_248
    exact = 2 * 128_256 * 16_384 + 253 * 16_384
    one = setup("fp8")
    assert held("llama-3-405b", one)[0] == 126 * layer + 2 * exact
    for kind, device, fits in (
        ("fp8", "h100-sxm", True),
        ("bfloat16", "h100-sxm", False),
        ("bfloat16", "h200-sxm", True),
    ):
        shared = inference_need(published("llama-3-405b"), setup(kind, tensor=8), batch=1, n=8192)
        assert (shared.total < 0.9 * HARDWARE[device].memory) == fits


def test_int4_counts_its_scales_as_published_files_have_them():
    """AWQ of Llama 3.1 8B and 70B on the hub: 5.73 and 39.77 GB, with scale and zero in groups."""
    layer = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336
    own = Setup(weight_format=WeightFormat.INT4, group_bits=20)
    n_bytes = 32 * layer * (0.5 + 2.5 / 128) + 2 * (2 * 128_256 * 4096 + 65 * 4096)
    assert held("llama-3-8b", own)[0] == pytest.approx(n_bytes, rel=1e-9)
    assert held("llama-3-8b", own)[0] == pytest.approx(5.73e9, rel=0.001)
    assert held("llama-3-70b", own)[0] == pytest.approx(39.77e9, rel=0.001)


def test_gpt_oss_20b_in_mxfp4_is_as_large_as_its_published_file():
    """12.8 GiB, the larger 60.8 (OpenAI 2025, table 1): experts in 4.25 bits, the rest in 16."""
    matrices = 24 * 32 * 3 * 2880 * 2880
    n_bytes = matrices * 4.25 / 8 + 2 * (20_914_757_184 - matrices)
    assert held("gpt-oss-20b", setup("mxfp4"))[0] == pytest.approx(n_bytes, rel=1e-9)
    assert held("gpt-oss-20b", setup("mxfp4"))[0] / GIB == pytest.approx(12.8, abs=0.05)
    larger = published("gpt-oss-20b").replace(n_layers=36, n_experts=128)  # gpt-oss-120b
    found = inference_need(larger, setup("mxfp4"), batch=1, n=1)
    assert found.weights / GIB == pytest.approx(60.8, abs=0.05)


def test_mixtral_on_two_devices_by_matrices_or_by_whole_experts():
    expert, q_o, k_v = 3 * 4096 * 14_336, 2 * 4096 * 4096, 2 * 4096 * 1024
    rest = 2 * 32_000 * 4096 // 2 + 65 * 4096 + 32 * 8 * 4096
    two = 2 * (32 * ((q_o + k_v) // 2 + 4 * expert) + rest)
    assert held("mixtral-8x7b", setup(tensor=2))[0] == two
    assert held("mixtral-8x7b", setup(tensor=2, expert=2))[0] == two


def deepseek_attention() -> tuple[int, int]:
    """Parameters of a layer of latent attention that every device has, and that heads divide."""
    every = 7168 * 1536 + 7168 * (512 + 64)
    return every, 1536 * 128 * 192 + 512 * 128 * 256 + 128 * 128 * 7168


def test_deepseek_v3_with_experts_on_thirty_two_devices():
    """DeepSeek-AI 2024, section 3.4.1: 4 · 8 devices, 8 of 256 experts each; fp8 in matrices."""
    own = setup("fp8", tensor=4, data=8, expert=32)
    every, heads = deepseek_attention()
    expert = 3 * 7168 * 2048
    matrices = 61 * (every + heads // 4) + 3 * 3 * 7168 * 18_432 // 4 + 58 * (8 + 1 / 4) * expert
    exact = 2 * 129_280 * 7168 // 4 + 123 * 7168 + 61 * (1536 + 512) + 58 * 256 * 7168
    weights, cache = held("deepseek-v3", own, batch=64, n=4096)
    assert weights == pytest.approx(matrices + 2 * exact, rel=1e-6)
    assert cache == 8 * 4096 * 61 * 576 * 2  # 8 of 64 texts; a latent vector is on each device
    assert held("deepseek-v3", setup("fp8", cache="fp8", tensor=8), batch=8, n=4096)[1] == (
        8 * 4096 * 61 * 576
    )


def test_qwen3_30b_on_one_device():
    layer = 2 * 2048 * 32 * 128 + 2 * 2048 * 4 * 128 + 128 * 3 * 2048 * 768
    exact = 2 * 151_936 * 2048 + 97 * 2048 + 48 * (2 * 128 + 128 * 2048)
    weights, cache = held("qwen3-30b-a3b", setup("int8", cache="int8"), batch=4, n=32_768)
    assert weights == 48 * layer + 2 * exact
    assert cache == 4 * 32_768 * 48 * 2 * 4 * (128 + 2)  # a scale of 16 bits for each vector


def test_a_window_bounds_what_gemma_keeps_and_what_it_computes():
    """Gemma 3 1B: of 26 layers 4 see all, 22 their last 512 tokens; 4 heads of 256."""
    n, window, config = 32_768, 512, published("gemma-3-1b")
    _, cache = held("gemma-3-1b", setup(), n=n)
    assert cache == 2 * 256 * 2 * (4 * n + 22 * 511)
    local = window * (window + 1) // 2 + (n - window) * window
    pairs = 4 * n * (n + 1) // 2 + 22 * local
    seen = count_flops(config, Pass(n, n, 1, skips_masked=True)).set_index("part")["flops"]
    assert seen["scores"] == seen["values"] == 2 * 4 * 256 * pairs
    one_rule = count_flops(config.replace(local_window=0), Pass(n, n, 1, skips_masked=True))
    assert one_rule.set_index("part")["flops"]["scores"] == 2 * 4 * 256 * 26 * n * (n + 1) // 2


def test_pairs_are_those_of_a_mask():
    for n_new, n_keys, window in ((5, 5, 0), (3, 9, 0), (4, 9, 3), (9, 9, 4), (1, 7, 7)):
        seen = [min(i, window or i) for i in range(n_keys - n_new + 1, n_keys + 1)]
        assert n_seen(n_new, n_keys, window) == sum(seen)


def test_a_prompt_in_chunks_computes_as_much_and_reads_the_weights_again():
    config, device = published("llama-3-8b"), HARDWARE["h100-sxm"]
    whole, pieces = (
        reading(config, Setup(prefill_chunk=chunk), 8192, device) for chunk in (0, 2048)
    )
    n_read = 8_030_261_248 - 128_256 * 4096 - 65 * 4096
    n_body = n_read - 128_256 * 4096
    flops = 2 * 8192 * n_body + 2 * 128_256 * 4096 + 4 * 32 * 4096 * 8192 * 8193 // 2
    assert whole.arithmetic == pytest.approx(flops / 989.4e12, rel=1e-9)
    assert pieces.arithmetic == pytest.approx(whole.arithmetic, rel=1e-3)
    assert pieces.weights == pytest.approx(4 * whole.weights, rel=1e-9)
    assert whole.bound is Bound.ARITHMETIC


def test_a_batch_touches_as_many_experts_as_chance_says():
    """Mixtral on one H200: of 8 experts each token has 2, so 64 tokens need all of them."""
    config, own = published("mixtral-8x7b"), Setup()
    assert touched_share(config, 1) == 2 / 8
    assert 8 * touched_share(config, 2) == pytest.approx(8 - 8 * (6 / 8) ** 2)
    n_read = 46_702_792_704 - 32_000 * 4096
    n_bytes = 2 * n_read + 64 * 1024 * 32 * 2 * 8 * 128 * 2
    found = writing(config, own, Shape(1024, 64), "h200-sxm")
    assert found.all == pytest.approx(64 * 4.8e12 / n_bytes, rel=1e-6)
    n_active = 12_879_925_248 - 32_000 * 4096
    alone = writing(config, own, Shape(1, 1), "h200-sxm")
    assert alone.per_user == pytest.approx(4.8e12 / (2 * n_active + 32 * 2 * 8 * 128 * 2), rel=1e-6)


def test_all_reduces_bound_a_prompt_on_cards_without_fast_links():
    """Two sums a layer and one after the table; in a ring 2 · 7/8 of each vector is sent."""
    config, own = published("llama-3-70b"), setup(tensor=8)
    sent = 161 * 8192 * 8192 * 2 * 2 * 7 / 8
    for name, link in (("h100-sxm", 450e9), ("rtx-4090", 32e9)):
        found = reading(config, own, 8192, name)
        assert found.links == pytest.approx(sent / link)
    assert found.bound is Bound.LINKS
    assert reading(config, own, 8192, "h100-sxm").bound is Bound.ARITHMETIC


def test_stages_raise_what_all_get_and_not_what_one_user_gets():
    config = published("llama-3-70b")
    one, two = setup(tensor=4), setup(tensor=4, pipeline=2)
    alone = [writing(config, own, Shape(4096, 1), "h100-sxm").per_user for own in (one, two)]
    assert alone[1] == pytest.approx(alone[0], rel=0.001)  # a vector more is sent
    many = [writing(config, own, Shape(4096, 32), "h100-sxm").all for own in (one, two)]
    assert 1.1 < many[1] / many[0] < 2


def test_a_draft_brings_what_leviathan_says():
    """Equation 1, and theorem 3.8 where a pass takes as long for one token as for five."""
    draft = Speculation(n_drafted=4, acceptance=0.8, cost=0.05)
    assert draft.tokens_a_pass == pytest.approx((1 - 0.8**5) / (1 - 0.8))
    config = published("llama-3-70b")
    plain = writing(config, setup(tensor=8), Shape(1024, 1), "h100-sxm")
    drafted = writing(config, setup(tensor=8), Shape(1024, 1), "h100-sxm", draft)
    gain = (1 - 0.8**5) / ((1 - 0.8) * (4 * 0.05 + 1))
    assert drafted.per_user / plain.per_user == pytest.approx(gain, rel=0.02)


@pytest.mark.parametrize(
    ("kind", "measured", "gb_a_second"),
    [("bfloat16", 104.9, 1397.31), ("int8", 155.58, 1069.20), ("int4", 196.80, 862.69)],
)
def test_measured_speeds_stay_below_the_bound_and_read_as_many_bytes(
    kind: str, measured: float, gb_a_second: float
):
    """gpt-fast (PyTorch 2023, README): Llama 2 7B on an A100 80GB; groups of 32 with 32 bits."""
    own = Setup(weight_format=WeightFormat(kind), group_size=32, group_bits=32)
    bound = writing(published("llama-7b"), own, Shape(200, 1), "a100-sxm-80gb")
    assert 0.4 < measured / bound.per_user < 0.75
    assert bound.pace.weights * 2039 * measured == pytest.approx(gb_a_second, rel=0.03)


def test_parts_on_all_devices_make_the_model_where_all_divides():
    """Each replica holds the matrices once, and what is not divided as often as it has devices."""
    config = toy(
        architecture="gpt",
        n_layers=4,
        n_heads=8,
        d_model=64,
        d_ff=128,
        vocab_size=64,
        n_experts=4,
        n_active_experts=2,
        norm_affine=False,
        attention_bias=False,
        feed_forward_bias=False,
        tie_embeddings=False,
        position_kind="rope",
    )
    whole = need(config, Setup(), Shape(8, 8), is_training=False)
    router = 4 * 4 * 64 * 2
    for layout in (Layout(tensor=4), Layout(tensor=2, expert=2), Layout(tensor=4, expert=2)):
        own = need(config, Setup(layout=layout), Shape(8, 8), is_training=False)
        assert layout.tensor * (own.weights - router) == whole.weights - router
        assert layout.tensor * own.cache == whole.cache


def test_the_lines_of_a_panel_count_what_it_shows():
    own = dataclasses.replace(setup("int4", "fp8", tensor=2), fused=False)
    asked = Serving(
        published("mixtral-8x7b"), own, 512, 4, "h100-sxm", 64, Speculation(2, 0.5, 0.1)
    )
    found = (
        inference_need(asked.config, own, batch=4, n=512).total,
        writing(asked.config, own, Shape(544, 4), "h100-sxm", asked.draft),
    )
    needed = need_recipe(asked.config, own, Shape(512, 4), is_training=False)
    assert (last_value(needed), last_value(speed_recipe(asked))) == found


def last_value(code: str) -> object:
    *lines, last = code.strip().splitlines()
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    return eval(last, names)


def test_stages_together_hold_a_model_once_and_a_step_computes_what_is_counted():
    """Whatever the model: the parts of `count_parameters`, and the products of `operations`."""
    for seed in range(60):
        config = drawn(seed)
        tied = config.vocabulary.tie_embeddings and config.architecture.reads_tokens
        twice = 2 * config.d_model * config.vocab_size * tied
        for n in {1, min(2, config.n_layers)}:
            stages = [stage_holding(config, Setup(), i, n).weights for i in range(n)]
            assert sum(stages) == 2 * total_parameters(config) + twice * (n > 1), seed
        if config.architecture is Architecture.GPT:
            found = load(config, Setup(), served(config, Setup()), Work(3, 1, 40)).flops
            counted = total_flops(operations(config, PassKind.DECODE, n=40, batch=3))
            assert found == pytest.approx(counted, rel=1e-12), seed

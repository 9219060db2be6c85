"""What a training takes, against published runs; and the rule against the exact count."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import toy

from blocks import PRESETS, ModelConfig
from blocks.cost.fit import n_parameters
from blocks.cost.hardware import GB, HARDWARE, TB, TERA, data_sheet
from blocks.cost.passes import PassKind, operations, total_flops
from blocks.cost.training_cost import (
    HOUR,
    compute_optimal_tokens,
    device_seconds,
    fewest_devices,
    training_cost,
)
from blocks.model import devices

BILLION = 10**9


def gpt(n_layers: int, d_model: int, n_heads: int) -> ModelConfig:
    """GPT-3's shapes: Brown et al. 2020, table 2.1; 50,257 tokens, 2,048 positions, tied."""
    sizes = {"n_layers": n_layers, "d_model": d_model, "n_heads": n_heads, "vocab_size": 50_257}
    return ModelConfig.from_flat(
        {"architecture": "gpt", "position_kind": "learned", "max_seq_len": 2048, **sizes}
    )


# Brown et al. 2020, table D.1: parameters (millions), training FLOPs, 300 billion tokens.
@pytest.mark.parametrize(
    ("config", "millions", "flops"),
    [
        (gpt(12, 768, 12), 125, 2.25e20),
        (gpt(24, 1024, 16), 356, 6.41e20),
        (gpt(24, 1536, 16), 760, 1.37e21),
        (gpt(32, 4096, 32), 6_660, 1.20e22),
        (gpt(40, 5120, 40), 12_850, 2.31e22),  # 40 heads of 128; the table prints 5140
        (gpt(96, 12_288, 96), 174_600, 3.14e23),
    ],
    ids=["small", "medium", "large", "6.7B", "13B", "175B"],
)
def test_gpt3_took_what_its_paper_says(config: ModelConfig, millions: float, flops: float):
    assert n_parameters(config) == pytest.approx(millions * 1e6, rel=0.01)
    found = training_cost(config, 300 * BILLION, n=2048)
    assert found.rule == pytest.approx(flops, rel=0.01)


def test_bert_base_took_what_that_table_says():
    """109 million parameters, 250 billion tokens: 1.64e20."""
    found = training_cost(PRESETS["bert-base"], 250 * BILLION, n=512)
    assert found.rule == pytest.approx(1.64e20, rel=0.02)


def test_hours_of_llama_65b_say_how_well_its_devices_were_used():
    """Touvron et al. 2023, table 15: 1,022,362 hours of A100 80GB for 1.4 trillion tokens."""
    sizes = {"n_layers": 80, "d_model": 8192, "n_heads": 64, "d_ff": 22_016, "vocab_size": 32_000}
    plain = {"attention_bias": False, "feed_forward_bias": False, "tie_embeddings": False}
    config = ModelConfig.from_flat(
        {
            "architecture": "gpt",
            "activation": "swiglu",
            "norm_kind": "rmsnorm",
            "position_kind": "rope",
            **sizes,
            **plain,
        }
    )
    found = training_cost(config, 1_400 * BILLION, n=2048)
    peak = HARDWARE["a100-sxm-80gb"].peak["bfloat16"]
    at_peak = device_seconds(found.rule, peak, 1.0) / HOUR
    assert at_peak / 1_022_362 == pytest.approx(0.48, abs=0.01)


SHAPES = st.fixed_dictionaries(
    {
        "n_layers": st.integers(1, 3),
        "n_kv_heads": st.sampled_from([None, 1]),
        "d_head": st.sampled_from([None, 6]),
        "activation": st.sampled_from(["relu", "swiglu"]),
        "n_experts": st.sampled_from([1, 4]),
        "n_shared_experts": st.integers(0, 1),
        "shared_expert_gate": st.booleans(),
        "n_dense_layers": st.integers(0, 1),
        "d_expert": st.sampled_from([None, 5]),
        "norm_placement": st.sampled_from(["pre", "post", "sandwich"]),
        "position_kind": st.sampled_from(["none", "learned", "rope"]),
        "tie_embeddings": st.booleans(),
        "attention_bias": st.booleans(),
        "feed_forward_bias": st.booleans(),
        "attention_only": st.booleans(),
    }
)


@settings(max_examples=30)
@given(architecture=st.sampled_from(["encoder", "gpt"]), shape=SHAPES)
def test_what_is_added_and_taken_off_explains_all_of_the_difference(architecture: str, shape: dict):
    config = toy(architecture=architecture, vocab_size=11, **shape)
    found = training_cost(config, 700, n=7)
    assert found.rest == 0
    assert found.exact == 100 * total_flops(operations(config, PassKind.TRAINING, n=7))
    changes = found.tables + found.vectors + found.idle + found.pairs
    assert found.exact == found.rule + changes
    assert found.pairs > 0 >= max(found.tables, found.vectors, found.idle)


def test_each_token_of_an_encoder_decoder_passes_one_half():
    config = toy(architecture="encoder-decoder", n_layers=2, vocab_size=11)
    found = training_cost(config, 1400, n=7)
    assert found.exact == 100 * total_flops(operations(config, PassKind.TRAINING, n=7))
    assert -0.7 * found.rule < found.rest < -0.3 * found.rule


def test_what_is_computed_again_takes_time_but_is_not_the_models():
    config = toy(architecture="gpt", vocab_size=11)
    plain, again = (training_cost(config, 700, n=7, checkpointing=c) for c in (False, True))
    assert again.exact == plain.exact and again.recomputed > 0 == plain.recomputed
    assert again.done == again.exact + again.recomputed


def test_twenty_tokens_for_each_parameter_that_a_token_meets():
    assert compute_optimal_tokens(toy()) == 20 * n_parameters(toy())
    routed = toy(n_experts=8, n_active_experts=1)
    assert compute_optimal_tokens(routed) < 20 * n_parameters(routed)


def test_time_and_devices_by_hand():
    assert device_seconds(1e15, 1e12, 0.5) == 2000
    assert fewest_devices(161 * GB, 80 * GB) == 3
    assert fewest_devices(1, 80 * GB) == 1


# As the sheets print it: memory in GB, bandwidth in TB/s, TFLOP/s of float32, of matrices in half
# precision and in fp8 (0: none given), and by how much sparsity raises these two. They are the
# makers' own, named in `HARDWARE`: nvidia.com/en-us/data-center (tesla-t4, v100, l4, l40s, a100,
# h100, h200, dgx-b200; of the GeForce cards the white papers of GA102, Ada and RTX Blackwell),
# amd.com/en/products/accelerators/instinct (MI300X, MI325X), cloud.google.com/tpu/docs (v5e, v5p).
ON_THE_SHEET = {
    "t4": (16, 0.300, 8.1, 65, 0, 1),
    "v100-sxm-32gb": (32, 0.900, 15.7, 125, 0, 1),
    "rtx-3090": (24, 0.936, 35.6, 142, 0, 2),
    "rtx-4090": (24, 1.008, 82.6, 330.4, 660.6, 2),
    "rtx-5090": (32, 1.792, 104.8, 419, 838, 2),
    "l4": (24, 0.300, 30.3, 242, 485, 2),
    "l40s": (48, 0.864, 91.6, 724.1, 1466, 2),
    "a100-sxm-80gb": (80, 2.039, 19.5, 624, 0, 2),
    "h100-pcie": (80, 2, 51, 1513, 3026, 2),
    "h100-sxm": (80, 3.35, 67, 1979, 3958, 2),
    "h200-sxm": (141, 4.8, 67, 1979, 3958, 2),
    "b200-sxm": (180, 8, 75, 4500, 9000, 2),
    "mi300x": (192, 5.3, 163.4, 2614.9, 5229.8, 2),
    "mi325x": (256, 6, 163.4, 2614.9, 5229.8, 2),
    "tpu-v5e": (16, 0.819, 0, 197, 0, 1),
    "tpu-v5p": (95, 2.765, 0, 459, 0, 1),
}


def test_every_device_has_its_sheet_here():
    assert ON_THE_SHEET.keys() == HARDWARE.keys()


@pytest.mark.parametrize("name", HARDWARE)
def test_a_device_is_what_its_sheet_says_without_sparsity(name: str):
    device = HARDWARE[name]
    memory, terabytes, plain, halves, in_fp8, by_sparsity = ON_THE_SHEET[name]
    assert (device.memory, device.bandwidth) == (memory * GB, pytest.approx(terabytes * TB))
    assert device.peak.get("float32", 0) == plain * TERA
    assert device.peak.get("fp8", 0) == pytest.approx(in_fp8 / by_sparsity * TERA, rel=2e-3)
    of_halves = [peak for each, peak in device.peak.items() if each in ("bfloat16", "float16")]
    assert of_halves == pytest.approx([halves / by_sparsity * TERA] * len(of_halves), rel=2e-3)
    assert of_halves and device.source and device.title


def test_this_device_has_memory():
    assert devices.memory_of("cpu").total > GB


def test_a_driver_names_its_device_whole():
    assert data_sheet("NVIDIA H200") is HARDWARE["h200-sxm"]
    assert data_sheet("NVIDIA H200 NVL") is None  # which computes more slowly
    assert data_sheet("AMD EPYC") is None
    named = [name for each in HARDWARE.values() for name in each.driver_names]
    assert len({*named}) == len(named)

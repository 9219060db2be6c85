"""The page of costs: what is counted and estimated, for models of any size."""

import re

import pytest
from opened import assert_works, control, figure, move, opened, said, visit

from blocks.cost.units import bytes_text
from pages.server import starts

PAGE = "pages/cost.py"
HUGE = {
    "preset": "gpt2-small",
    "d_model": 999_999,
    "n_layers": 999_999,
    "n_heads": 1,
    "vocab_size": 1_000_000,
    "n_experts": 64,
    "context_len": 2**20,
    "n_texts": 2**16,
    "n_training_tokens": 10**15,
}
LLAMA = {  # 3 8B
    "preset": "tinyllama-1.1b",
    "d_model": 4096,
    "n_layers": 32,
    "n_heads": 32,
    "n_kv_heads": 8,
    "d_ff": 14_336,
    "vocab_size": 128_256,
    "context_len": 8192,
}


def frame(at, column: str):
    """The table that has this column."""
    tables = (*at.dataframe, *at.table)
    return next(table.value for table in tables if column in table.value)


def info(at, part: str) -> str:
    """The sentence that has these words."""
    return next(each.value for each in at.info if part in each.value)


def test_the_first_view_counts_estimates_and_asks_nothing_of_the_device():
    at = opened(PAGE, preset=None)
    assert_works(at)
    text = said(at)
    assert "124,439,808 parameters" in text
    assert "6.00 times d_model" in text
    assert "take 16 bytes per parameter" in text
    assert frame(at, "per token")["computation"].tolist() == [
        "forward",
        "prefill · read a prompt",
        "decode · generate one more token",
        "training step",
    ]
    assert "this device" in frame(at, "largest batch")["device"].iloc[0]


def test_a_limit_of_experts_is_said_not_to_be_counted():
    mixture = {"panel": "flops", "n_experts": 8, "n_active_experts": 2}
    assert "expert_capacity" not in said(opened(PAGE, **mixture))
    assert "dropped by expert_capacity" in said(opened(PAGE, **mixture, expert_capacity=0.5))


def test_what_goes_through_changes_the_bars():
    at = opened(PAGE, preset="gpt2-small", panel="flops")
    move(at, "counted_pass", "training")
    assert "875 GFLOP in total" in info(at, "the estimate of 6")
    move(at, "counted_pass", "forward")
    assert "292 GFLOP in total" in info(at, "the estimate of 2")
    assert len([t for t in figure(at, "operation_bars")["data"] if t["type"] == "bar"]) == 1
    move(at, "counted_pass", "decode")
    assert "per token" in info(at, "the estimate of 2")


def test_a_mixture_says_which_parameters_the_rule_counts():
    at = opened(PAGE, preset="mixtral-8x7b", counted_pass="training")
    assert re.search(r"6 FLOPs per active parameter \(1\d,\d{3},\d{3},\d{3} per token\)", said(at))
    assert "Time on one device" in figure(at, "hours_bars")["layout"]["title"]["text"]
    assert "could do 591 FLOP" in said(at)


OF_MEMORY = {
    "checkpointing": (True, False),
    "fused_attention": (False, True),
    "master_weights": (False, True),
    "optimizer_states": ("muon", "sgd", "momentum"),
    "weight_format": ("float16", "float32"),
}
CONTROLS = {
    "all": {"context_len": (16, 2**17), "n_texts": (1024, 1)},
    "memory": OF_MEMORY,
    "fits": {**OF_MEMORY, "usable_memory": (0.1, 1.0)},
    "serving": {
        "prefill_chunk": (512, 2**17, 0),
        "fused_attention": (False, True),
        "cache_format": ("int4", "auto"),
        "pipeline_parallel": (128, 1),
    },
    "training": {
        "n_training_tokens": (10**6, 7 * 10**12),
        "utilisation": (0.05, 1.0),
        "n_training_devices": (1, 2**15),
        "training_device": ("t4", "mi300x"),
    },
}


@pytest.mark.parametrize("panel", CONTROLS)
@pytest.mark.thinned
def test_both_ends_of_each_control(panel: str):
    use = {"panel": "memory", "memory_use": "inference"} if panel == "serving" else {"panel": panel}
    at = opened(PAGE, preset="gpt2-small", **use)
    at.session_state["layout_fold"] = True
    at.run()
    for name, values in CONTROLS[panel].items():
        for value in values:
            move(at, name, value)
        assert control(at, name).value == values[-1]


def test_use_has_a_cache_and_whole_numbers_and_training_has_not():
    at = opened(PAGE, preset="tinyllama-1.1b", memory_use="inference", weight_format="int4")
    assert_works(at)
    assert "The cache takes 22.5 kB per token" in info(at, "in total; the largest part is")
    shared = ("MHA · n_kv_heads 32", "MQA · n_kv_heads 1")
    labels = list(figure(at, "memory_bars")["layout"]["yaxis"]["tickvals"])
    assert labels == ["your settings", "float32", "bfloat16", "int8", "KV cache in fp8", *shared]
    move(at, "memory_use", "training")
    assert control(at, "weight_format").value == "bfloat16"


def test_rounded_weights_count_as_their_file_has_them_until_told_otherwise(tmp_path, monkeypatch):
    raw = starts.variant_file("sort~int4-group32").to_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "small.safetensors").write_bytes(raw)
    monkeypatch.setenv("BLOCKSCOPE_FOLDERS", str(tmp_path))
    size = bytes_text(len(raw) - 8 - int.from_bytes(raw[:8], "little"))
    for preset in ("sort~int4-group32", "folder:mine"):
        at = opened(PAGE, preset=preset, memory_use="inference", panel="memory")
        assert_works(at)
        assert control(at, "weight_format").value == "file"
        assert f"Weights as stored in the file take {size}, " in said(at)
    told = " ".join(each.value for each in at.sidebar.caption)
    assert "matrices of this model are rounded to 4 bits." in told and "The inputs to" not in told
    move(at, "weight_format", "bfloat16")
    assert "as stored in the file" not in said(at)
    at = visit(at, preset="sort", memory_use="inference", weight_format="file", panel="memory")
    assert control(at, "weight_format").value == "bfloat16"  # nothing of it is rounded


def test_a_model_too_large_to_run_here_is_counted_all_the_same():
    sizes = {"d_model": 16_384, "n_layers": 126, "n_heads": 128, "n_kv_heads": 8, "d_ff": 53_248}
    at = opened(PAGE, preset="tinyllama-1.1b", vocab_size=128_256, **sizes, context_len=8192)
    assert_works(at)
    assert "405,853,388,800 parameters" in said(at)
    assert "fits on none of these devices" in info(at, "fits on")
    assert "need 91 of these devices" in info(at, "optimizer states alone")


@pytest.mark.parametrize("preset", ["course", "bert-base", "t5-small", "gpt2-small"])
@pytest.mark.thinned
def test_each_architecture_as_what_it_is(preset: str):
    at = opened(PAGE, preset=preset)
    assert_works(at)
    config = starts.start(preset).config
    names = set(frame(at, "per token")["computation"])
    assert any("decode" in name for name in names) == bool(
        config.architecture == "gpt" or config.n_decoder_layers
    )
    is_two = any(label.startswith("decoder") for label in frame(at, "in numbers")["operation"])
    assert is_two == bool(config.n_decoder_layers)


@pytest.mark.parametrize(
    "extreme",
    [
        {"d_model": 1, "n_heads": 1, "d_ff": 1, "context_len": 1},
        {"attention_only": True, "norm_kind": "none"},
        {"n_experts": 8, "n_active_experts": 2, "norm_placement": "parallel"},
        {"preset": "bert-base", "counted_pass": "decode"},
        {"preset": "gpt2-small", "position_kind": "alibi"},
        {"preset": "t5-small", "memory_use": "inference", "counted_pass": "prefill"},
        {"context_len": 2**20, "n_texts": 2**16, "n_training_tokens": 10**15},
        {"n_training_tokens": 1, "n_training_devices": 10**6, "weight_format": "float16"},
        {"training_device": "tpu-v5e", "weight_format": "float32"},
        {"lang": "zh", "preset": "gpt2-small"},
        HUGE,
        {**HUGE, "memory_use": "inference", "n_training_devices": 10**6},
        {**HUGE, "preset": "t5-small", "n_decoder_layers": 999_999, "counted_pass": "decode"},
        {**HUGE, "measure_sweep": 1, "measure_dtypes": 1, "measure_kinds": True},
    ],
    ids=lambda extreme: "-".join(map(str, extreme.items())),
)
@pytest.mark.thinned
def test_extremes(extreme: dict):
    assert_works(opened(PAGE, pressed=extreme, **extreme))


def test_what_the_link_cannot_have_is_mended_with_a_sentence():
    at = opened(PAGE, panel="flops", context_len=0, utilisation=7, training_device="abacus")
    assert_works(at, warnings=3)


def test_a_device_without_the_format_is_said_to_have_none():
    at = opened(PAGE, preset="gpt2-small", panel="training", training_device="t4")
    assert "cannot compute in bfloat16" in info(at, "cannot compute")


def verdict(at, device: str) -> str:
    """Whether it fits into a device of the table."""
    table = frame(at, "fits").set_index("device")
    return table.loc[device, "fits"]


def test_states_are_shared_among_devices_and_activations_are_not():
    at = opened(PAGE, **LLAMA)
    assert verdict(at, "NVIDIA H200 SXM") == verdict(at, "AMD Instinct MI300X") == "no"
    move(at, "n_training_devices", 8)
    assert "each of 8 devices needs 90.2 GB" in info(at, "each of 8 devices needs ")
    assert "This 128 GB is split among 8 devices" in info(at, "take 16 bytes per parameter")
    assert verdict(at, "NVIDIA H100 SXM") == "no"
    assert "Activations are not, since each device has its own batch" in said(at)
    assert "on each of 8 devices" in figure(at, "memory_bars")["layout"]["title"]["text"]
    table = frame(at, "largest batch per device").set_index("device")
    n = int(table.loc["NVIDIA H200 SXM", "largest batch per device"])
    assert n == 1
    assert f"The largest batch on that type is {n} per device and {8 * n} in total" in info(
        at, "The largest batch on that type"
    )
    assert "8 × NVIDIA H100 SXM" in info(at, "one device would take")
    move(at, "checkpointing", True)
    assert verdict(at, "NVIDIA H100 SXM") == "yes"


def test_eight_devices_serve_what_one_cannot_hold():
    long = {"context_len": 2**17, "n_texts": 8, "memory_use": "inference"}
    at = opened(PAGE, preset="llama-3-70b", panel="fits", **long)
    assert verdict(at, "AMD Instinct MI300X") == "no"
    assert "8 × NVIDIA H100 SXM" in info(at, "With tensor parallelism it fits on ")
    visit(at, preset="llama-3-70b", panel="fits", tensor_parallel=8, **long)
    assert "each of 8 devices needs 61.2 GB" in info(at, "each of 8 devices needs ")
    assert verdict(at, "NVIDIA H100 SXM") == "yes"
    assert "Tensor parallelism" in said(at)
    assert "chunks of at most 8,192 tokens" in said(at)
    visit(at, preset="llama-3-70b", panel="fits", n_training_devices=8, prefill_chunk=0, **long)
    assert verdict(at, "NVIDIA H100 SXM") == "no"


def test_a_served_model_says_what_bounds_it_and_what_one_user_gets():
    served = {"preset": "llama-3-8b", "context_len": 8192, "n_texts": 16}
    at = opened(PAGE, panel="bound", tensor_parallel=2, **served)
    assert "reads 7.51 GB of weights and 8.59 GB of KV cache" in info(at, "generation is bound by")
    assert "65 all-reduces" in said(at)
    table = frame(at, "a step is bound by").set_index("device")
    assert table.loc["NVIDIA H100 SXM", "a prompt is bound by"] == "arithmetic"
    assert table.loc["NVIDIA T4", "one step"] == "–"  # it has no bfloat16
    visit(at, panel="one-user", serving_device="own", own_bandwidth=3350, own_flops=989, **served)
    move(at, "n_drafted", 4)
    assert "3.36 tokens per pass" in said(at)
    assert "holds only 4 texts of 8,448 tokens" in info(at, "for the first token")
    visit(at, panel="one-user", preset="bert-base")
    assert "with a decoder-only model" in info(at, "generating text")


def test_the_same_share_of_the_memory_counts_for_what_fits_and_for_how_few_hold_it():
    at = opened(PAGE, **LLAMA, checkpointing=True, usable_memory=1)
    column = "minimum number of devices, not counting activations"
    assert fewest(at, column) == 1  # 128.5 of 141 GB
    move(at, "usable_memory", 0.9)
    assert fewest(at, column) == 2  # of 127 GB
    assert "using 90% of their memory" in info(at, "optimizer states alone")


def fewest(at, column: str) -> int:
    """H200s among which the states must be shared."""
    return frame(at, column).set_index("device").loc["NVIDIA H200 SXM", column]


def test_tokens_may_be_any_number_and_fifteen_trillion_is_a_stop():
    at = opened(PAGE, preset="gpt2-small", panel="training", n_training_tokens=123_456_789)
    slider = control(at, "n_training_tokens")
    assert {"15 T", "123 M"} <= set(slider.options)
    move(at, "n_training_tokens", 15 * 10**12)
    assert control(at, "n_training_tokens").key == slider.key  # else keys pressed fast are lost
    assert "120,540 tokens per active parameter" in said(at)


def test_the_moment_on_the_way_back_has_its_formula():
    at = opened(PAGE, panel="memory", checkpointing=True, **LLAMA)
    terms = frame(at, "formula").set_index("activations")["formula"]
    temporary = terms["temporary values in the backward pass"]
    assert "2 · batch · n · vocab_size · exact_bytes" in temporary

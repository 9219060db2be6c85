"""The page of costs: what is counted and estimated, for models of any size."""

import pytest
from opened import assert_works, control, figure, move, opened, said, settings, visit

from pages.ui import starts

PAGE = "pages/cost.py"


def frame(at, column: str):
    """The table that has this column."""
    return next(table.value for table in at.dataframe if column in table.value)


def info(at, part: str) -> str:
    """The sentence that has these words."""
    return next(each.value for each in at.info if part in each.value)


def test_the_first_view_counts_estimates_and_asks_nothing_of_the_device():
    at = opened(PAGE, preset=None)
    assert_works(at)
    text = said(at)
    assert "124,439,808 parameters" in text
    assert "6.00 times d_model" in text
    assert "each weight takes 16 bytes" in text
    assert frame(at, "a token")["what goes through"].iloc[0] == "training step"
    assert "this one" in frame(at, "largest batch")["device"].iloc[0]


def test_what_goes_through_changes_the_bars():
    at = opened(PAGE, preset="gpt2-small")
    assert "875 GFLOP in all" in info(at, "the rule of 6")
    move(at, "counted_pass", "forward")
    assert "292 GFLOP in all" in info(at, "the rule of 2")
    assert len([t for t in figure(at, "operation_bars")["data"] if t["type"] == "bar"]) == 1
    move(at, "counted_pass", "decode")
    assert "each of 1 tokens" in info(at, "the rule of 2")


def test_both_ends_of_each_control():
    at = opened(PAGE, preset="gpt2-small")
    for name, values in {
        "context_len": (16, 2**17),
        "n_texts": (1024, 1),
        "checkpointing": (True, False),
        "fused_attention": (False, True),
        "master_weights": (False, True),
        "optimizer_states": ("muon", "sgd", "momentum"),
        "weight_format": ("float16", "float32"),
        "usable_memory": (0.1, 1.0),
        "n_training_tokens": (10**6, 5 * 10**13),
        "utilisation": (0.05, 1.0),
        "n_training_devices": (1, 2**15),
        "training_device": ("t4", "mi300x"),
    }.items():
        for value in values:
            move(at, name, value)
    assert settings(at)["training_device"] == "mi300x"


def test_use_has_a_cache_and_whole_numbers_and_training_has_not():
    at = opened(PAGE, preset="tinyllama-1.1b", memory_use="inference", weight_format="int4")
    assert_works(at)
    assert "The cache takes 22.5 kB for each token" in info(at, "in all; most of it")
    labels = list(figure(at, "memory_bars")["layout"]["yaxis"]["tickvals"])
    assert labels == ["as you chose", "float32", "bfloat16", "int8", "one key and value head"]
    move(at, "memory_use", "training")
    assert control(at, "weight_format").value == "bfloat16"


def test_a_model_too_large_to_run_here_is_counted_all_the_same():
    sizes = {"d_model": 16_384, "n_layers": 126, "n_heads": 128, "n_kv_heads": 8, "d_ff": 53_248}
    at = opened(PAGE, preset="tinyllama-1.1b", vocab_size=128_256, **sizes, context_len=8192)
    assert_works(at)
    assert "405,853,388,800 parameters" in said(at)
    assert "fit into none of these" in info(at, "fit into")
    assert "But weights, gradients and optimizer states alone need" in info(at, "of one device")


@pytest.mark.parametrize("preset", ["course", "bert-base", "t5-small", "gpt2-small"])
def test_each_architecture_as_what_it_is(preset: str):
    at = opened(PAGE, preset=preset)
    assert_works(at)
    config = starts.start(preset).config
    names = set(frame(at, "a token")["what goes through"])
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
    ],
    ids=lambda extreme: "-".join(map(str, extreme)),
)
def test_extremes(extreme: dict):
    assert_works(opened(PAGE, **extreme))


def test_what_the_link_cannot_have_is_mended_with_a_sentence():
    at = opened(PAGE)
    visit(at, context_len=0, utilisation=7, training_device="abacus")
    assert_works(at, warnings=3)


def test_a_device_without_the_format_is_said_to_have_none():
    at = opened(PAGE, preset="gpt2-small", training_device="t4")
    assert "does not compute in bfloat16" in info(at, "does not compute")

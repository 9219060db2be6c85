"""What is estimated before the run against what the run takes."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from steps import steps
from toy import draw, toy, toys

from blocks import ModelConfig, build, count_parameters, record
from blocks.cost import memory
from blocks.cost.fitting import SMALLEST_SIZES
from blocks.cost.memory import Memory, estimate_memory, memory_fault, run_fault, run_memory
from blocks.cost.peak_memory import TensorMemory
from blocks.cost.units import bytes_text
from blocks.model.kinds import PositionKind
from blocks.model.masks import MaskConfig, build_mask
from blocks.observe.run import PATTERNS, Input, Run
from blocks.observe.wiring import kept_stages

SHAPES_AND_MASKS = [((1, 5), "none"), ((2, 16), "causal"), ((1, 128), "causal_padding")]
DTYPES = [torch.float32, torch.bfloat16, torch.float64]
PAIRS = [  # any two of a format, a kind of positions and a mode meet
    (dtype, str(kind), (i + k) % 2 or None)
    for i, dtype in enumerate(DTYPES)
    for k, kind in enumerate(PositionKind)
]
MEGABYTE, GIGABYTE, ALL_THERE_IS = 2**20, 2**30, 2**100
LOOSENESS = 6


def measured(
    config: ModelConfig,
    shape: tuple[int, int],
    dtype: torch.dtype,
    mask_kind: str = "none",
    training_seed: int | None = None,
) -> int:
    """Bytes of the weights and of one pass as a run records it, and of a layer taken apart."""
    is_token = torch.ones(shape, dtype=torch.bool)
    is_token[:, -1] = False
    mask = build_mask(MaskConfig(mask_kind=mask_kind), is_token)
    model, x = build(config, dtype=dtype), draw(*shape, config.d_model).to(dtype)
    weights = sum(parameter.nbytes for parameter in model.parameters())
    with TensorMemory() as memory:
        kept = kept_stages(config)
        seen = record(model, x, mask=mask, training_seed=training_seed, keep=kept, later=PATTERNS)
        steps = record(model, x, mask=mask, keep={"layers.0.scores", "layers.0.pattern"})
        assert seen.patterns and steps.tensors
    return weights + memory.peak_bytes


def estimated(config: ModelConfig, shape: tuple[int, int], dtype: torch.dtype) -> int:
    return estimate_memory(config, batch=shape[0], seq_len=shape[1], dtype=dtype).total


@pytest.mark.parametrize(("dtype", "position_kind", "training_seed"), PAIRS, ids=str)
@pytest.mark.thinned
def test_a_recording_takes_no_more_than_estimated(
    dtype: torch.dtype, position_kind: str, training_seed: int | None
):
    same = {"position_kind": [position_kind], "d_ff": [16], "max_seq_len": [128]}
    rich = {"n_kv_heads": [1], "norm_placement": ["sandwich"], "activation": ["swiglu"]}
    configs = toys(n_heads=[1, 4, 8], **same) + toys(**rich, **same)
    for config in configs:
        for shape, mask_kind in SHAPES_AND_MASKS:
            need = measured(config, shape, dtype, mask_kind, training_seed)
            assert need <= estimated(config, shape, dtype), (shape, config)


@pytest.mark.parametrize(
    ("n_layers", "dtype"), [(1, torch.float32), *((3, dtype) for dtype in DTYPES)], ids=str
)
@pytest.mark.thinned
def test_experts_take_no_more_than_estimated(n_layers: int, dtype: torch.dtype):
    same = {"n_layers": [n_layers], "d_ff": [64], "n_heads": [1], "max_seq_len": [128]}
    routed = {"n_experts": [2, 16], "n_active_experts": [2], "expert_capacity": [0.0, 1.0]}
    shared = toy(
        activation="swiglu",
        n_layers=n_layers,
        d_ff=64,
        n_heads=1,
        n_experts=8,
        n_shared_experts=2,
        shared_expert_gate=True,
        n_dense_layers=1,
        d_expert=48,
        router_kind="sigmoid",
        n_expert_groups=4,
        n_active_groups=2,
    )
    for config in (*toys(activation=["swiglu"], **same, **routed), shared):
        for shape, mask_kind in SHAPES_AND_MASKS:
            need = measured(config, shape, dtype, mask_kind)
            assert need <= estimated(config, shape, dtype), (shape, config)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("activation", ["gelu", "swiglu"])
def test_building_takes_no_more_than_estimated(activation: str, dtype: torch.dtype):
    config = toy(d_model=64, d_ff=256, activation=activation)
    with TensorMemory() as memory:
        build(config, dtype=dtype)
    assert memory.peak_bytes <= estimated(config, (1, 1), dtype)


def test_building_in_float32_takes_the_weights_alone():
    config = toy(d_model=64, d_ff=256)
    with TensorMemory() as memory:
        build(config)
    assert memory.peak_bytes == 4 * count_parameters(config)["count"].sum()


@pytest.mark.parametrize("changes", [{}, {"n_kv_heads": 1, "activation": "swiglu"}])
def test_the_estimate_is_not_wildly_more_than_is_taken(changes: dict[str, Any]):
    config, shape = toy(d_model=64, d_ff=256, **changes), (1, 256)
    for dtype in DTYPES:
        assert estimated(config, shape, dtype) <= LOOSENESS * measured(config, shape, dtype)


def test_a_long_text_takes_at_least_half_of_what_is_estimated():
    config = toy(architecture="gpt", vocab_size=64, n_layers=2, d_model=64, n_heads=8)
    model, x = build(config, dtype=torch.bfloat16), torch.zeros(1, 1024, dtype=torch.long)
    with TensorMemory() as memory:
        seen = record(model, x, keep=kept_stages(config), later=PATTERNS)
        assert seen.pattern().float().isfinite().all()
    assert memory.peak_bytes <= estimated(config, (1, 1024), torch.bfloat16)
    assert memory.peak_bytes >= estimated(config, (1, 1024), torch.bfloat16) / 2


def test_weights_are_exact():
    config = toy()
    memory = estimate_memory(config, batch=1, seq_len=1, dtype=torch.bfloat16)
    assert memory.weights == 2 * count_parameters(config)["count"].sum()
    assert memory.total == memory.weights + memory.activations


def test_a_run_that_fits_has_no_fault():
    need = estimate_memory(toy(), batch=2, seq_len=5, dtype=torch.float32).total
    run = {"batch": 2, "seq_len": 5, "dtype": torch.float32}
    assert memory_fault(toy(), **run, budget=need) is None
    assert memory_fault(toy(), **run, budget=need - 1) is not None


def estimates(monkeypatch: pytest.MonkeyPatch) -> list[ModelConfig]:
    """The models whose memory is asked for from now on."""
    tried: list[ModelConfig] = []

    def noted(config: ModelConfig, **run: Any) -> Memory:
        tried.append(config)
        return estimate_memory(config, **run)

    monkeypatch.setattr(memory, "estimate_memory", noted)
    return tried


@pytest.mark.parametrize("budget", [MEGABYTE, 64 * MEGABYTE, 4 * GIGABYTE])
@pytest.mark.parametrize("shape", [(1, 8), (1_000_000, 1_000_000)], ids=["short", "long"])
@pytest.mark.parametrize(
    "values",
    [
        {"d_model": 1_000_000, "n_heads": 1},
        {"d_model": 1_000_000, "n_heads": 1000, "d_ff": 1_000_000},
        {"d_model": 65_535, "n_heads": 5, "n_kv_heads": 1},
        {"d_model": 123_450, "n_heads": 5, "position_kind": "rope", "d_ff": 7},
        {"d_model": 999_983, "n_heads": 999_983, "position_kind": "learned"},
    ],
    ids=lambda values: str(values["d_model"]),
)
def test_a_mend_fits_and_is_found_at_once(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], shape: tuple[int, int], budget: int
):
    run = {"batch": shape[0], "seq_len": shape[1]}
    config = ModelConfig.from_flat(values)
    tried = estimates(monkeypatch)
    with TensorMemory() as taken:
        fault = memory_fault(config, **run, dtype=torch.float32, budget=budget)
    assert taken.peak_bytes == 0
    assert len(tried) < 100  # of a million sizes, none of which takes longer than the first
    first = partial(memory_fault, config, **run, dtype=torch.float32, budget=ALL_THERE_IS)
    assert steps(first) < 50_000
    asked = run | {"d_model": config.d_model, "d_ff": config.d_ff}
    assert all(SMALLEST_SIZES[name] <= size < asked[name] for name, size in fault.mend.items())
    sizes = {name: fault.mend[name] for name in fault.mend.keys() - run.keys()}
    run |= {name: fault.mend[name] for name in run.keys() & fault.mend.keys()}
    smaller, _ = config.nearest(**sizes)
    assert memory_fault(smaller, **run, dtype=torch.float32, budget=budget) is None


def test_a_fault_says_what_is_needed_and_what_to_use():
    config = ModelConfig.from_flat({"d_model": 65_536})
    run = {"batch": 1, "seq_len": 8, "dtype": torch.float32}
    fault = memory_fault(config, **run, budget=GIGABYTE)
    weights = bytes_text(estimate_memory(config, **run).weights)
    assert f"({weights} of weights" in str(fault)
    assert "more than the 1.07 GB allowed here" in str(fault)
    assert all(f"{name} {size}" in str(fault) for name, size in fault.mend.items())
    assert "{" not in str(fault)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (22_500, "22.5 kB"), (2**30, "1.07 GB"), (2**41, "2.2 TB"), (3.33e27, "3,330 YB")],
)
def test_bytes_are_read_in_powers_of_ten(count: float, text: str):
    assert bytes_text(count) == text


def test_trained_weights_are_offered_another_format_or_less_text_and_never_other_sizes():
    config = toy(architecture="gpt", vocab_size=64, d_model=64, n_layers=2)
    text = Input(tokens=("a",) * 32, token_ids=(0,) * 32)
    run = Run(config=config, input=text, mask=MaskConfig(), weights="folder:own@1")
    short = replace(run, input=Input(tokens=("a",) * 8, token_ids=(0,) * 8))
    whole, narrow = run_memory(run), run_memory(replace(run, dtype="bfloat16"))
    assert run_fault(run, whole.total) is None
    assert run_fault(run, narrow.total).mend == {"dtype": "bfloat16"}
    assert run_fault(run, run_memory(short).total).mend in ({"dtype": "bfloat16"}, {"seq_len": 8})
    fewest = run_memory(replace(short, dtype="bfloat16")).total
    assert run_fault(replace(run, dtype="bfloat16"), fewest).mend == {"seq_len": 8}
    one = Input(tokens=("a",), token_ids=(0,))
    least = run_memory(replace(run, input=one, dtype="bfloat16"))
    assert run_fault(run, least.total).mend == {"dtype": "bfloat16", "seq_len": 1}
    drawn = run_memory(replace(run, input=one, dtype="bfloat16", weights=""))
    assert least.activations < drawn.activations  # what is of a file is not drawn
    none = run_fault(run, 1000)
    assert not none.mend and "trained weights do not fit other sizes" in str(none)
    random = replace(run, weights="")
    narrow = run_memory(replace(random, dtype="bfloat16"))
    assert run_fault(random, narrow.total).mend == {"dtype": "bfloat16"}  # the model as it is
    assert "d_model" in run_fault(random, 1000).mend

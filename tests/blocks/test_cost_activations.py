"""What is said to be kept against what a real training step keeps, tensor by tensor."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import pytest
import torch
from there import DEVICE, IS_SMOKE, in_full
from torch import nn
from torch.utils.checkpoint import checkpoint
from toy import toy

from blocks import ModelConfig, build
from blocks.cost.activations import Activations, training_activations
from blocks.cost.peak_memory import peak_memory
from blocks.model.dropout import training_mode
from blocks.model.kinds import Activation
from blocks.model.models import Model
from blocks.model.presets import PRESET_TABLE, PUBLISHED_TABLE
from blocks.model.probe import listening
from blocks.model.source_target import SourceTarget
from blocks.observe.recording import Recorder
from blocks.training.ahead import ahead_loss, all_logits
from blocks.training.loss import cross_entropy
from blocks.training.task import Batch

BATCH, N = 3, 96
KEPT, PEAK = 0.02, 0.15  # how far the estimate may be off


class Took(NamedTuple):
    """Bytes that were kept for the way back, and the most that was alive at once."""

    kept: int
    peak: int


@contextmanager
def seen(is_fused: bool) -> Iterator[None]:
    """Attention in steps, where it is not to be fused."""
    with nullcontext() if is_fused else listening(Recorder({"pattern", "cross_pattern"}, {})):
        yield


def took(
    config: ModelConfig,
    *,
    is_fused: bool = True,
    dtype: torch.dtype = torch.float32,
    model: Model | None = None,
    device: str = "cpu",
) -> Took:
    """One step; weights and gradients are there before."""
    model = build(config, dtype=dtype, device=device) if model is None else model
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    own = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    ids = torch.randint(config.vocab_size, (BATCH, N), generator=torch.Generator().manual_seed(0))
    ids = ids.to(device)
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = storage.nbytes()
        return tensor

    is_two = config.architecture == "encoder-decoder"
    x: Any = SourceTarget(ids, ids.clone()) if is_two else ids
    is_training = config.dropout > 0 or config.norm.norm_kind == "batchnorm"
    mode = training_mode(torch.Generator().manual_seed(0)) if is_training else nullcontext()
    with mode, seen(is_fused), torch.enable_grad(), peak_memory(torch.device(device)) as memory:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            logits, *ahead = all_logits(model, Batch(x, ids))
            loss = cross_entropy(logits, ids)
            loss = loss + ahead_loss(ahead, ids, 0.3) if ahead else loss
        n_kept = sum(kept.values())
        kept.clear()
        loss.backward()
    return Took(n_kept, memory.peak_bytes)


def estimated(config: ModelConfig, itemsize: int = 4, **how: bool) -> Activations:
    return training_activations(config, batch=BATCH, n=N, itemsize=itemsize, **how)


def model_of(**changes: Any) -> ModelConfig:
    sizes = {"n_layers": 3, "d_model": 48, "d_ff": 192, "vocab_size": 200, "max_seq_len": N}
    return toy(**{"architecture": "gpt", "dropout": 0.0, **sizes, **changes})


SHAPES = [
    {},
    *({"activation": str(kind)} for kind in Activation),
    {"activation": "quick_geglu", "gate_limit": 0.5, "up_offset": True},
    {"norm_placement": "post", "embedding_norm": True},
    {"norm_placement": "sandwich", "norm_kind": "batchnorm"},
    {"norm_placement": "res_post", "norm_kind": "rmsnorm"},
    {"norm_placement": "parallel"},
    {"norm_placement": "parallel", "parallel_norms": 2, "norm_kind": "rmsnorm"},
    {"norm_kind": "none", "position_kind": "learned"},
    {"norm_kind": "rmsnorm", "norm_affine": False},
    {"first_norm": False, "norm_bias": False, "embedding_norm": True},
    {"first_norm": False, "n_experts": 4, "n_dense_layers": 2},
    {"n_kv_heads": 1, "position_kind": "rope"},
    {"d_head": 24, "qk_norm": True, "qk_norm_scale": True, "position_kind": "rope"},
    {"position_kind": "alibi"},
    {"n_experts": 4},
    {"d_kv_latent": 48, "d_q_latent": 64, "d_value": 18, "position_kind": "rope"},
    {
        "n_experts": 4,
        "n_shared_experts": 1,
        "shared_expert_gate": True,
        "d_expert": 96,
        "n_dense_layers": 1,
    },
    {"attention_only": True, "residual": False},
    {"tie_embeddings": False, "vocab_size": 4000},
    {"vocab_size": 20_000, "n_layers": 1},
    {"architecture": "encoder"},
    {"architecture": "encoder", "prediction_head": True, "unembed_bias": True},
    {"norm_kind": "rmsnorm", "norm_offset": True, "scale_scores": False, "scale_output": True},
    {"architecture": "encoder-decoder"},
    {"architecture": "encoder-decoder", "relative_bias": True, "n_decoder_layers": 1},
    {"local_window": 8, "global_every": 2},
    {"architecture": "encoder", "local_window": 8},
    {"score_softcap": 5.0, "logit_softcap": 5.0},
    {"attention_sink": True},
    {"attention_gate": "head"},
    {"attention_gate": "elementwise", "architecture": "encoder"},
    {"qk_norm": True, "qk_norm_scale": True, "qk_norm_whole": True, "n_kv_heads": 2},
    {"token_mixer": "gru"},
    {"token_mixer": "gated_delta"},
    {"token_mixer": "gated_delta", "attention_every": 3},
    {"token_mixer": "gru", "attention_every": 2, "n_experts": 4, "n_dense_layers": 1},
    {"n_mtp_modules": 2},
    {"n_mtp_modules": 1, "norm_placement": "post", "logit_softcap": 5.0, "n_experts": 4},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.thinned
def test_a_step_keeps_what_is_said_with_the_fused_kernel(shape: dict):
    config = model_of(**shape)
    real, said = took(config), estimated(config)
    assert said.kept == pytest.approx(real.kept, rel=KEPT)
    assert said.peak == pytest.approx(real.peak, rel=PEAK)


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"n_kv_heads": 1, "activation": "swiglu", "norm_kind": "rmsnorm"},
        {"architecture": "encoder-decoder"},
        {"dropout": 0.1},
        {"dropout": 0.1, "activation": "relu"},
    ],
    ids=str,
)
def test_a_step_keeps_what_is_said_with_attention_in_steps(shape: dict):
    config = model_of(**shape)
    real, said = took(config, is_fused=False), estimated(config, fused=False)
    assert said.kept == pytest.approx(real.kept, rel=KEPT)
    assert said.peak == pytest.approx(real.peak, rel=PEAK)


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"norm_kind": "rmsnorm", "qk_norm": True},
        {"token_mixer": "gru"},
        {"token_mixer": "gated_delta"},
        {"token_mixer": "gated_delta", "attention_every": 3, "norm_kind": "rmsnorm"},
    ],
    ids=str,
)
def test_of_narrow_numbers_norms_keep_exact_copies(shape: dict):
    config = model_of(**shape)
    real = took(config, is_fused=False, dtype=torch.bfloat16)
    said = estimated(config, itemsize=2, fused=False)
    assert said.kept == pytest.approx(real.kept, rel=KEPT)
    assert said.peak == pytest.approx(real.peak, rel=PEAK)


class Again(nn.Module):
    """A layer that keeps its input alone."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, *inputs: Any) -> torch.Tensor:
        return checkpoint(self.layer, *inputs, use_reentrant=False)


@pytest.mark.parametrize(
    "shape",
    [{}, {"n_layers": 8}, {"n_layers": 8, "activation": "swiglu"}, {"position_kind": "alibi"}],
    ids=str,
)
def test_with_checkpointing_one_layer_at_a_time_is_computed_again(shape: dict):
    config = model_of(**shape)
    model = build(config)
    model.layers = nn.ModuleList(Again(layer) for layer in model.layers)
    said = estimated(config, checkpointing=True)
    assert said.peak == pytest.approx(took(config, model=model).peak, rel=PEAK)


def test_what_grows_with_what():
    config = model_of()
    fused, steps = (
        [training_activations(config, batch=1, n=n, itemsize=2, fused=f) for n in (512, 1024)]
        for f in (True, False)
    )
    parts = {part.name for part in steps[0].parts} - {part.name for part in fused[0].parts}
    assert parts == {"pattern"}
    assert steps[1].kept - fused[1].kept > 3.9 * (steps[0].kept - fused[0].kept)
    batches = [
        training_activations(config, batch=b, n=512, itemsize=2, fused=False).kept for b in (1, 2)
    ]
    assert batches[1] == 2 * batches[0]


@pytest.mark.gpu
@in_full("shape", [{}, {"activation": "swiglu", "norm_kind": "rmsnorm"}])
@in_full("dtype", [torch.float32, torch.bfloat16])
def test_on_an_accelerator_the_allocator_agrees(shape: dict, dtype: torch.dtype):
    large = {} if IS_SMOKE else {"d_model": 512, "n_heads": 8, "d_ff": 2048, "n_layers": 8}
    config = model_of(**large, **shape)
    took(config, dtype=dtype, device=DEVICE)  # what libraries take once
    real = took(config, dtype=dtype, device=DEVICE)
    said = estimated(config, itemsize=dtype.itemsize)
    assert said.peak == pytest.approx(real.peak, rel=PEAK)


@pytest.mark.parametrize("name", ["gpt2-small", "llama-3-8b", "mixtral-8x7b", "bert-base"])
@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("n", [16, 8192])
def test_the_worst_moment_is_what_its_formula_says(name: str, checkpointing: bool, n: int):
    config = (PRESET_TABLE | PUBLISHED_TABLE)[name].config
    found = training_activations(config, batch=2, n=n, itemsize=2, checkpointing=checkpointing)
    sums = found.working_formula.replace("·", "*").replace("−", "-")
    assert eval(sums, {}, found.sizes) == found.working

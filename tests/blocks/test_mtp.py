"""Multi-token prediction, against the MTP layers of `transformers` and a plain training loop."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from toy import assert_near, scramble, toy
from training_toy import evaluations, losses, toy_spec
from transformers import LlamaConfig
from transformers.modeling_layers import MtpLayer
from transformers.models.llama import modeling_llama as llama

from blocks import ConfigError, ModelConfig, build
from blocks.cost.parameters import active_parameters, idle_parameters, total_parameters
from blocks.cost.passes import PassKind, operations, total_flops
from blocks.model.masks import causal
from blocks.model.models import GPT, count_built
from blocks.model.probe import listening
from blocks.observe.recording import Recorder
from blocks.training.ahead import ahead_loss, all_logits
from blocks.training.loop import Training, train
from blocks.training.spec import spec_faults
from blocks.training.task import IGNORED
from blocks.training.tasks import TaskConfig, TaskKind, build_task
from blocks.weights.tensors import read_weights

BATCH, N, VOCABULARY = 2, 7, 11
IDS = torch.arange(BATCH * N).view(BATCH, N) * 5 % VOCABULARY
SHAPES: list[dict[str, Any]] = [
    {},
    {"n_experts": 4, "n_dense_layers": 1, "n_shared_experts": 1, "d_expert": 5},
    {"d_kv_latent": 6, "norm_placement": "post"},
    {"token_mixer": "gated_delta", "norm_kind": "none"},
    {"norm_placement": "parallel", "tie_embeddings": False, "norm_affine": False},
]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def gpt(**changes: Any) -> ModelConfig:
    usual = {"n_layers": 2, "vocab_size": VOCABULARY, "dropout": 0.0, "n_mtp_modules": 2}
    return toy(**{"architecture": "gpt", "position_kind": "rope", **usual, **changes})


def model_of(config: ModelConfig) -> GPT:
    model = scramble(build(config))
    assert isinstance(model, GPT)
    return model


LLAMA_NAMES = {
    "hidden_norm": "hnorm",
    "embedding_norm": "enorm",
    "join_proj": "eh_proj",
    "final_norm": "post_norm",
    "layer.attention.out_proj": "mtp_block.self_attn.o_proj",
    "layer.attention": "mtp_block.self_attn",
    "layer.attention_residual.norm": "mtp_block.input_layernorm",
    "layer.feed_forward_residual.norm": "mtp_block.post_attention_layernorm",
    "layer.feed_forward": "mtp_block.mlp",
}


def their_name(name: str) -> str:
    ours = max((each for each in LLAMA_NAMES if name.startswith(each)), key=len)
    return LLAMA_NAMES[ours] + name.removeprefix(ours)


def test_a_module_is_the_mtp_layer_of_transformers():
    config = gpt(
        norm_kind="rmsnorm", activation="swiglu", attention_bias=False, feed_forward_bias=False
    )
    model = model_of(config)
    theirs_config = LlamaConfig(
        hidden_size=config.d_model,
        intermediate_size=config.d_ff,
        num_attention_heads=config.n_heads,
        rms_norm_eps=config.norm.norm_eps,
        vocab_size=VOCABULARY,
    )
    theirs_config.mtp_hidden_states_first = True
    theirs_config._attn_implementation = "eager"
    turned = llama.LlamaRotaryEmbedding(theirs_config)
    hidden, modules = model.encode(IDS, causal(N)), model.mtp
    assert modules is not None
    for k, ours in enumerate(modules, start=1):
        theirs = MtpLayer(theirs_config, llama.LlamaDecoderLayer, llama.LlamaRMSNorm, 0)
        theirs.load_state_dict({their_name(n): each for n, each in ours.state_dict().items()})
        embedded, n = model.embed(IDS[:, k:]), N - k
        mask = torch.zeros(n, n).masked_fill(~causal(n), -torch.inf)[None, None]
        # By position: what stands last is named `past_key_values` or `cache`.
        hidden = theirs(
            embedded, hidden[:, :-1], turned(embedded, torch.arange(n)[None]), mask, None, None
        )
        assert_near(model.logits_ahead(IDS)[k], model.unembed_logits(hidden))


@each_shape
def test_the_next_token_is_predicted_as_without_modules(shape: dict):
    config = gpt(**shape)
    model, plain = build(config, seed=3), build(config.replace(n_mtp_modules=0), seed=3)
    assert isinstance(model, GPT)
    first, *ahead = model.logits_ahead(IDS)
    assert torch.equal(first, plain(IDS)) and torch.equal(model(IDS), plain(IDS))
    assert [each.shape for each in ahead] == [(BATCH, N - k, VOCABULARY) for k in (1, 2)]


def test_module_k_knows_k_more_tokens_and_none_after_them():
    model = model_of(gpt())
    changed = IDS.clone()
    changed[:, 4] += 1
    for k, (before, after) in enumerate(
        zip(model.logits_ahead(IDS), model.logits_ahead(changed), strict=True)
    ):
        is_same = (before - after).abs().amax(dim=(0, 2)) == 0
        assert is_same.tolist() == [i + k < 4 for i in range(N - k)]


@each_shape
def test_parameters_are_counted(shape: dict):
    config = gpt(**shape)
    without = config.replace(n_mtp_modules=0)
    assert total_parameters(config) == count_built(config) > count_built(without)
    assert active_parameters(config) == active_parameters(without)
    n_mixtures = sum("router" in name for name, _ in build(config).named_parameters())
    expected = idle_parameters(without) * (n_mixtures or 1) // (without.n_expert_layers or 1)
    assert idle_parameters(config) == expected


@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_flops_of_training_are_counted(shape: dict):
    config = gpt(**shape)
    model = build(config)
    assert isinstance(model, GPT)
    in_steps = listening(Recorder({"pattern"}, {}))
    with torch.no_grad(), in_steps, FlopCounterMode(display=False) as counter:
        model.logits_ahead(IDS[:1])
    found = operations(config, PassKind.TRAINING, n=N)
    assert counter.get_total_flops() == sum(each.forward for each in found)
    without = config.replace(n_mtp_modules=0)
    for kind in (PassKind.FORWARD, PassKind.DECODE):
        assert total_flops(operations(config, kind, n=N)) == total_flops(
            operations(without, kind, n=N)
        )


def test_the_loss_is_the_weighted_mean_of_the_modules():
    logits, targets = model_of(gpt()).logits_ahead(IDS)[1:], IDS.roll(-1, dims=1)
    ours = ahead_loss(logits, targets, 0.3)
    each = [
        torch.nn.functional.cross_entropy(logits[k - 1].transpose(1, 2), targets[:, k:])
        for k in (1, 2)
    ]
    assert_near(ours, 0.3 * (each[0] + each[1]) / 2)


def spec_of(**changes: Any):
    return toy_spec(**{"n_steps": 4, "warmup_steps": 1, "eval_every": 4, **changes})


def test_labels_are_smoothed_for_the_next_token_and_for_those_further_ahead():
    recipe = {"n_mtp_modules": 2, "mtp_weight": 0.3, "label_smoothing": 0.2}
    training = Training(spec_of(**recipe))
    batch = training.task.batch(4, torch.Generator().manual_seed(0))
    first, *ahead = all_logits(training.model, batch)
    next_token, *later = (
        torch.nn.functional.cross_entropy(
            logits.flatten(0, 1),
            batch.targets[:, k:].flatten(),
            ignore_index=IGNORED,
            label_smoothing=0.2,
        )
        for k, logits in enumerate((first, *ahead))
    )
    assert_near(training.to_update.loss(first, batch), next_token)
    assert_near(training.to_update.loss_ahead(ahead, batch), sum(later) * 0.15)


def test_without_weight_the_model_learns_as_without_modules():
    plain, silent = Training(spec_of()), Training(spec_of(n_mtp_modules=2, mtp_weight=0.0))
    told = [[*training.events()] for training in (plain, silent)]
    assert losses(told[0]) == pytest.approx(losses(told[1]), rel=1e-4)
    weights = read_weights(silent.model)
    for name, weight in read_weights(plain.model).items():
        assert_near(weight, weights[name], tolerance=1e-3)  # where bytes lie, sums may differ


def test_what_is_predicted_ahead_is_learned_and_told():
    first, last = evaluations(
        [*train(spec_of(n_mtp_modules=2, n_steps=20, eval_every=20, learning_rate=0.02))]
    )
    assert len(first.ahead_losses) == 2
    assert all(a < b for a, b in zip(last.ahead_losses, first.ahead_losses, strict=True))


def test_who_reads_both_ways_predicts_nothing_ahead():
    for architecture in ("encoder", "encoder-decoder"):
        with pytest.raises(ConfigError, match="only to a GPT"):
            gpt(architecture=architecture)
    assert gpt().one_block().n_mtp_modules == 0


def test_texts_are_longer_than_what_is_predicted_ahead():
    spec = spec_of(n_mtp_modules=4)
    (fault,) = spec_faults(spec.config, build_task(TaskConfig(kind=TaskKind.COPY, seq_len=4)))
    assert fault.mend == {"n_mtp_modules": 3}

"""What is drawn of every layer of a pass: the cache that it leaves, the experts that are asked."""

import numpy as np
import pytest
import torch
from drawn_configs import drawn, said
from toy import scramble

from blocks import ModelConfig, build, record
from blocks.inspection.lens import logit_lens
from blocks.inspection.scene import opened_layers, scene
from blocks.inspection.scene_depth import depth
from blocks.inspection.scene_layers import keeps_a_cache
from blocks.model.kv_cache import KVCache
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.run import Input, Run

N = 6
TEXT = Input(tokens=tuple(map(str, range(N))), token_ids=tuple(i % 7 for i in range(N)))
CAUSAL = MaskConfig(mask_kind=MaskKind.CAUSAL)
GPT = ModelConfig(architecture="gpt", n_layers=2, d_model=16, n_heads=2, vocab_size=8)


def found_of(run: Run, model):
    return scene(run, model, opened_layers(run, 0), N - 1)


@pytest.mark.parametrize(
    "config",
    [c for c in map(drawn, range(60)) if keeps_a_cache(Run(config=c, input=TEXT, mask=CAUSAL))][:8],
)
def test_with_a_cache_the_last_row_is_all_that_is_computed(config: ModelConfig):
    """The picture draws earlier rows as kept: a pass with a cache gives the same last row."""
    run = Run(config=config, input=TEXT, mask=CAUSAL)
    model = scramble(build(config))
    found, cache, ids = found_of(run, model), KVCache(config), run.values()
    with torch.no_grad():
        model(ids[:, :-1], cache=cache)
    seen = record(lambda x, mask: model(x, cache=cache), ids[:, -1:])
    for path, matrix in found.matrices.items():
        if path not in seen.tensors or path.endswith((".k", ".v", "scores")):
            continue
        exact = seen.tensors[path][0]
        exact = (exact if exact.ndim == 3 else exact[None])[:, -1, : matrix.codes.shape[-1]]
        room = matrix.steps[:, -1, None] * 0.51 + 1e-4 * exact.abs().max().item()
        shown = matrix.values[:, -1, -exact.shape[-1] :]  # a local layer keeps its window alone
        assert (np.abs(shown - exact.numpy()) <= room).all(), (path, said(config))


def test_after_each_layer_stands_what_the_lens_reads_there():
    model = scramble(build(GPT))
    run = Run(config=GPT, input=TEXT, mask=CAUSAL)
    seen = found_of(run, model).seen
    found, lens = depth(model, seen, N - 1), logit_lens(model, seen, slice(N - 1, N))
    assert found.token_id.tolist() == lens.token_id[1:, 0].tolist()
    np.testing.assert_allclose(found.probability, lens.probability[1:, 0], rtol=1e-5)
    shares = [model.unembed_logits(model.final_norm(seen.tensor("resid_post", i))) for i in (0, 1)]
    before, after = (each[0, -1].softmax(-1) for each in shares)
    moved = (after - before).clamp(min=0).sum().item()
    assert found.moved[1] == pytest.approx(moved, rel=1e-4)


def test_the_lengths_of_keys_and_values_are_those_that_are_kept():
    model = build(GPT)
    run = Run(config=GPT, input=TEXT, mask=CAUSAL)
    found = found_of(run, model)
    cache = KVCache(GPT)
    model(run.values(), cache=cache)
    for layer, kept in enumerate(cache.layers):
        for name, tensor in zip("kv", kept.tensors, strict=True):
            matrix = found.readings[f"layers.{layer}.cache_{name}"]
            exact = tensor[0].norm(dim=-1).T.detach().numpy()
            assert np.allclose(matrix.values[0], exact, atol=matrix.steps.max())


def test_a_text_whose_tokens_see_later_ones_keeps_no_cache():
    run = Run(config=GPT, input=TEXT, mask=CAUSAL)
    assert keeps_a_cache(run)
    assert not keeps_a_cache(Run(config=GPT, input=TEXT, mask=MaskConfig(mask_kind=MaskKind.NONE)))
    assert not keeps_a_cache(
        Run(config=GPT.replace(architecture="encoder"), input=TEXT, mask=CAUSAL)
    )


def test_each_token_lights_its_own_experts():
    config = GPT.replace(n_experts=5, n_active_experts=2)
    run, model = Run(config=config, input=TEXT, mask=CAUSAL), build(config)
    matrix = found_of(run, model).readings["layers.1.experts"]
    seen = run.record(model)
    whole = record(model, run.values(), mask=run.build_mask())
    index = whole.tensor("expert_index", 1)[0]
    assert seen.stages and ((matrix.values[0] > 0).sum(-1) == 2).all()
    lit = np.argsort(-matrix.values[0], axis=-1)[:, :2]
    assert {frozenset(a) for a in lit} == {frozenset(b) for b in index.tolist()}
    assert matrix.values[0].sum(-1) == pytest.approx(1, abs=2 * matrix.steps.max())

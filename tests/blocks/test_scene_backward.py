"""The way back of the moving picture: its gradients are those of a training step."""

import numpy as np
import pytest
import torch
from drawn_configs import drawn
from test_scene import run_of
from torch.nn import functional as F  # noqa: N812
from toy import scramble

from blocks import ModelConfig, build
from blocks.inspection.scene import opened_layers
from blocks.inspection.scene_backward import IGNORED, backward, can_learn, parts_at

LEARNERS = [c for c in map(drawn, range(60)) if can_learn(run_of(c))][:8]
STARTS = ("layers.0.", "encoder.layers.0.")
BIASES = {  # the gradient of a bias is the sum, over all tokens, of that of what it is added to
    "attention_out": "attention.out_proj.bias",
    "feed_forward_out": "feed_forward.down_proj.bias",
    "attention_norm": "attention_residual.norm.bias",
    "feed_forward_norm": "feed_forward_residual.norm.bias",
    "v": "attention.v_proj.bias",
}


def test_the_gradients_are_those_of_a_training_step():
    assert sum(map(n_that_agree, LEARNERS)) > 20


def n_that_agree(config: ModelConfig) -> int:
    """How many biases of a model have the gradient that the way back says."""
    run = run_of(config)
    model = scramble(build(config))
    found = backward(run, model, opened_layers(run, 0), 2)
    plain = F.cross_entropy(
        model(run.values(), run.build_mask())[0].float(), found.targets, ignore_index=IGNORED
    )
    assert found.loss == pytest.approx(plain.item(), rel=1e-4)
    plain.backward()
    parameters, n = dict(model.named_parameters()), 0
    first = [x for name, x in parameters.items() if name.startswith(STARTS) and x.ndim > 1]
    largest = max(x.grad.abs().max().item() for x in first if x.grad is not None)
    assert found.weight is not None
    assert abs(found.weight.gradient) == pytest.approx(largest, rel=1e-3)
    for path, gradient in found.seen.tensors.items():
        start, _, name = path.rpartition(".")
        own = parameters.get(f"{start}.{BIASES.get(name, '')}")
        if own is None or own.grad is None:
            continue
        n += 1
        rows = gradient[0] if gradient.ndim == 3 else gradient[0].transpose(0, 1).flatten(1)
        times = config.scales.residual_multiplier if "out" in name else 1
        torch.testing.assert_close(
            rows.sum(0) * times, own.grad, rtol=1e-3, atol=1e-4 * own.grad.abs().max().item()
        )
    return n


@pytest.mark.parametrize("config", LEARNERS[:4])
def test_a_stream_has_what_comes_straight_and_what_comes_through_the_part(config):
    run = run_of(config)
    found = backward(run, scramble(build(config)), opened_layers(run, 0), 2)
    passed: set[str] = set()
    for move in found.moves:
        assert {*move.reads} <= passed, move
        passed.add(move.path)
        matrix = found.matrices.get(move.path)
        if matrix is not None and matrix.columns is None:
            exact = found.seen.tensors[move.path][0]
            exact = exact if exact.ndim == 3 else exact[None]
            room = matrix.steps[..., None] * 0.501 + 127 * np.finfo(np.float32).tiny
            drawn_of = exact[..., : matrix.codes.shape[-1]].numpy()
            assert (np.abs(matrix.values - drawn_of) <= room).all(), move
        if parts := parts_at(found, move):
            assert torch.allclose(sum(parts), found.seen.tensors[move.path][0])

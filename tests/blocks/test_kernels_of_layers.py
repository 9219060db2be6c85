"""Our own kernels norm, turn and bend as torch does, forward and backward.

Without a GPU Triton interprets them, where it is.
"""

import pytest
import torch
from torch.nn import functional as F  # noqa: N812
from toy import assert_near, draw

from blocks.model.positions import turn_pairs

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_own_kernels_turn_and_norm_heads_as_torch_does(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
):
    if DEVICE == "cpu":
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    pytest.importorskip("triton")
    from blocks.model.kernels import Normed, SquaredReLU, Turned

    cos, sin = draw(2, 5, 3).to(DEVICE, dtype)
    ways = (
        (lambda x: Turned.apply(x, cos, sin), lambda x: turn_pairs(x, cos, sin)),
        (lambda x: Normed.apply(x, 1e-5), lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-5)),
        (lambda x: SquaredReLU.apply(x.contiguous()), lambda x: F.relu(x).square()),
    )
    for ours, torchs in ways:
        for d_head in (6, 11):  # what is beyond the pairs stays
            found = []
            for work in (ours, torchs):
                flat = draw(2, 5, 4 * d_head).to(DEVICE, dtype).requires_grad_()
                x = flat.unflatten(-1, (4, d_head)).transpose(1, 2)  # as a projection leaves heads
                out = work(x)
                out.backward(draw(2, 4, 5, d_head).to(out))
                found.append((out.detach(), flat.grad))
            for one, other in zip(*found, strict=True):
                assert_near(one, other, tolerance=1e-5 if dtype is torch.float32 else 2e-2)

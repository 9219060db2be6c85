"""Our own kernels sum up what torch does; without a GPU Triton interprets them, where it is."""

import pytest
import torch
from toy import assert_near, draw

from blocks.observe import flow

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.gpu
def test_own_kernels_give_the_moments_that_torch_gives(monkeypatch: pytest.MonkeyPatch):
    if DEVICE == "cpu":
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    pytest.importorskip("triton")
    from blocks.observe.kernels import moments_of_each

    rows = (1e4 + draw(10, 2 * 30 * 171).pow(3)).to(DEVICE)  # more than one launch reads
    for n_text in (30, 19):
        counted = torch.arange(30, device=DEVICE) < n_text
        found = moments_of_each(rows.unbind(), 30, 171, counted.sum())
        counts = counted[:, None].expand(2, 30, 171).flatten()
        for wanted in (flow.of_rows(rows[:, counts]), flow.of_rows(rows, counts)):
            for column in range(6):
                assert_near(found[:, column], wanted[:, column], tolerance=1e-5)

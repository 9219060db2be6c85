"""Toy sizes, and values drawn from random numbers that are nobody else's."""

from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from blocks import ModelConfig
from blocks.model.kinds import PositionKind
from blocks.model.masks import MaskConfig, MaskKind

BATCH, SEQ_LEN = 2, 5
D_MODEL, N_HEADS, D_FF = 16, 4, 32
D_HEAD = D_MODEL // N_HEADS
NO_NORM_NO_POSITION = {"norm_kind": "none", "position_kind": "none"}

# One sentence padded on the left, one on the right: with a causal mask, the first tokens of
# the first sentence may see no key at all.
IS_TOKEN = torch.tensor([[False, False, True, True, True], [True, True, True, False, False]])

MASKS = [MaskConfig(mask_kind=kind, window_size=2, prefix_len=2) for kind in MaskKind]
POSITIONS = list(PositionKind)


def toy(**changes: Any) -> ModelConfig:
    """A small configuration, changed by field name."""
    sizes = {"d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": D_FF, "max_seq_len": 8}
    return ModelConfig.from_flat(sizes | changes)


def toys(**choices: Any) -> list[ModelConfig]:
    """Every small configuration with one of these values in each field."""
    base = toy()
    rows = product(*choices.values())
    return [base.replace(**dict(zip(choices, row, strict=True))) for row in rows]


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Values from N(0, 1)."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def toy_input(seed: int = 0) -> Tensor:
    """(batch, seq, d_model)."""
    return draw(BATCH, SEQ_LEN, D_MODEL, seed=seed)


def scramble(model: nn.Module) -> Any:
    """Draw every parameter anew, norms and biases too, so that each of them matters."""
    with torch.no_grad():
        for seed, parameter in enumerate(model.parameters()):
            parameter.copy_(0.5 * draw(*parameter.shape, seed=seed))
    return model


def assert_near(ours: Any, theirs: Any, *, tolerance: float = 1e-5) -> None:
    """Equal up to rounding: no difference above `tolerance` times the largest that is compared."""
    ours, theirs = torch.as_tensor(ours), torch.as_tensor(theirs)
    size = theirs[theirs.isfinite()].abs().max().item() if theirs.isfinite().any() else 0.0
    torch.testing.assert_close(ours, theirs.to(ours.dtype), rtol=0, atol=tolerance * size)

"""Whether a part looks at one position at a time: tokens shuffled, and one token changed."""

from collections.abc import Callable

import torch
from torch import Tensor

from blocks.model.randomness import generator

Part = Callable[[Tensor], Tensor]


def permutation(n: int, seed: int) -> Tensor:
    """An order of n tokens that is not the one they have, if there is another: (n,)."""
    order = torch.randperm(n, generator=generator(seed, "permutation"))
    return order.roll(1) if torch.equal(order, torch.arange(n)) else order


def orders(n: int, seed: int, count: int) -> list[Tensor]:
    """Several orders of n tokens: backwards, then as drawn from the seed; each (n,)."""
    drawn = [permutation(n, seed + i) for i in range(count - 1)]
    return [torch.arange(n).flip(0), *drawn]


def reaching_token(mask: Tensor | None, token: int) -> int:
    """A token that others may see: this one, or else the first that another query may see.

    `mask` as `blocks.model.masks` builds it; of several sequences, the first is meant.
    """
    if mask is None:
        return token
    seen = mask.reshape(-1, mask.shape[-1], mask.shape[-1])[0].clone()
    by_others = seen.fill_diagonal_(False).any(dim=0)
    if by_others[token] or not by_others.any():
        return token
    return int(by_others.int().argmax())


def output(part: Part, x: Tensor) -> Tensor:
    """What a part makes of x, without gradients."""
    with torch.no_grad():
        return part(x)


def shuffle_difference(part: Part, x: Tensor, order: Tensor) -> float:
    """max |part(shuffled x) − shuffled part(x)|: 0 where each position is computed alone.

    `x` is (batch, seq, d_model).
    """
    order = order.to(x.device)
    with torch.no_grad():
        difference = part(x[:, order]) - part(x)[:, order]
    return float(difference.float().abs().max())


def reach_of(part: Part, x: Tensor, token: int, seed: int) -> Tensor:
    """How far each token's output of the first sequence moves when one token's input changes.

    ‖new − old‖ / ‖old‖, (seq,): 0 where it stays, 1 where there was nothing. That token gets a
    random vector of its own RMS.
    """
    changed = x.clone()
    noise = torch.randn(x.shape[-1], generator=generator(seed, "another token"))
    size = x[0, token].float().square().mean().sqrt()
    changed[0, token] = (noise.to(x.device) * size).to(x.dtype)
    with torch.no_grad():
        old, new = part(x)[0].float(), part(changed)[0].float()
    moved, before = (new - old).norm(dim=-1), old.norm(dim=-1)
    size = torch.where(before > 0, before, moved)
    return torch.where(moved > 0, moved / size, 0)

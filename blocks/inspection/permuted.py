"""Whether a part looks at one position at a time: tokens shuffled, and one token changed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from blocks.inspection.ratios import rms
from blocks.inspection.wide import SeenLayer
from blocks.model.kinds import PositionKind
from blocks.model.randomness import generator

Part = Callable[[Tensor], Tensor]
N_ORDERS = 4
ROUNDING, COARSE_ROUNDING = 1e-4, 0.05  # of the output's size: in float32 and more, in 16 bits


class Shuffled(NamedTuple):
    """The largest difference that shuffling the tokens makes in a part, and its output's RMS.

    `part`: feed_forward, unmasked (attention without a mask), or masked (with that of the run).
    """

    part: str
    difference: float
    size: float
    is_rounding: bool


@dataclass(frozen=True)
class ShuffleFacts:
    """What shuffling `n_tokens` tokens changes in each part; the most of `n_orders` orders.

    `masked` is None where the run has no mask that hides any token.
    """

    feed_forward: Shuffled
    unmasked: Shuffled
    masked: Shuffled | None
    n_tokens: int
    n_orders: int
    position_kind: PositionKind

    @property
    def parts(self) -> tuple[Shuffled, ...]:
        """Those that there are."""
        return (self.feed_forward, self.unmasked, *([self.masked] if self.masked else []))


@dataclass(frozen=True, eq=False)
class ReachFacts:
    """Which outputs move when the input of one token changes.

    `changed`: that token, which is not the `pinned` one where no other may see that; `moved`: a row
    each token, how far its output moves in shares of its size: feed_forward, attention.
    """

    labels: tuple[str, ...]
    pinned: int
    changed: int
    moved: pd.DataFrame
    has_experts: bool
    has_capacity: bool

    def n_moved(self, part: str) -> int:
        """How many outputs of a part move."""
        return int((self.moved[part] > 0).sum())


def shuffle_facts(seen: SeenLayer) -> ShuffleFacts:
    """Shuffle the tokens that a layer read, and compare the outputs of its parts."""
    run = seen.run
    drawn = orders(run.input.shape[1], run.seed, N_ORDERS)
    limit = COARSE_ROUNDING if run.dtype in ("float16", "bfloat16") else ROUNDING
    found = {}
    for name, (part, x) in _parts(seen).items():
        difference, size = _shuffled(part, x, drawn)
        is_rounding = difference <= limit * max(size, 1e-9)
        found[name] = Shuffled(name, difference, size, is_rounding)
    return ShuffleFacts(
        feed_forward=found["feed_forward"],
        unmasked=found["unmasked"],
        masked=found.get("masked"),
        n_tokens=run.input.shape[1],
        n_orders=len(drawn),
        position_kind=run.config.position.position_kind,
    )


def reach_facts(seen: SeenLayer, token: int) -> ReachFacts:
    """Replace the input of a token, or of one that others may see, and see what moves."""
    run, parts = seen.run, _parts(seen)
    changed = reaching_token(run.build_mask(0), token)
    read = parts.get("masked", parts["unmasked"])
    compared = {"feed_forward": parts["feed_forward"], "attention": read}
    moved = [reach_of(*part, changed, run.seed) for part in compared.values()]
    return ReachFacts(
        labels=run.input.labels,
        pinned=token,
        changed=changed,
        moved=pd.DataFrame(torch.stack(moved, 1).cpu().numpy(), columns=list(compared)),
        has_experts=run.config.n_experts > 1,
        has_capacity=bool(run.config.experts.expert_capacity),
    )


def _shuffled(part: Part, x: Tensor, drawn: list[Tensor]) -> tuple[float, float]:
    """The largest difference over some orders, and the size of the output."""
    return max(shuffle_difference(part, x, order) for order in drawn), rms(output(part, x))


def _parts(seen: SeenLayer) -> dict[str, tuple[Part, Tensor]]:
    """Each part with its input in this run; attention with its mask only where that hides any."""
    mask, attention = seen.run.build_mask(0), seen.block.get_submodule("attention")
    parts: dict[str, tuple[Part, Tensor]] = {
        "feed_forward": (seen.block.get_submodule("feed_forward"), seen.x),
        "unmasked": (attention, seen.attention_x),
    }
    if mask is not None and not bool(mask.all()):
        parts["masked"] = partial(attention, mask=mask), seen.attention_x
    return parts


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

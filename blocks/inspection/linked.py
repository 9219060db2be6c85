"""How much of its weight a head puts where the answer is known to come from."""

from collections.abc import Collection

import torch
from torch import Tensor


def linked_shares(pattern: Tensor, links: Collection[tuple[int, int]]) -> Tensor:
    """Mean share of weight on linked source tokens: (n_heads, target, source) to (n_heads,).

    A link is (place in the source, row of the target); rows without one do not count, and where
    there is none at all the share is 0. A query that spreads its weight evenly over the source
    scores links/source.
    """
    if not links:
        return pattern.new_zeros(pattern.shape[0], dtype=torch.float32)
    is_linked = torch.zeros(pattern.shape[1:], dtype=torch.bool)
    for source, row in links:
        is_linked[row, source] = True
    is_linked = is_linked.to(pattern.device)
    on_links = (pattern.float() * is_linked).sum(-1)
    return on_links[:, is_linked.any(-1)].mean(-1)

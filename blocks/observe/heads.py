"""What a head does, in a handful of numbers."""

from collections.abc import Hashable, Sequence

import pandas as pd
import torch
from torch import Tensor

NAMED_ABOVE = 0.5
SHARES = ("first_token", "same_token", "previous_token", "induction")


def frame(
    pattern: Tensor,
    mask: Tensor | None = None,
    *,
    layer: int = 0,
    tokens: Sequence[Hashable] = (),
) -> pd.DataFrame:
    """One row per head, averaged over batch and queries that may see a key.

    `pattern` is (batch, n_heads, query, key). Columns: layer, head; entropy_bits (0: one token;
    log2 n: n tokens alike); effective_tokens, 2^entropy; distance_tokens, mean |query − key|;
    the shares of weight on the first, the same and the previous token; induction, the share on
    what followed the same token before, over the queries whose token in `tokens` stood there
    before (Olsson et al. 2022, "prefix matching"); row_sum_min and row_sum_max, 1 where softmax
    did its work; name, the largest share where it is above 0.5.
    """
    pattern = pattern.float()
    rows = pattern.sum(dim=-1)  # (batch, n_heads, query)
    counts = _sees_something(pattern, mask)
    measures = _measures(pattern)
    columns = [_mean(values, counts) for values in measures.values()]
    columns.append(_induction(pattern, tokens))
    columns += [_over_heads(rows, counts, torch.inf).amin(1)]
    columns += [_over_heads(rows, counts, -torch.inf).amax(1)]
    table = pd.DataFrame(
        torch.stack(columns, dim=1).cpu().numpy(),
        columns=[*measures, "induction", "row_sum_min", "row_sum_max"],
    )
    table.insert(0, "layer", layer)
    table.insert(1, "head", range(len(table)))
    table.insert(3, "effective_tokens", 2 ** table["entropy_bits"])
    table["name"] = table[list(SHARES)].apply(_name, axis=1)
    return table


def _measures(pattern: Tensor) -> dict[str, Tensor]:
    """What is averaged over the queries, each (batch, n_heads, query)."""
    entropy = torch.special.entr(pattern).sum(dim=-1) / torch.log(torch.tensor(2.0))
    position = torch.arange(pattern.shape[-1], device=pattern.device)
    distance = (position[:, None] - position).abs().to(pattern)
    return {
        "entropy_bits": entropy,
        "distance_tokens": (pattern * distance).sum(dim=-1),
        "first_token": pattern[..., 0],
        "same_token": pattern.diagonal(dim1=-2, dim2=-1),
        "previous_token": _previous(pattern),
    }


def _sees_something(pattern: Tensor, mask: Tensor | None) -> Tensor:
    """(batch, n_heads, query), True where a query may see a key."""
    if mask is None:
        return torch.ones_like(pattern[..., 0], dtype=torch.bool)
    return mask.any(dim=-1).expand(pattern.shape[:-1])


def _previous(pattern: Tensor) -> Tensor:
    """Weight on the token before; the first query has none: (batch, n_heads, query)."""
    before = pattern.diagonal(offset=-1, dim1=-2, dim2=-1)
    return torch.nn.functional.pad(before, (1, 0))


def _induction(pattern: Tensor, tokens: Sequence[Hashable]) -> Tensor:
    """Mean weight on what followed an earlier occurrence of the query's token: (n_heads,)."""
    followed = torch.zeros(pattern.shape[-2:], dtype=torch.bool)
    for query, token in enumerate(tokens):
        for key in range(1, query + 1):
            followed[query, key] = tokens[key - 1] == token
    followed = followed.to(pattern.device)
    has_one = followed.any(dim=-1)
    return _mean((pattern * followed).sum(dim=-1), has_one.expand(pattern.shape[:-1]))


def _mean(values: Tensor, counts: Tensor) -> Tensor:
    return (values * counts).sum(dim=(0, 2)) / counts.sum(dim=(0, 2)).clamp(min=1)


def _over_heads(values: Tensor, counts: Tensor, otherwise: float) -> Tensor:
    return values.masked_fill(~counts, otherwise).transpose(0, 1).flatten(1)


def _name(shares: pd.Series) -> str:
    return str(shares.idxmax()) if shares.max() > NAMED_ABOVE else ""

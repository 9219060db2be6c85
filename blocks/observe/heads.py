"""What a head does, in a handful of numbers."""

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence

import pandas as pd
import torch
from torch import Tensor

NAMED_ABOVE = 0.5
SHARES = ("first_token", "same_token", "previous_token", "induction")


def frame(
    pattern: Tensor, mask: Tensor | None = None, *, layer: int = 0, tokens: Sequence[Hashable] = ()
) -> pd.DataFrame:
    """One row per head, averaged over batch and queries that may see at least two keys.

    Who sees one key has no choice; where none has, all are averaged that may see a key.
    `pattern` is (batch, n_heads, query, key). Columns: layer, head; entropy_bits (0: one token;
    log2 n: n tokens alike); effective_tokens, 2^entropy; distance_tokens, mean |query − key|;
    the shares of weight on the first, the same and the previous token; induction, the share on
    what followed the same token before, over the queries whose token in `tokens` stood there
    before (Olsson et al. 2022, "prefix matching"); row_sum_min and row_sum_max, 1 where softmax
    did its work; name, the largest share where it is above 0.5.
    """
    return frame_of((pattern,), mask, layer=layer, tokens=tokens)


def frame_of(
    some: Iterable[Tensor],
    mask: Tensor | None = None,
    *,
    layer: int = 0,
    tokens: Sequence[Hashable] = (),
) -> pd.DataFrame:
    """As `frame`, of a pattern that comes in blocks of queries, from the first to the last."""
    names = _Names(tokens)
    found = [_measures(pattern.float(), names, first) for first, pattern in _numbered(some)]
    measures = {name: torch.cat([each[name] for each in found], dim=2) for name in found[0]}
    rows, inducing = measures.pop("row_sum"), measures.pop("induction")  # (batch, n_heads, query)
    n_seen = _n_seen(rows, mask)
    counts, chooses = n_seen > 0, n_seen > 1
    averaged = torch.where(chooses.any(), chooses, counts)
    columns = [_mean(values, averaged) for values in measures.values()]
    columns.append(_mean(inducing, names.has_followed(rows.shape[2]).to(rows).expand_as(rows)))
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


def _numbered(some: Iterable[Tensor]) -> Iterator[tuple[int, Tensor]]:
    """Each block with the number of its first query."""
    first = 0
    for pattern in some:
        yield first, pattern
        first += pattern.shape[2]


class _Names:
    """Which keys followed an earlier occurrence of a query's token."""

    def __init__(self, tokens: Sequence[Hashable]):
        numbers = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
        self.ids = torch.tensor([numbers[token] for token in tokens], dtype=torch.long)

    def followed(self, first: int, n_queries: int, n_keys: int, device: torch.device) -> Tensor:
        """Of `n_queries` from the `first` on, worked out on the device: (query, key)."""
        ids = self.ids.to(device)
        before = torch.full((n_keys,), -1, device=device)
        n = min(len(ids), n_keys - 1)
        before[1 : n + 1] = ids[:n]
        queries = torch.arange(first, first + n_queries, device=device)
        own = torch.full((n_queries,), -2, device=device)
        known = ids[first : first + n_queries]
        own[: len(known)] = known
        return (own[:, None] == before) & (torch.arange(n_keys, device=device) <= queries[:, None])

    def has_followed(self, n_queries: int) -> Tensor:
        """Whether the token of a query stood there before it: (query,)."""
        seen: set[int] = set()
        found = []
        for token in self.ids[:n_queries].tolist():
            found.append(token in seen)
            seen.add(token)
        return torch.tensor(found + [False] * (n_queries - len(found)))


def _measures(pattern: Tensor, names: _Names, first: int) -> dict[str, Tensor]:
    """What is averaged over the queries from the `first` on, each (batch, n_heads, query)."""
    n_queries, n_keys = pattern.shape[-2:]
    followed = names.followed(first, n_queries, n_keys, pattern.device).to(pattern)
    position = torch.arange(n_keys, device=pattern.device)
    distance = (position[first : first + n_queries, None] - position).abs().to(pattern)
    entropy = torch.special.entr(pattern).sum(dim=-1) / math.log(2)
    return {
        "entropy_bits": entropy,
        "distance_tokens": _dot(pattern, distance),
        "first_token": pattern[..., 0],
        "same_token": pattern.diagonal(first, dim1=-2, dim2=-1),
        "previous_token": _previous(pattern, first),
        "induction": _dot(pattern, followed),
        "row_sum": pattern.sum(dim=-1),
    }


def _dot(pattern: Tensor, factor: Tensor) -> Tensor:
    """Σ over the keys of weight · factor, (query, key): (batch, n_heads, query)."""
    return torch.einsum("bhqk,qk->bhq", pattern, factor)


def _n_seen(rows: Tensor, mask: Tensor | None) -> Tensor:
    """How many keys a query may see, in the shape of `rows` (batch, n_heads, query)."""
    if mask is None:
        return torch.full_like(rows, rows.shape[-1])
    return mask.sum(dim=-1).expand(rows.shape)


def _previous(pattern: Tensor, first: int) -> Tensor:
    """Weight on the token before; the first query has none: (batch, n_heads, query)."""
    if first:
        return pattern.diagonal(first - 1, dim1=-2, dim2=-1)
    before = pattern.diagonal(offset=-1, dim1=-2, dim2=-1)
    return torch.nn.functional.pad(before, (1, 0))


def _mean(values: Tensor, counts: Tensor) -> Tensor:
    return (values * counts).sum(dim=(0, 2)) / counts.sum(dim=(0, 2)).clamp(min=1)


def _over_heads(values: Tensor, counts: Tensor, otherwise: float) -> Tensor:
    return values.masked_fill(~counts, otherwise).transpose(0, 1).flatten(1)


def _name(shares: pd.Series) -> str:
    return str(shares.idxmax()) if shares.max() > NAMED_ABOVE else ""

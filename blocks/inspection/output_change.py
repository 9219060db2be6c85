"""How far the output of a model moves when something is changed inside or in what goes in."""

import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

AT_ONCE = 2**24  # numbers of the outputs that are compared at a time: copies of more take gigabytes


def output_change(before: Tensor, after: Tensor, *, is_logits: bool) -> pd.DataFrame:
    """One row per token: position, cosine, relative; of logits also kl_bits and the top tokens.

    `before` and `after`: (seq, features). `cosine`: of the two outputs, 1 where nothing turned;
    `relative`: |after − before| / |before|. `kl_bits`: KL(before‖after) of the next-token
    distributions, in bits; top_before, top_after: the likeliest token ids, p_before and p_after:
    how likely `top_before` is, delta_logit: by how much its logit moved.
    """
    n_rows = max(1, AT_ONCE // before.shape[-1])
    pairs = zip(before.split(n_rows), after.split(n_rows), strict=True)
    some = [_columns(one.float(), other.float(), is_logits=is_logits) for one, other in pairs]
    numbers = torch.cat([torch.stack([*each.values()], dim=1) for each in some]).cpu().numpy()
    table = pd.DataFrame(numbers, columns=list(some[0]))
    table.insert(0, "position", range(len(table)))
    top = [name for name in ("top_before", "top_after") if name in table]
    return table.astype(dict.fromkeys(top, int))


def _columns(before: Tensor, after: Tensor, *, is_logits: bool) -> dict[str, Tensor]:
    columns = {
        "cosine": F.cosine_similarity(before, after, dim=-1),
        "relative": (after - before).norm(dim=-1) / before.norm(dim=-1).clamp(min=1e-12),
    }
    if is_logits:
        columns |= _of_distributions(before, after)
    return {name: column.double() for name, column in columns.items()}


def _of_distributions(before: Tensor, after: Tensor) -> dict[str, Tensor]:
    top_before, top_after = before.argmax(dim=-1), after.argmax(dim=-1)
    log_before, log_after = before.log_softmax(dim=-1), after.log_softmax(dim=-1)
    return {
        "kl_bits": kl_bits(before, after),
        "top_before": top_before,
        "top_after": top_after,
        "p_before": _at(log_before, top_before).exp(),
        "p_after": _at(log_after, top_before).exp(),
        "delta_logit": _at(after, top_before) - _at(before, top_before),
    }


def _at(values: Tensor, token_id: Tensor) -> Tensor:
    return values.gather(-1, token_id[:, None])[:, 0]


def kl_bits(before: Tensor, after: Tensor) -> Tensor:
    """KL(before‖after) of the distributions that logits stand for: (…, vocab_size) to (…)."""
    log_before = before.float().log_softmax(dim=-1)
    difference = log_before - after.float().log_softmax(dim=-1)
    return (log_before.exp() * difference).sum(dim=-1).clamp(min=0) / torch.log(torch.tensor(2.0))


def moved_most(before: Tensor, after: Tensor, n: int) -> pd.DataFrame:
    """The `n` tokens that matter most before or after: token_id, p_before, p_after, delta_logit.

    `before` and `after`: (vocab_size,) logits. The likeliest first, by the larger of the two.
    """
    before, after = before.float(), after.float()
    p_before, p_after = before.softmax(dim=-1), after.softmax(dim=-1)
    top = torch.maximum(p_before, p_after).topk(min(n, len(before))).indices
    columns = torch.stack([top, p_before[top], p_after[top], (after - before)[top]]).double()
    table = pd.DataFrame(
        columns.T.cpu().numpy(), columns=["token_id", "p_before", "p_after", "delta_logit"]
    )
    return table.astype({"token_id": int})

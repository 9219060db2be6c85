"""What a model expects at each position, and how surprised it is by what stands there."""

import pandas as pd
import torch
from torch import Tensor


def surprise(logits: Tensor, token_ids: Tensor) -> pd.DataFrame:
    """How unexpected each token was, given those before it: one row a token, the first excepted.

    `logits` (seq, vocab_size), `token_ids` (seq,). Columns: position (from 1, of the token),
    token_id, probability, bits (−log₂ probability), rank (1: it was the first guess).
    The mean of `bits` · ln 2 is the cross-entropy loss of the text.
    """
    log_probability = torch.log_softmax(logits[:-1].float(), dim=-1)
    targets = token_ids[1:]
    found = log_probability.gather(-1, targets[:, None])
    rank = (log_probability > found).sum(dim=-1) + 1
    columns = torch.stack((targets.double(), found[:, 0].double(), rank.double())).cpu().numpy()
    table = pd.DataFrame({"position": range(1, len(targets) + 1)})
    table["token_id"] = columns[0].astype(int)
    table["probability"] = torch.from_numpy(columns[1]).exp().numpy()
    table["bits"] = -columns[1] / torch.log(torch.tensor(2.0)).item()
    table["rank"] = columns[2].astype(int)
    return table


def guesses(logits: Tensor) -> pd.DataFrame:
    """The likeliest token at each position: token_id, probability; `logits` (seq, vocab_size)."""
    probability, token_id = logits.float().softmax(dim=-1).max(dim=-1)
    return pd.DataFrame(
        {"token_id": token_id.cpu().numpy(), "probability": probability.cpu().numpy()}
    )


def candidates(logits: Tensor, n: int) -> pd.DataFrame:
    """The `n` most probable tokens: token_id, probability; `logits` is (vocab_size,)."""
    top = logits.float().softmax(dim=-1).topk(min(n, len(logits)))
    return pd.DataFrame(
        {"token_id": top.indices.cpu().numpy(), "probability": top.values.cpu().numpy()}
    )

"""What the encoder hands to the decoder: its vectors, how alike they are, how they came about."""

import pandas as pd
import torch
from torch import Tensor

from blocks.probe import Recording


def stream(seen: Recording, n_layers: int) -> Tensor:
    """The source before the first layer, after each, and as it is handed over.

    (n_layers + 2, source, d_model) of the first sequence; where there is no final norm the last
    two are the same.
    """
    before = seen.tensor("resid_pre", 0, stack="encoder")
    after = [seen.tensor("resid_post", layer, stack="encoder") for layer in range(n_layers)]
    output = seen.tensors.get("encoder.final_norm", after[-1])
    return torch.stack([each[0].float() for each in (before, *after, output)])


def tokens(stages: Tensor) -> pd.DataFrame:
    """One row a source token: mean, std, norm of what is handed over, and what it was before.

    `stages` is that of `stream`. Columns: mean, std, norm; norm_before and cosine, both against
    the same token before the first layer.
    """
    before, output = stages[0], stages[-1]
    columns = {
        "mean": output.mean(dim=-1),
        "std": output.std(dim=-1, correction=0),
        "norm": output.norm(dim=-1),
        "norm_before": before.norm(dim=-1),
        "cosine": torch.cosine_similarity(before, output, dim=-1),
    }
    return pd.DataFrame(
        torch.stack(list(columns.values()), dim=1).cpu().numpy(), columns=list(columns)
    )


def cosines(vectors: Tensor) -> Tensor:
    """How alike the tokens are, −1 to 1: (source, d_model) to (source, source)."""
    unit = torch.nn.functional.normalize(vectors.float(), dim=-1)
    return (unit @ unit.mT).clamp(-1, 1)


def changes(stages: Tensor) -> Tensor:
    """How much each step changes each token: ‖after − before‖ / ‖before‖.

    (n_layers + 2, source, d_model) to (n_layers + 1, source): the last step is the final norm.
    """
    before = stages[:-1]
    least = torch.finfo(stages.dtype).tiny
    return (stages[1:] - before).norm(dim=-1) / before.norm(dim=-1).clamp(min=least)


def mean_cosine(similarity: Tensor) -> float:
    """Of all pairs of two different tokens; 1 where there is one token only."""
    n = len(similarity)
    if n == 1:
        return 1.0
    return float((similarity.sum() - similarity.diagonal().sum()) / (n * (n - 1)))

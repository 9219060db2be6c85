"""The values of one stage: how they are spread, and what they are for one token."""

import numpy as np
import pandas as pd
import torch
from torch import Tensor

N_BINS = 60


def histogram(x: Tensor, n_bins: int = N_BINS) -> pd.DataFrame:
    """How many values fall where, counted on the device: columns value (bin centre), share.

    `share` is of all values, per bin; the bins span the least to the largest value.
    """
    x = x.detach().float().flatten()
    least, most = torch.aminmax(x)
    width = ((most - least) / n_bins).clamp(min=torch.finfo(torch.float32).tiny)
    bins = ((x - least) / width).long().clamp(0, n_bins - 1)
    counts = torch.bincount(bins, minlength=n_bins) / len(x)
    numbers = torch.cat((counts, least[None], width[None])).cpu().numpy()
    centres = numbers[-2] + (np.arange(n_bins) + 0.5) * numbers[-1]
    return pd.DataFrame({"value": centres, "share": numbers[:n_bins]})


def token_values(before: Tensor, after: Tensor, token: int, n_dims: int) -> pd.DataFrame:
    """First `n_dims` features of one token (of the first sequence): dimension, before, after.

    `before` and `after` are (batch, seq, d_model).
    """
    both = torch.stack((before[0, token, :n_dims], after[0, token, :n_dims]))
    before_values, after_values = both.float().cpu().numpy()
    dimension = np.arange(len(before_values))
    return pd.DataFrame({"dimension": dimension, "before": before_values, "after": after_values})

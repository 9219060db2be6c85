"""Information flow: what the values look like at each stage."""

import re
from collections.abc import Sequence

import pandas as pd
import torch
from torch import Tensor

MOMENTS = ("mean", "std", "min", "max", "rms", "outlier_share")
OUTLIER_STDS = 3
PATH = re.compile(r"(?:(encoder|decoder)\.)?(?:layers\.(\d+)\.)?(.+)")


def moments(x: Tensor) -> Tensor:
    """Sum up all values of a stage, on its device: (len(MOMENTS),), in that order.

    `outlier_share` is the share of values further than 3 standard deviations from the mean:
    0.0027 in a normal distribution.
    """
    x = x.detach().float()
    mean = x.mean()
    deviation = (x - mean).abs_()
    std = torch.linalg.vector_norm(deviation) / x.numel() ** 0.5
    least, most = torch.aminmax(x)
    rms = torch.linalg.vector_norm(x) / x.numel() ** 0.5
    outlier_share = torch.count_nonzero(deviation > OUTLIER_STDS * std) / x.numel()
    return torch.stack((mean, std, least, most, rms, outlier_share))


def frame(stages: Sequence[str], values: Tensor) -> pd.DataFrame:
    """One row a stage in the order of passing: layer, stage, and its moments.

    `layer` is missing where a stage lies outside the layers. Of an encoder–decoder the first
    column is `stack`, which says in which half.
    """
    rows = [_split(path) for path in stages]
    names = pd.DataFrame(rows, columns=["stack", "layer", "stage"]).astype({"layer": "Int64"})
    if not names["stack"].any():
        names = names.drop(columns="stack")
    numbers = pd.DataFrame(values.cpu().numpy(), columns=list(MOMENTS))
    return pd.concat([names, numbers], axis=1)


def _split(path: str) -> tuple[str, int | None, str]:
    stack, layer, stage = PATH.fullmatch(path).groups()  # type: ignore[union-attr]  # any matches
    return stack or "", None if layer is None else int(layer), stage

"""Information flow: what the values look like at each stage."""

from collections.abc import Sequence

import pandas as pd
import torch
from torch import Tensor

MOMENTS = ("mean", "std", "min", "max", "rms", "outlier_share")
OUTLIER_STDS = 3


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

    `layer` is missing where a stage lies outside the layers.
    """
    names = pd.DataFrame([_split(path) for path in stages], columns=["layer", "stage"])
    numbers = pd.DataFrame(values.cpu().numpy(), columns=list(MOMENTS))
    return pd.concat([names.astype({"layer": "Int64"}), numbers], axis=1)


def _split(path: str) -> tuple[int | None, str]:
    layer, _, stage = path.removeprefix("layers.").partition(".")
    return (int(layer), stage) if stage else (None, path)

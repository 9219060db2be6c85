"""What tells a token where it stands, as tables: rows are positions."""

import math

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from blocks.model.config import ModelConfig
from blocks.model.initialize import initialize
from blocks.model.kinds import PositionKind
from blocks.model.positions import (
    Learned,
    Rope,
    alibi_bias,
    alibi_slopes,
    rope_of,
    rotate_pairs,
    sinusoidal_table,
)
from blocks.model.randomness import generator

N_DRAWS = 256
MOST_DRAWN = 8192


def drawn_table(config: ModelConfig, seed: int, n_rows: int | None = None) -> Tensor:
    """The learned table before any training, drawn as `build` draws it: (max_seq_len, d_model).

    Of a longer one its first MOST_DRAWN rows. With `n_rows`: that many rows of it, more than
    max_seq_len where asked for.
    """
    rows = max(min(config.max_seq_len, MOST_DRAWN), n_rows or 1)
    position = Learned(rows, config.d_model)
    initialize(nn.ModuleDict({"position": position}), config, seed)
    return position.weight.detach()[:n_rows]


def position_table(
    config: ModelConfig, kind: PositionKind, n: int, *, query: int = 0, learned: Tensor
) -> Tensor:
    """What a kind makes of `n` positions, one row each.

    Sinusoidal, learned: what is added, (n, d_model); RoPE: the cosine of each pair's angle,
    (n, rotary_width / 2); ALiBi: what is added to the scores of the query at position `query`,
    (n, n_heads); none: (n, 0). A learned table may end before.
    """
    match kind:
        case PositionKind.SINUSOIDAL:
            sines_first = config.position.sines_first
            return sinusoidal_table(n, config.d_model, sines_first=sines_first)
        case PositionKind.LEARNED:
            return learned[:n].float()
        case PositionKind.ROPE:
            return rope_of(config).angles(n).cos()
        case PositionKind.ALIBI:
            return alibi_bias(config.n_heads, n)[:, query].T
        case PositionKind.NONE:
            return torch.zeros(n, 0)


def place_codes(config: ModelConfig, kind: PositionKind, n: int, learned: Tensor) -> Tensor:
    """All that a kind knows of each position, a row each, so that two of them can be compared.

    As `position_table`, but of sinusoidal each pair side by side, RoPE as cosine and sine of every
    pair (what it turns by), and ALiBi as what it adds to all scores of that query; its heads differ
    by a factor, so one stands for all: (n, n) times √(Σ slope²).
    """
    match kind:
        case PositionKind.ROPE:
            return sine_rows(rope_of(config).angles(n), config.rotary_width)
        case PositionKind.ALIBI:
            size = math.sqrt(sum(slope**2 for slope in alibi_slopes(config.n_heads)))
            position = torch.arange(n, dtype=torch.float32)
            return -size * (position[:, None] - position).abs()
        case PositionKind.SINUSOIDAL:
            return sinusoidal_table(n, config.d_model)
        case PositionKind.NONE:
            return torch.zeros(n, 1)
        case _:
            return position_table(config, kind, n, learned=learned)


def sine_rows(angles: Tensor, width: int) -> Tensor:
    """Sine and cosine of every pair's angle, side by side: (n, pairs) to (n, width)."""
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)[:, :width]


def wavelengths(config: ModelConfig, kind: PositionKind, n: int) -> pd.DataFrame:
    """Positions until a pair has turned once, 2π / speed, in a text of n: pair, wavelength.

    Vaswani et al. 2017, section 3.5 (width d_model); Su et al. 2021, section 3.2.2 (rotary_width).
    """
    rope = rope_of(config) if kind is PositionKind.ROPE else Rope(config.d_model)
    speeds = rope.speeds(n, dtype=torch.float64).numpy()
    return pd.DataFrame({"pair": range(len(speeds)), "wavelength": 2 * math.pi / speeds})


def half_distances(config: ModelConfig) -> pd.DataFrame:
    """How far each ALiBi head sees: head, slope, and ln 2 / slope, where e^bias is one half."""
    slopes = alibi_slopes(config.n_heads)
    table = pd.DataFrame({"head": range(len(slopes)), "slope": slopes})
    return table.assign(half_distance=math.log(2) / table["slope"])


def spectrum(table: Tensor) -> pd.DataFrame:
    """Of which waves a table is made: wavelength in positions, and its share of the variance.

    The Fourier transform of every feature over the positions, its mean left out.
    """
    n = len(table)
    power = torch.fft.rfft(table.double() - table.double().mean(dim=0), dim=0).abs() ** 2
    power = power.sum(dim=1)[1:]
    share = power / power.sum().clamp(min=torch.finfo(torch.float64).tiny)
    waves = n / np.arange(1, len(power) + 1)
    return pd.DataFrame({"wavelength": waves, "share": share.cpu().numpy()})


def similarity(table: Tensor) -> Tensor:
    """Cosine of every two rows: (n, n)."""
    rows = nn.functional.normalize(table.double(), dim=1)
    return rows @ rows.T


def by_distance(square: Tensor) -> pd.DataFrame:
    """Mean, least and largest of each diagonal of (n, n): distance, mean, least, most."""
    diagonals = [square.diagonal(i) for i in range(len(square))]
    rows = [torch.stack((d.mean(), d.min(), d.max())) for d in diagonals]
    table = pd.DataFrame(torch.stack(rows).cpu().numpy(), columns=["mean", "least", "most"])
    table.insert(0, "distance", range(len(rows)))
    return table


def rope_similarity(config: ModelConfig, n: int, seed: int) -> pd.DataFrame:
    """Score of a random vector with itself, turned apart: distance, mean, std, expected.

    Over `N_DRAWS` vectors from N(0, 1), as a share of the score at distance 0. Expected is the
    mean of cos(distance · speed) over the pairs. Su et al. 2021, section 3.4.3.
    """
    rope = rope_of(config)
    x = torch.randn(N_DRAWS, 1, rope.width, generator=generator(seed, "rope similarity"))
    apart = rotate_pairs(x.expand(-1, n, -1), rope.angles(n))
    score = (apart * x).sum(dim=-1) / (x * x).sum(dim=-1)  # (draws, distance)
    return pd.DataFrame(
        {
            "distance": range(n),
            "mean": score.mean(dim=0).numpy(),
            "std": score.std(dim=0).numpy(),
            "expected": rope.angles(n).cos().mean(dim=1).numpy(),
        }
    )

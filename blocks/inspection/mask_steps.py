"""What a mask does to one head: the cells it allows, the scores before it, the pattern after it."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection import tiles
from blocks.inspection.blind_rows import Treatment, treated
from blocks.inspection.mask_faults import (
    FINITE,
    MaskFault,
    first_mask,
    largest_exponent,
    largest_lead,
    open_mask,
    planted,
    raw_scores,
)
from blocks.model import devices
from blocks.model.attention import attention_pattern, attention_scores
from blocks.model.masks import MaskKind, cross_padding
from blocks.model.models import Model
from blocks.model.randomness import generator
from blocks.observe.recording import record
from blocks.observe.run import Input, Run

Cells = NDArray[np.bool_]
Numbers = NDArray[np.float32]


class Layer(NamedTuple):
    """The first sequence in one layer, (n_heads, query, key): before the mask and after it."""

    scores: Tensor
    pattern: Tensor

    def head(self, head: int) -> tuple[Numbers, Numbers]:
        """Scores and pattern of one head: (query, key) each."""
        both = torch.stack((self.scores[head].float(), self.pattern[head].float())).cpu().numpy()
        return both[0], both[1]

    def without_a_key(self, head: int, query: int) -> NDArray[np.float64]:
        """The weights of a query if it saw no key, by each treatment: (treatment, key)."""
        rows = [treated(self.scores[head, query], treatment) for treatment in Treatment]
        return torch.stack(rows).double().cpu().numpy()


class Lead(NamedTuple):
    """How far forbidden scores of a layer stand above the allowed ones, and what −1e4 can bear."""

    largest: float
    bearable: float

    @property
    def scale(self) -> float:
        """How many times as large the scores must be for −1e4 to leak; 0 where they never do."""
        return self.bearable / self.largest if self.largest > 0 else 0.0


class Cross(NamedTuple):
    """Queries of one sequence, keys of another that is padded: (query, key) each."""

    open: Cells
    scores: Numbers
    pattern: Numbers


def layer_steps(
    run: Run,
    model: Model,
    layer: int,
    fault: MaskFault = MaskFault.NONE,
    score_scale: float = 1.0,
) -> Layer:
    """What one layer makes of its scores in this run, clean or with a fault."""
    at = f"layers.{layer}."
    faults = planted(run, fault, score_scale=score_scale)
    seen = record(
        model,
        run.values(),
        mask=first_mask(run.build_mask()),
        keep={at + "q", at + "k", at + "pattern"},
        replace={**run.replacements(model), **faults},
        training_seed=run.seed if run.training else None,
    )
    q, k = seen.tensor("q", layer)[:1], seen.tensor("k", layer)[:1]
    return Layer(raw_scores(run.config, q, k)[0], seen.pattern(layer)[0])


def lead(run: Run, layer: Layer) -> Lead:
    """What it would take for a bias of −1e4 to be overwhelmed in this layer."""
    exponent = largest_exponent(devices.DTYPES[run.dtype])
    return Lead(largest_lead(layer.scores.float(), open_mask(run)), -FINITE - exponent)


def open_cells(run: Run) -> Cells:
    """The mask of the first sequence, True where a query may see a key: (query, key)."""
    return open_mask(run).cpu().numpy()


def of_kind(run: Run, kind: MaskKind) -> Run:
    """Replace the mask of a run."""
    return replace(run, mask=replace(run.mask, mask_kind=kind))


def kinds_side_by_side(run: Run, columns: int) -> NDArray[np.uint8]:
    """The mask of every kind for the input of this run, as tiles, one byte a cell."""
    masks = torch.stack([open_mask(of_kind(run, kind)) for kind in MaskKind])
    codes = torch.where(masks, tiles.MOST, tiles.MASKED).to(torch.uint8)
    return tiles.tile(tiles.shrink(codes), columns)


def cross(n_queries: int, d_head: int, n_tokens: int, n_padding: int, seed: int) -> Cross:
    """One head of random queries and keys, each value from N(0, 1), drawn from the seed."""
    draw = generator(seed, "cross_padding")
    q = torch.randn(1, 1, n_queries, d_head, generator=draw)
    k = torch.randn(1, 1, n_tokens + n_padding, d_head, generator=draw)
    mask = cross_padding(n_queries, Input(seq_len=n_tokens, n_padding=n_padding).is_token())
    pattern = attention_pattern(attention_scores(q, k, mask), mask)
    return Cross(mask[0, 0].numpy(), attention_scores(q, k)[0, 0].numpy(), pattern[0, 0].numpy())

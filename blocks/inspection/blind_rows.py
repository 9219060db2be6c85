"""A query that may see no key: what becomes of its row, by the way the mask is applied."""

from enum import StrEnum

import torch
from torch import Tensor

from blocks.model.attention import attention_pattern
from blocks.model.models import Model
from blocks.observe.recording import record
from blocks.observe.run import Run


class Treatment(StrEnum):
    """What replaces forbidden scores."""

    ZEROS = "zeros"
    MINUS_1E9 = "minus_1e9"
    LEAST = "least"
    MINUS_INFINITY = "minus_infinity"


def treated(scores: Tensor, treatment: Treatment) -> Tensor:
    """The weights of a query all of whose keys are forbidden: (key,) to (key,), same format.

    `ZEROS` is what runs here: the row is set to 0. `MINUS_1E9` adds −1e9; `LEAST` overwrites with
    the least number of the format, as many libraries do; `MINUS_INFINITY` adds −∞.
    """
    match treatment:
        case Treatment.ZEROS:
            nothing = torch.zeros_like(scores, dtype=torch.bool)
            return attention_pattern(scores.masked_fill(~nothing, -torch.inf), nothing)
        case Treatment.MINUS_1E9:
            return (scores + torch.tensor(-1e9).to(scores)).softmax(dim=-1)
        case Treatment.LEAST:
            return torch.full_like(scores, torch.finfo(scores.dtype).min).softmax(dim=-1)
        case Treatment.MINUS_INFINITY:
            return (scores - torch.inf).softmax(dim=-1)


def spread_of_nan(run: Run, model: Model, *, layer: int, head: int, query: int) -> int:
    """How many outputs of the first sequence are no number if one row of one head is none."""

    def spoil(pattern: Tensor) -> Tensor:
        spoiled = pattern.clone()
        spoiled[:, head, query] = torch.nan
        return spoiled

    output = record(
        model,
        run.values(),
        mask=run.build_mask(),
        keep=(),
        replace={**run.replacements(model), f"layers.{layer}.pattern": spoil},
        training_seed=run.seed if run.training else None,
    ).output
    return int(output[0].isnan().any(dim=-1).sum())

"""The three architectures of the same width: who sees whom, parameters, and FLOPs of a task."""

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from blocks.cost.flops import task_flops
from blocks.cost.parameters import total_parameters
from blocks.inspection.tiles import mask_codes
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture
from blocks.model.masks import causal, everyone

KINDS = (Architecture.ENCODER, Architecture.GPT, Architecture.ENCODER_DECODER)


def configs(config: ModelConfig) -> dict[Architecture, ModelConfig]:
    """Read these sizes as each of the three architectures."""
    return {kind: config.nearest(architecture=kind)[0] for kind in KINDS}


def who_sees_whom(kind: Architecture, n_source: int, n_target: int) -> NDArray[np.uint8]:
    """One byte a cell, as `tiles.mask_codes` has it: (query, key), source before target.

    An encoder reads the source alone; a GPT reads both as one text.
    """
    n = n_source + n_target
    match kind:
        case Architecture.ENCODER:
            return mask_codes(everyone(n_source), n_source)
        case Architecture.GPT:
            return mask_codes(causal(n), n)
        case _:
            mask = torch.zeros(n, n, dtype=torch.bool)
            mask[:n_source, :n_source] = everyone(n_source)
            mask[n_source:, :n_source] = True  # cross-attention
            mask[n_source:, n_source:] = causal(n_target)
            return mask_codes(mask, n)


def compared(config: ModelConfig, n_source: int, n_target: int) -> pd.DataFrame:
    """One row an architecture: parameters, reading, writing, next_token, per_token (FLOPs).

    `reading`: of a source; `writing`: of all target tokens; `next_token`: of the last of them;
    `per_token`: both together, shared among the target tokens.
    """
    rows = []
    for kind, each in configs(config).items():
        reading, steps = task_flops(each, n_source, n_target)
        rows.append(
            {
                "architecture": str(kind),
                "parameters": total_parameters(each),
                "reading": reading,
                "writing": sum(steps),
                "next_token": steps[-1],
                "per_token": (reading + sum(steps)) / n_target,
            }
        )
    return pd.DataFrame(rows)

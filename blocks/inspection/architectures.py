"""The three architectures of the same width: who sees whom, parameters, and FLOPs of a task."""

from dataclasses import dataclass

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
from blocks.observe.run import Run

KINDS = (Architecture.ENCODER, Architecture.GPT, Architecture.ENCODER_DECODER)
N_DRAWN = 24  # tokens of each text


@dataclass(frozen=True, eq=False)
class TaskFacts:
    """What it takes to read a source and to write a target; `table`: see `compared`."""

    table: pd.DataFrame
    n_source: int
    n_target: int
    d_model: int

    @property
    def parameters(self) -> float:
        """The parameters of the encoder–decoder over those of the decoder-only model."""
        return self._ratio("parameters")

    @property
    def flops(self) -> float:
        """The same of the FLOPs of the whole task."""
        return self._ratio("task")

    def _ratio(self, column: str) -> float:
        table = self.table.assign(task=self.table["reading"] + self.table["writing"])
        values = table.set_index("architecture")[column]
        return float(values[Architecture.ENCODER_DECODER] / values[Architecture.GPT])


@dataclass(frozen=True, eq=False)
class ArchitectureFacts:
    """One architecture of these sizes, on these texts.

    `codes`: who sees whom among `labels`, the first `n_source` of them the source.
    """

    kind: Architecture
    n_layers: int
    n_decoder_layers: int
    attention_only: bool
    codes: NDArray[np.uint8]
    labels: tuple[str, ...]
    n_source: int
    parameters: int
    flops_per_token: float


def task_facts(run: Run) -> TaskFacts:
    """The texts of a run as a task; the last token of the target is the one that comes next."""
    n_source, n_target = len(run.input.labels), len(run.target_or_start.labels)
    table = compared(run.config, n_source, n_target)
    return TaskFacts(table, n_source, n_target, run.config.d_model)


def architecture_facts(run: Run, task: TaskFacts, kind: Architecture) -> ArchitectureFacts:
    """How a run would be built as this architecture, which reads the source alone or both texts."""
    source, target = run.input.labels[:N_DRAWN], run.target_or_start.labels[:N_DRAWN]
    row = task.table.iloc[KINDS.index(kind)]
    return ArchitectureFacts(
        kind=kind,
        n_layers=run.config.n_layers,
        n_decoder_layers=run.config.n_decoder_layers,
        attention_only=run.config.attention_only,
        codes=who_sees_whom(kind, len(source), len(target)),
        labels=source if kind is Architecture.ENCODER else (*source, *target),
        n_source=len(source),
        parameters=int(row["parameters"]),
        flops_per_token=float(row["per_token"]),
    )


def configs(config: ModelConfig) -> dict[Architecture, ModelConfig]:
    """Read these sizes as each of the three architectures."""
    return {kind: config.nearest(architecture=kind)[0] for kind in KINDS}


def who_sees_whom(kind: Architecture, n_source: int, n_target: int) -> NDArray[np.uint8]:
    """One byte per cell, as `tiles.mask_codes` has it: (query, key), source before target.

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

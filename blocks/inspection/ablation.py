"""Parts of a model changed one at a time, and how far what it predicts moves."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pandas as pd

from blocks.inspection.output_change import output_change
from blocks.model.models import Model
from blocks.observe.interventions import (
    Intervention,
    InterventionKind,
    heads_of,
    patched_paths,
    stacks,
)
from blocks.observe.recording import record
from blocks.observe.sweep import outputs_of_parts


def ablate(
    model: Model,
    x: Any,
    parts: Iterable[Intervention] | None = None,
    *,
    kind: InterventionKind = InterventionKind.ZERO,
    other: Any = None,
    mask: Any = None,
    position: int = -1,
) -> pd.DataFrame:
    """Change each part alone and measure the output at one position: one row per part and text.

    `x`: token ids (batch, seq), vectors of a block, or a `SourceTarget`. `parts`: every head and
    every sub-layer by default, which then write nothing (`kind="zero"`), their mean over the text
    ("mean"), or what they wrote for the `other` input ("patch"). Columns stack, part, layer, head,
    text, then those of `output_change`: KL in bits, the likeliest token before and after.
    Parts of a layer are one batch, and layers below it are not run again. Raises `ConfigError`
    where a part is not there, or something is patched and `other` is missing.
    """
    chosen = [replace(each, kind=kind) for each in all_parts(model)] if parts is None else [*parts]
    seen = record(model, x, mask=mask, keep={"resid_pre", *(part.path for part in chosen)})
    source = (
        record(model, other, mask=mask, keep=patched_paths(chosen)) if other is not None else None
    )
    place = range(seen.output.shape[1])[position]
    after = outputs_of_parts(model, x, seen, chosen, place, mask=mask, other=source)
    before = seen.output[:, place].expand_as(after)
    is_logits = model.config.architecture.reads_tokens
    table = output_change(before.flatten(0, 1), after.flatten(0, 1), is_logits=is_logits)
    return names_of(chosen, after.shape[1]).join(table.drop(columns="position"))


def all_parts(model: Model) -> list[Intervention]:
    """Every head and sub-layer, switched off."""
    config = model.config
    return [part for stack in stacks(config) for part in heads_of(config, stack)]


def names_of(parts: Iterable[Intervention], n_texts: int) -> pd.DataFrame:
    """One row per part and text; `stack` is empty but in an encoder–decoder."""
    each = [part for part in parts for _text in range(n_texts)]
    return pd.DataFrame(
        {
            "stack": [part.stack for part in each],
            "part": [str(part.part) for part in each],
            "layer": [part.layer for part in each],
            "head": pd.array([part.head for part in each], dtype="Int64"),
            "text": [*range(n_texts)] * (len(each) // n_texts),
        }
    )

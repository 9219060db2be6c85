"""What one logit depends on: the gradient at every probe, and what each part adds by it."""

import time
from collections.abc import Collection
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from blocks.inspection.ablation import all_parts, names_of
from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.model_input import check_input
from blocks.model.models import Model
from blocks.model.probe import Probe, listening
from blocks.observe.flow import StageMoments
from blocks.observe.recording import Recorder, Recording, record


def gradients(
    model: Model,
    x: Any,
    *,
    answer: int | None = None,
    against: int | None = None,
    position: int = -1,
    mask: Any = None,
) -> Recording:
    """The gradient of one logit at every probe, as a `Recording`: `flow()` sums up the way back.

    The logit of the token `answer`, the likeliest by default, at a position; less that of the token
    `against`, where there is one. Each sequence of a batch has its own. `output` is what `record`
    gives. A tensor that the logit does not depend on has the gradient 0. Raises `ConfigError` for a
    block, which has no logits.
    """
    check_input(model, x)
    for name, token in (("answer", answer), ("against", against)):
        if isinstance(token, str):
            text = N_("{name} takes a token id, not a text: use tokenizer.encode({token})[0]")
            raise ConfigError([Fault(text, {"name": name, "token": repr(token)})])
    if not model.config.architecture.reads_tokens:
        text = N_("A block predicts no tokens: use a model that reads tokens, such as a GPT")
        raise ConfigError([Fault(text)])
    recorder, start = _Grown(), time.perf_counter()
    with listening(recorder), torch.enable_grad():
        output = model(x, mask)
        logits = output[:, position]
        score = logits.amax(dim=-1) if answer is None else logits[:, answer]
        score = score if against is None else score - logits[:, against]
        values = recorder.tensors
        found = torch.autograd.grad(
            score.sum(), [*values.values()], allow_unused=True, materialize_grads=True
        )
    tensors, moments = dict(zip(values, found, strict=True)), StageMoments()
    for path in recorder.stages:
        moments.add(tensors[path])
    return Recording(
        stages=tuple(recorder.stages),
        moments=moments.rows(),
        tensors=tensors,
        output=output.detach(),
        milliseconds=1000 * (time.perf_counter() - start),
    )


class _Grown(Recorder):
    """Keeps all that passes in the graph of a backward pass."""

    def __init__(self) -> None:
        super().__init__(None, {})

    def see(self, probe: Probe, x: Tensor) -> Tensor:
        """Record a value; the graph begins where nothing before it has a gradient."""
        grown = x if x.requires_grad else x.detach().requires_grad_()
        return super().see(probe, grown)


def attributions(
    model: Model,
    x: Any,
    *,
    other: Any = None,
    answer: int | None = None,
    against: int | None = None,
    position: int = -1,
    mask: Any = None,
) -> pd.DataFrame:
    """What each head and sub-layer adds to a logit, to first order: one row per part and text.

    Gradient × (value − value for the `other` input), summed over tokens and features; without
    `other`, less zero. An estimate, in two passes, of how far the logit falls in `ablate`:
    attribution patching, Nanda 2023. Columns as there, with `attribution` in logits.
    """
    options: dict[str, Any] = {"answer": answer, "against": against, "position": position}
    back = gradients(model, x, mask=mask, **options)
    parts = all_parts(model)
    paths: Collection[str] = {part.path for part in parts}
    seen = record(model, x, mask=mask, keep=paths)
    source = None if other is None else record(model, other, mask=mask, keep=paths)
    worth = [_worth(seen, source, back, part.path, part.head) for part in parts]
    table = names_of(parts, len(worth[0]))
    return table.assign(attribution=torch.cat(worth).double().cpu().numpy())


def _worth(
    seen: Recording, other: Recording | None, back: Recording, path: str, head: int | None
) -> Tensor:
    """(batch,)"""
    value = seen.tensor(path) if other is None else seen.tensor(path) - other.tensor(path)
    product = value * back.tensor(path)
    return (product if head is None else product[:, head]).flatten(1).sum(dim=1)

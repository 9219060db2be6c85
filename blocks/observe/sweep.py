"""Each of many parts changed alone: what comes out at one position, measured for many at once."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby, islice
from typing import Any

import torch
from torch import Tensor

from blocks.model.config import ModelConfig
from blocks.model.masks import shared_causal
from blocks.model.models import GPT, Block, Encoder, EncoderDecoder, Model
from blocks.model.probe import Probe, Replacement, listening
from blocks.observe.captured import can_capture
from blocks.observe.edits import kinds_of
from blocks.observe.filled import Filled
from blocks.observe.interventions import Intervention, replacements
from blocks.observe.recording import Recorder, Recording, record
from blocks.observe.replay import Replay
from blocks.observe.run import Run

MOST_REPLAYED = 256  # parts at a time, of which each takes milliseconds
TOKENS_AT_ONCE, LOGITS_OF_A_TOKEN = 2048, 2**16  # in a replay: more of them take as much longer
MOST_NUMBERS = 2**22  # that the rows of one batch have at a time, about


def outputs_of_each(
    run: Run,
    model: Model,
    seen: Recording,
    parts: Sequence[Intervention],
    position: int,
    *,
    other: Recording | None = None,
) -> Tensor:
    """The output at `position` of the first sequence with each of `parts` changed alone.

    (part, features): of a whole model features are logits, so that any measure can be taken from
    them (KL, the logit of one answer less that of another); of a block, the stream. Row i is, up to
    rounding, `record(..., replace=replacements(parts[i], other)).output[0, position]` of `run`
    without its own interventions. Parts of one layer that stand together are one batch, and begin
    with what `seen`, the recording of the untouched run, kept as `resid_pre` of that layer: layers
    before a change are not run again. Only the position is unembedded. One part after the other,
    and from the start, where rows would not be alone: dropout is drawn, experts have room for few,
    or two texts are read. On CUDA, where all are changed alike, the whole pass is replayed with as
    many of them as rows. Raises `ConfigError` where a part is not there.
    """
    if not run.training and _are_replayed(run, parts):
        with suppress(RuntimeError):  # no memory, or an operation that no graph can hold
            return _replayed(run, model, parts, position, other)
    x, mask = run.values(), run.pass_mask()
    if run.training:
        rows = [_from_the_start(model, x, part, mask, other, run.seed) for part in parts]
        return torch.stack([row[0, position] for row in rows])
    return outputs_of_parts(model, x, seen, parts, position, mask=mask, other=other)[:, 0]


def outputs_of_parts(
    model: Model,
    x: Any,
    seen: Recording,
    parts: Sequence[Intervention],
    position: int,
    *,
    mask: Any = None,
    other: Recording | None = None,
) -> Tensor:
    """The output at `position` of each sequence of `x` with each of `parts` changed alone.

    (part, batch, features), as `outputs_of_each` says; `mask` is that of the pass, and a GPT
    without one is causal.
    """
    if isinstance(model, EncoderDecoder) or _rows_meet(model):
        rows = [_from_the_start(model, x, part, mask, other) for part in parts]
        return torch.stack([row[:, position] for row in rows])
    if mask is None and isinstance(model, GPT):
        mask = shared_causal(x.shape[1], x.device)
    outputs = [
        _from_their_layer(model, seen, batch, position, mask, other)
        for batch in _of_one_layer(model.config, x.shape, parts)
    ]
    return torch.cat(outputs)


def _rows_meet(model: Model) -> bool:
    """Whether what one row of a batch chooses leaves less room to another."""
    return any(getattr(part, "expert_capacity", 0) for part in model.modules())


def batches(run: Run, parts: Sequence[Intervention]) -> Iterator[tuple[Intervention, ...]]:
    """Parts that are changed at the same time: as many as take about a second."""
    if not _are_replayed(run, parts):
        return _of_one_layer(run.config, run.input.shape, parts)
    return (tuple(parts[i : i + MOST_REPLAYED]) for i in range(0, len(parts), MOST_REPLAYED))


def _are_replayed(run: Run, parts: Sequence[Intervention]) -> bool:
    """Whether one pass is run again for each of them, so that it matters little how many are."""
    return can_capture(run.config, run.device) and len(kinds_of(parts)) == 1


def _replayed(
    run: Run, model: Model, parts: Sequence[Intervention], position: int, other: Recording | None
) -> Tensor:
    n_rows = min(len(parts), _rows_at_once(run))
    text = Filled(_repeated(run.values(), n_rows, 1), _repeated(run.pass_mask(), n_rows, 2))
    again = Replay(model, text, keep=(), kinds=kinds_of(parts), summed=False)
    some = (parts[i : i + n_rows] for i in range(0, len(parts), n_rows))
    return torch.cat([again.outputs_of_each(each, position, other) for each in some])


def _rows_at_once(run: Run) -> int:
    of_a_row = run.input.shape[1] * max(1, run.config.vocab_size // LOGITS_OF_A_TOKEN)
    return max(1, TOKENS_AT_ONCE // of_a_row)


def n_passes(run: Run, parts: Sequence[Intervention]) -> float:
    """How many passes of one text take as long as `outputs_of_each`, about.

    Layers before a change are not run again. Where many rows are replayed, twice as many passes as
    replays (an H200: GPT-2 XL 44 for 38, Llama-3-8B 142 for 64).
    """
    if _are_replayed(run, parts):
        return 2 * math.ceil(len(parts) / _rows_at_once(run))
    return sum(max(0.0, 1 - part.layer / run.config.n_layers) for part in parts)


def _repeated(x: Any, n: int, shared: int) -> Any:
    """The first row `n` times; what has only `shared` axes, or is None, is that of all rows."""
    if isinstance(x, tuple):
        return type(x)(*(_repeated(each, n, shared) for each in x))
    return x if x is None or x.dim() <= shared else x[:1].expand(n, *x.shape[1:])


def _of_one_layer(
    config: ModelConfig, shape: Sequence[int], parts: Sequence[Intervention]
) -> Iterator[tuple[Intervention, ...]]:
    """Parts of one layer: as many as take about a second on an input of (batch, seq)."""
    n_texts, n = shape[:2]
    of_a_token = config.n_heads * n + 4 * (config.d_ff + config.d_model)
    size = max(1, MOST_NUMBERS // (n_texts * (n * of_a_token + config.vocab_size)))
    for _layer, together in groupby(parts, key=lambda part: part.layer):
        while batch := tuple(islice(together, size)):
            yield batch


def _from_the_start(
    model: Model,
    x: Any,
    part: Intervention,
    mask: Any,
    other: Recording | None,
    training_seed: int | None = None,
) -> Tensor:
    """(batch, seq, features)."""
    changes = replacements(part, other)
    return record(model, x, mask=mask, keep=(), replace=changes, training_seed=training_seed).output


def _from_their_layer(
    model: Block | Encoder,
    seen: Recording,
    parts: Sequence[Intervention],
    position: int,
    mask: Tensor | None,
    other: Recording | None,
) -> Tensor:
    """The layers from that of the parts on, one batch for each part: (part, batch, features)."""
    layer, x = parts[0].layer, seen.tensor("resid_pre", parts[0].layer)
    n_texts, n_parts = len(x), len(parts)
    x = x.repeat(n_parts, 1, 1)
    if mask is not None and mask.dim() > 2 and len(mask) > 1:
        mask = mask.repeat(n_parts, *[1] * (mask.dim() - 1))
    changes = _EachInItsRow(parts, other, n_texts)
    with listening(changes), torch.no_grad():
        for later in islice(model.layers, layer, None):
            x = later(x, mask)
        x = x[:, position : position + 1]
        if isinstance(model, Encoder):
            x = model.unembed_logits(model.final_norm(x))
    changes.check_passed(changes.replace, {})
    return x[:, 0].unflatten(0, (n_parts, n_texts))


class _EachInItsRow(Recorder):
    """Makes the first change in the first texts of a batch, the second in as many after them."""

    def __init__(self, parts: Sequence[Intervention], other: Recording | None, n_texts: int):
        each = [replacements(part, other) for part in parts]
        changed = partial(_changed, each, n_texts)
        super().__init__((), {part.path: partial(changed, part.path) for part in parts})

    def see(self, probe: Probe, x: Tensor) -> Tensor:
        """Return the rows, changed where a change is of this probe; nothing is summed up."""
        self.passed.add(probe.path)
        return self.replace[probe.path](x) if probe.path in self.replace else x


def _changed(
    changes: Sequence[Mapping[str, Replacement]], n_texts: int, path: str, x: Tensor
) -> Tensor:
    rows = zip(changes, x.split(n_texts), strict=True)
    return torch.cat([change[path](row) if path in change else row for change, row in rows])

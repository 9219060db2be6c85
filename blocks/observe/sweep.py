"""Each of many parts changed alone: what comes out at one position, measured for many at once."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby, islice

import torch
from torch import Tensor

from blocks.model.models import Encoder, Model
from blocks.model.probe import Probe, Replacement, listening
from blocks.observe.captured import can_capture
from blocks.observe.interventions import Intervention, replacements
from blocks.observe.recording import Recorder, Recording, record
from blocks.observe.replay import Replay, is_gain
from blocks.observe.run import Run

MOST_REPLAYS = 256  # of which each takes milliseconds
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
    or two texts are read. On CUDA, where parts are switched off, the whole pass is replayed for
    each of them (see `replay`). Raises `ConfigError` where a part is not there.
    """
    if not run.training and _are_replayed(run, parts):
        with suppress(RuntimeError):  # no memory, or an operation that no graph can hold
            return _replayed(run, model, parts, position)
    if run.training or run.has_target or _rows_meet(model):
        return torch.stack([_from_the_start(run, model, part, position, other) for part in parts])
    outputs = [
        _from_their_layer(run, model, seen, batch, position, other)
        for batch in _of_one_layer(run, parts)
    ]
    return torch.cat(outputs)


def _rows_meet(model: Model) -> bool:
    """Whether what one row of a batch chooses leaves less room to another."""
    return any(getattr(part, "expert_capacity", 0) for part in model.modules())


def batches(run: Run, parts: Sequence[Intervention]) -> Iterator[tuple[Intervention, ...]]:
    """Parts that are changed at the same time: as many as take about a second."""
    if not _are_replayed(run, parts):
        return _of_one_layer(run, parts)
    return (tuple(parts[i : i + MOST_REPLAYS]) for i in range(0, len(parts), MOST_REPLAYS))


def _are_replayed(run: Run, parts: Sequence[Intervention]) -> bool:
    """Whether one pass is run again for each of them, so that it matters little how many are."""
    return can_capture(run.config, run.device) and all(map(is_gain, parts))


def _replayed(run: Run, model: Model, parts: Sequence[Intervention], position: int) -> Tensor:
    x, mask = run.values(), run.pass_mask()
    again = Replay(model, x, mask, keep=(), gained=True, summed=False)
    return torch.stack([again(x, mask, (part,)).output[0, position] for part in parts])


def _of_one_layer(run: Run, parts: Sequence[Intervention]) -> Iterator[tuple[Intervention, ...]]:
    """Parts of one layer: as many as take about a second."""
    config, n = run.config, run.input.shape[1]
    of_a_token = config.n_heads * n + 4 * (config.d_ff + config.d_model)
    size = max(1, MOST_NUMBERS // (n * of_a_token + config.vocab_size))
    for _layer, together in groupby(parts, key=lambda part: part.layer):
        while batch := tuple(islice(together, size)):
            yield batch


def _from_the_start(
    run: Run, model: Model, part: Intervention, position: int, other: Recording | None
) -> Tensor:
    seen = record(
        model,
        run.values(),
        mask=run.pass_mask(),
        keep=(),
        replace=replacements(part, other),
        training_seed=run.seed if run.training else None,
    )
    return seen.output[0, position]


def _from_their_layer(
    run: Run,
    model: Model,
    seen: Recording,
    parts: Sequence[Intervention],
    position: int,
    other: Recording | None,
) -> Tensor:
    """The layers from that of the parts on, one row for each part."""
    layer, mask = parts[0].layer, run.pass_mask()
    mask = mask[:1] if mask is not None and mask.dim() > 2 else mask
    x = seen.tensor("resid_pre", layer)[:1].expand(len(parts), -1, -1)
    changes = _EachInItsRow(parts, other)
    with listening(changes), torch.no_grad():
        for later in islice(model.layers, layer, None):
            x = later(x, mask)
        x = x[:, position : position + 1]
        if isinstance(model, Encoder):
            x = model.unembed_logits(model.final_norm(x))
    changes.check_passed(changes.replace, {})
    return x[:, 0]


class _EachInItsRow(Recorder):
    """Makes the first change in the first row of a batch, the second in the second; keeps none."""

    def __init__(self, parts: Sequence[Intervention], other: Recording | None):
        each = [replacements(part, other) for part in parts]
        super().__init__((), {part.path: partial(_changed, each, part.path) for part in parts})

    def see(self, probe: Probe, x: Tensor) -> Tensor:
        """Return the rows, changed where a change is of this probe; nothing is summed up."""
        self.passed.add(probe.path)
        return self.replace[probe.path](x) if probe.path in self.replace else x


def _changed(changes: Sequence[Mapping[str, Replacement]], path: str, x: Tensor) -> Tensor:
    rows = zip(changes, x.split(1), strict=True)
    return torch.cat([change[path](row) if path in change else row for change, row in rows])

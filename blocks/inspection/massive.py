"""Massive activations: where the largest values of the stream stand, who writes them, what for.

Sun et al. 2024, "Massive Activations in Large Language Models".
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection.predictions import guesses, surprise
from blocks.inspection.sinks import Sinks, find_sinks, streams
from blocks.inspection.wide import SeenLayer
from blocks.model.feed_forward import FeedForward
from blocks.model.kinds import Architecture
from blocks.model.models import Model
from blocks.observe.recording import Recording, record
from blocks.observe.run import Input, Run

MASSIVE_ABOVE, MASSIVE_MEDIANS = 100, 1000  # Sun et al. 2024, section 2
N_UNITS, MOST_FOLLOWED, N_ROTATED = 5, 4, 3


class Value(NamedTuple):
    """One number of the stream after a layer; layer, token and channel from 0."""

    layer: int
    token: int
    channel: int
    value: float


class Generation(NamedTuple):
    """Tokens that are massive after the layers `first` to `last`."""

    tokens: tuple[int, ...]
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class MassiveFacts:
    """The largest values of the stream of a run, after each layer; layers and tokens from 0.

    `values`, `channels`: (n_layers, seq), the value of largest size of each token, and where it
    stands; `medians`: (n_layers,), the median size of all values. `largest`: the largest of all,
    and in its channel `traces`: (tokens `followed`, 1 + n_layers), what enters the first layer and
    what each leaves; `written`: (n_layers, 2), what attention and the feed-forward layer write
    there at its token.
    """

    run: Run
    sinks: Sinks
    values: NDArray[np.float32]
    channels: NDArray[np.int64]
    medians: NDArray[np.float32]
    largest: Value
    followed: tuple[int, ...]
    traces: NDArray[np.float32]
    written: NDArray[np.float32]

    @property
    def median(self) -> float:
        """The median size of a value where the largest stands."""
        return float(self.medians[self.largest.layer])

    @property
    def times(self) -> float:
        """How many times that the largest is."""
        return abs(self.largest.value) / max(self.median, 1e-12)

    @property
    def is_massive(self) -> bool:
        """Whether Sun et al. would call it so."""
        return abs(self.largest.value) > MASSIVE_ABOVE and self.times > MASSIVE_MEDIANS

    @property
    def sizes(self) -> NDArray[np.float32]:
        """The size of that channel at the token of the largest: (1 + n_layers,)."""
        found: NDArray[np.float32] = np.abs(self.traces[self.followed.index(self.largest.token)])
        return found

    @property
    def birth(self) -> int:
        """The layer that adds most to its size."""
        return int(np.diff(self.sizes).argmax())

    @property
    def death(self) -> int | None:
        """The first layer that leaves less than half of it; None where none does."""
        after = self.sizes[1 + self.largest.layer :]
        less = np.flatnonzero(after < self.sizes[1 + self.largest.layer] / 2)
        return self.largest.layer + int(less[0]) if len(less) else None

    @property
    def writes(self) -> tuple[float, float]:
        """What attention and the feed-forward layer write of it at its birth."""
        attention, feed_forward = self.written[self.birth]
        return float(attention), float(feed_forward)

    @property
    def is_fed(self) -> bool:
        """Whether the feed-forward layer writes more of it than attention does."""
        attention, feed_forward = self.writes
        return abs(feed_forward) > abs(attention)

    def shown(self, most: int) -> list[int]:
        """The tokens with the largest values, in the order of the text."""
        order = np.abs(self.values).max(axis=0).argsort(kind="stable")[::-1]
        return sorted(int(token) for token in order[:most])

    def leaves_out(self, most: int) -> bool:
        """Whether there are more tokens than that."""
        return self.values.shape[1] > most

    @property
    def generations(self) -> tuple[Generation, ...]:
        """Which tokens are massive, from where to where without a gap."""
        found: list[Generation] = []
        for layer in range(len(self.medians)):
            tokens = {sink.token for sink in self.sinks.found if layer in sink.massive}
            if tokens and found and found[-1].last == layer - 1:
                before = found.pop()
                all_of_them = tuple(sorted(tokens.union(before.tokens)))
                found.append(Generation(all_of_them, before.first, layer))
            elif tokens:
                found.append(Generation(tuple(sorted(tokens)), layer, layer))
        return tuple(found)

    @property
    def born(self) -> Value:
        """The value as its layer of birth leaves it."""
        trace = self.traces[self.followed.index(self.largest.token)]
        return self.largest._replace(layer=self.birth, value=float(trace[1 + self.birth]))

    def table(self) -> pd.DataFrame:
        """One row a layer: the largest value after it, whose it is, and the median size."""
        tokens = np.abs(self.values).argmax(axis=1)
        rows = np.arange(len(tokens))
        return pd.DataFrame(
            {
                "layer": rows,
                "token": tokens,
                "label": [self.run.input.labels[token] for token in tokens],
                "channel": self.channels[rows, tokens],
                "value": self.values[rows, tokens],
                "median_size": self.medians,
            }
        )


def massive_facts(run: Run, seen: Recording, sinks: Sinks | None = None) -> MassiveFacts:
    """The largest values of the first sequence, padding left out of what is largest.

    `sinks`: those of the run, where they are known already.
    """
    after = torch.stack([stream[0].float() for stream in streams(run, seen)])
    channels = after.abs().argmax(dim=-1)  # (n_layers, seq)
    values = after.gather(-1, channels[..., None])[..., 0]
    sizes = torch.zeros_like(values)
    sizes[:, run.input.text] = values[:, run.input.text].abs()
    layer, token = divmod(int(sizes.argmax()), values.shape[1])
    channel = int(channels[layer, token])
    sinks = find_sinks(run, seen) if sinks is None else sinks
    loudest = sizes.amax(dim=0)[[*sinks.tokens]].argsort(descending=True).tolist()
    others = [sinks.tokens[i] for i in loudest if sinks.tokens[i] != token]
    followed = (token, *others[: MOST_FOLLOWED - 1])
    entering = seen.tensor("resid_pre", 0)[:1].float()
    traces = torch.cat((entering, after))[:, followed, channel].T
    return MassiveFacts(
        run=run,
        sinks=sinks,
        values=values.cpu().numpy(),
        channels=channels.cpu().numpy(),
        medians=after[:, run.input.text].abs().flatten(1).median(dim=1).values.cpu().numpy(),
        largest=Value(layer, token, channel, float(values[layer, token])),
        followed=followed,
        traces=traces.cpu().numpy(),
        written=_written(run, seen, token, channel),
    )


def _written(run: Run, seen: Recording, token: int, channel: int) -> NDArray[np.float32]:
    """What attention and the feed-forward layer add at one place of each layer's stream.

    Where a norm stands behind them, what it makes of it; 0 where there is no such part.
    """
    found = []
    for layer in range(run.config.n_layers):
        for name in ("attention_out", "feed_forward_out"):
            paths = (f"layers.{layer}.{name}_norm", f"layers.{layer}.{name}")
            there = [seen.tensors[path] for path in paths if path in seen.tensors]
            found.append(there[0][0, token, channel].float() if there else torch.zeros(()))
    return np.array([float(value) for value in found], np.float32).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Writers:
    """Which units of a feed-forward layer write a value: those that write most of it.

    `units`: unit; hidden, at the token; elsewhere, the largest size at any other token; weight, by
    which hidden is multiplied; written, their product, which summed over all units (and the bias)
    is what the layer writes: `total`.
    """

    layer: int
    units: pd.DataFrame
    total: float

    @property
    def first(self) -> pd.Series:
        """The unit that writes most."""
        return self.units.iloc[0]

    @property
    def share(self) -> float:
        """How much of it that unit writes."""
        return float(self.first["written"]) / self.total


def writers(seen: SeenLayer, token: int, channel: int) -> Writers | None:
    """The units that write one channel at one token of the first sequence; None of experts."""
    module = seen.block.get_submodule("feed_forward")
    if not isinstance(module, FeedForward):
        return None
    weight = module.multiplier * module.down_proj.weight[channel].detach().float()
    hidden = seen.inside[0].hidden[: seen.run.input.shape[1]].float()  # (seq, d_ff)
    written = hidden[token] * weight
    units = written.abs().topk(min(N_UNITS, len(written))).indices
    others = hidden.clone()
    others[token] = 0
    columns = (hidden[token], others.abs().amax(dim=0), weight, written)
    numbers = torch.stack([column[units] for column in columns], dim=1).cpu().numpy()
    table = pd.DataFrame(numbers, columns=["hidden", "elsewhere", "weight", "written"])
    table.insert(0, "unit", units.cpu().numpy())
    return Writers(seen.layer, table, float(seen.feed_forward_out[0, token, channel]))


class Rerun(NamedTuple):
    """What a GPT makes of its text where one value of the stream was set to another.

    `bits`: the mean surprisal; `token_id`, `probability`: of the likeliest token after the text.
    """

    value: float
    bits: float
    token_id: int
    probability: float


def can_rerun(run: Run) -> bool:
    """Whether the run has a loss on its own text: that of a GPT of two or more tokens."""
    return run.config.architecture is Architecture.GPT and len(run.input.token_ids) > 1


def as_it_was(run: Run, seen: Recording, at: Value) -> Rerun:
    """The run itself, beside those in which something was set."""
    return _read(run, seen.output, at.value)


def rerun(run: Run, model: Model, at: Value, value: float) -> Rerun:
    """Run again with one value of the stream replaced where its layer leaves it."""
    place = (slice(None), at.token, at.channel)
    return _with(run, model, at, f"layers.{at.layer}.resid_post", place, value)


def without_unit(run: Run, model: Model, at: Value, unit: int) -> Rerun:
    """Run again with one unit of the layer's feed-forward part at 0, at every token."""
    return _with(run, model, at, f"layers.{at.layer}.hidden", (..., unit), 0.0)


def _with(run: Run, model: Model, at: Value, path: str, place: Any, value: float) -> Rerun:
    """Run again with some numbers that pass one probe replaced."""
    replacing, left = dict(run.replacements(model)), f"layers.{at.layer}.resid_post"
    before = replacing.get(path)

    def replaced(x: Tensor) -> Tensor:
        x = x.clone() if before is None else before(x).clone()
        x[place] = value
        return x

    replacing[path] = replaced
    seen = record(model, run.values(), mask=run.pass_mask(), keep={left}, replace=replacing)
    return _read(run, seen.output, float(seen.tensors[left][0, at.token, at.channel]))


def _read(run: Run, output: Tensor, value: float) -> Rerun:
    logits = output[0, run.input.text]
    ids = torch.tensor(run.input.token_ids, device=logits.device)
    likeliest = guesses(logits[-1:]).iloc[0]
    bits = float(surprise(logits, ids)["bits"].mean())
    return Rerun(value, bits, int(likeliest["token_id"]), float(likeliest["probability"]))


def usual_value(run: Run, model: Model, at: Value) -> float:
    """The mean of the value where the text begins at its second, its third and its fourth token.

    Each up to the token of the value, since a causal model sees no more of it there.
    """
    ids, path = run.input.token_ids, f"layers.{at.layer}.resid_post"
    place = at.token - (run.input.text.start or 0)
    found = []
    for shift in range(1, min(N_ROTATED, len(ids) - 1) + 1):
        begun = (ids[shift:] + ids[:shift])[: place + 1]
        text = Input(tokens=tuple(map(str, begun)), token_ids=begun)
        other = replace(run.untouched, input=text)
        seen = record(model, other.values(), mask=other.pass_mask(), keep={path})
        found.append(float(seen.tensors[path][0, place, at.channel]))
    return float(np.mean(found))

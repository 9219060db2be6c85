"""Tokens set apart: massive activations in the stream, and the sinks that attention rests on.

In a deep trained model a few tokens, mostly the first, have numbers in the stream that are far
larger than all others (Sun et al. 2024, "Massive Activations in Large Language Models"), and it is
there that most attention rests (Xiao et al. 2023, "attention sinks"). A mean, a color scale, or the
largest weight is then that of these tokens alone.
"""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blocks.inspection.digest import Received, received_by_keys
from blocks.observe import flow
from blocks.observe.recording import Recording
from blocks.observe.run import Run

MASSIVE_TIMES = 5
"""A token is massive where its RMS is above so many times that of the median token.

Sun et al. 2024 ask for a value above 100 and above 1,000 times the median, which overlooks the
sinks of early layers: those of SmolLM2-135M have 650 beside a median of 1.3. Measured: the RMS of
its sinks is 7 to 200 times the median token's, that of other tokens in texts of up to 110 tokens at
most 3.6 times; in the models that we trained nothing is above 3 times.
"""
SINK_ABOVE, SINK_TIMES = 0.3, 2
"""A token is a sink where the mean head puts more than this share of each later token's attention
on it (the threshold of Gu et al. 2024), and so many times what uniform weights would.
"""
LEAST_QUERIES = 4  # of fewer no mean is taken
MOST_QUERIES = 256  # more say the same of a long text


class Sink(NamedTuple):
    """A token, from 0: the layers after which it is massive, and in which attention rests on it."""

    token: int
    massive: tuple[int, ...]
    attended: tuple[int, ...]


@dataclass(frozen=True)
class Sinks:
    """The tokens of a run that are set apart, in the order of the text; none in most models."""

    found: tuple[Sink, ...] = ()

    @property
    def tokens(self) -> tuple[int, ...]:
        """Their numbers, from 0."""
        return tuple(sink.token for sink in self.found)


def find_sinks(run: Run, seen: Recording) -> Sinks:
    """The tokens of the first sequence that are massive, or a sink, in some layer.

    Padding is none of them. Two texts (encoder–decoder) are not looked at. Of a long text, about
    `MOST_QUERIES` queries at even distances say on which keys attention rests.
    """
    if run.has_target:
        return Sinks()
    text = run.input.text
    massive = torch.stack([massive_tokens(stream[0, text]) for stream in streams(run, seen)])
    attending = run.config.attention_layers
    rested = torch.zeros_like(massive)
    for layer in attending:
        queries = slice(0, None, query_step(run))
        got = received_by_keys(seen, layer, queries)
        rested[layer] = attended_tokens(got, run.build_mask(layer), queries)[text]
    both = torch.stack((massive, rested)).cpu()  # (2, n_layers, seq)
    first = text.start or 0
    return Sinks(
        tuple(
            Sink(first + token, *(_layers(kind[:, token]) for kind in both))
            for token in _layers(both.any(dim=0).any(dim=0))
        )
    )


def query_step(run: Run) -> int:
    """Of how many queries one is looked at for where attention rests: 1 where all are."""
    return math.ceil(run.input.shape[1] / MOST_QUERIES)


def streams(run: Run, seen: Recording) -> Iterable[Tensor]:
    """The residual stream after each layer, (batch, seq, d_model)."""
    return (seen.tensor("resid_post", layer) for layer in range(run.config.n_layers))


def token_sizes(stream: Tensor) -> Tensor:
    """The RMS of each token: (…, seq, d_model) to (…, seq)."""
    return stream.float().square().mean(-1).sqrt()


def massive_tokens(stream: Tensor) -> Tensor:
    """Which tokens outweigh the others by far: (seq, d_model) to (seq,), see `MASSIVE_TIMES`."""
    sizes = token_sizes(stream)
    return sizes > MASSIVE_TIMES * sizes.median()


def attended_tokens(got: Received, mask: Tensor | None, queries: slice) -> Tensor:
    """On which keys attention rests: (key,), see `SINK_ABOVE`.

    Counted over the others of the `queries` that may see the key, where they are at least
    `LEAST_QUERIES`.
    """
    received = (got.all - got.own).mean(dim=0)
    n, uniform = _unmoved(mask, len(received), received.device, queries)
    share, even = received / n.clamp(min=1), uniform / n.clamp(min=1)
    return (n >= LEAST_QUERIES) & (share > SINK_ABOVE) & (share > SINK_TIMES * even)


def _unmoved(
    mask: Tensor | None, n: int, device: torch.device, queries: slice
) -> tuple[Tensor, Tensor]:
    """How many others may see each key, and what uniform weights of these give it: each (key,)."""
    whole = torch.ones(n, n, dtype=torch.bool) if mask is None else mask.reshape(-1, n, n)[0]
    seen = whole.to(device)[queries]
    even = seen / seen.sum(dim=-1, keepdim=True).clamp(min=1)
    others = torch.arange(n, device=device)[queries, None] != torch.arange(n, device=device)
    return (seen * others).sum(dim=0), (even * others).sum(dim=0)


def without(x: Tensor, tokens: Collection[int]) -> Tensor:
    """What passed at all other tokens: (batch, seq, …) to (batch, seq − len(tokens), …)."""
    kept = [token for token in range(x.shape[1]) if token not in tokens]
    return x[:, kept] if tokens else x


def moments_without(stages: Iterable[Tensor], tokens: Collection[int]) -> NDArray[np.float32]:
    """The moments of stages at all other tokens, a row each: see `blocks.observe.flow`."""
    found = torch.stack([flow.moments(without(x, tokens)) for x in stages])
    return found.cpu().numpy()


def _layers(is_so: Tensor) -> tuple[int, ...]:
    return tuple(is_so.nonzero().flatten().tolist())

"""Choosing the next token from logits: temperature, top-k and top-p.

The order is that of most libraries: divide by the temperature, keep the k likeliest, then the
likeliest that together reach the probability p. Sources: Fan et al. 2018 (top-k, arXiv:1805.04833);
Holtzman et al. 2020 (top-p, arXiv:1904.09751).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor

from blocks.model.faults import N_, ConfigError, Fault

LEAST_TEMPERATURE, MOST_TEMPERATURE = 0.01, 100.0


@dataclass(frozen=True, kw_only=True)
class SamplingConfig:
    """How to choose: temperature 0 takes the likeliest, top_k None and top_p 1 keep all."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if faults := [*_faults(self)]:
            raise ConfigError(faults)

    @property
    def is_greedy(self) -> bool:
        """Whether nothing is left to chance."""
        return self.temperature == 0


def filtered(logits: Tensor, sampling: SamplingConfig) -> Tensor:
    """Scaled logits, −∞ where a token is dropped; (..., vocab_size), in float32 or better."""
    logits = _scaled(logits, sampling)
    if sampling.is_greedy:
        best = logits.argmax(-1, keepdim=True)
        return torch.full_like(logits, -math.inf).scatter(-1, best, logits.gather(-1, best))
    return _top_p(_top_k(logits, sampling.top_k), sampling.top_p)


def choose(logits: Tensor, sampling: SamplingConfig, random: torch.Generator) -> int:
    """The next token id from logits (vocab_size,)."""
    if sampling.is_greedy:
        return int(logits.argmax())
    return int(choose_each(logits[None], sampling, random)[0])


def choose_each(logits: Tensor, sampling: SamplingConfig, random: torch.Generator) -> Tensor:
    """The next token id of each row: (batch, vocab_size) to (batch,), on the CPU."""
    probs = filtered(logits, sampling).softmax(-1).to("cpu")
    return (probs / draw_chances(probs.shape, probs.dtype, random)).argmax(-1)


def draw_chances(shape: Sequence[int], dtype: torch.dtype, random: torch.Generator) -> Tensor:
    """A random number from Exp(1) for each logit, drawn on the CPU before these are known.

    So the same seed gives the same text on every device, and none is waited for.
    """
    dtype = torch.promote_types(dtype, torch.float32)
    return torch.empty(shape, dtype=dtype, device="cpu").exponential_(generator=random)


def chosen(logits: Tensor, sampling: SamplingConfig, chances: Tensor | None) -> Tensor:
    """The next token ids, (..., vocab_size) to (...), on their device; `chances` from Exp(1).

    The likeliest where nothing is left to chance. argmax p / chance is i with the probability p_i:
    what waits for an event of rate p_i waits chance / p_i, and the first is taken, as
    `torch.multinomial` does.
    """
    if chances is None:
        return logits.argmax(-1)
    return (filtered(logits, sampling).softmax(-1) / chances).argmax(-1)


def next_tokens(logits: Tensor, sampling: SamplingConfig) -> pd.DataFrame:
    """One row per token id, from logits (vocab_size,): what sampling makes of each.

    Columns: token_id, logit, scaled (logit / temperature), kept, probability (0 where not kept),
    rank (1 for the largest logit).
    """
    left = filtered(logits, sampling)
    scaled = _scaled(logits, sampling)
    rank = logits.argsort(descending=True, stable=True).argsort() + 1
    columns = (logits.to(left), scaled, left.isfinite().to(left), left.softmax(-1), rank.to(left))
    logit, scaled, kept, probability, rank = torch.stack(columns).to("cpu")
    return pd.DataFrame(
        {
            "token_id": range(len(logit)),
            "logit": logit.numpy(),
            "scaled": scaled.numpy(),
            "kept": kept.bool().numpy(),
            "probability": probability.numpy(),
            "rank": rank.long().numpy(),
        }
    )


def _scaled(logits: Tensor, sampling: SamplingConfig) -> Tensor:
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return logits if sampling.is_greedy else logits / sampling.temperature


def _top_k(logits: Tensor, top_k: int | None) -> Tensor:
    if top_k is None or top_k >= logits.shape[-1]:
        return logits
    least = logits.topk(top_k).values[..., -1:]
    return logits.masked_fill(logits < least, -math.inf)


def _top_p(logits: Tensor, top_p: float) -> Tensor:
    """Keep a token where those likelier than it do not yet reach `top_p`; always the first."""
    if top_p == 1:
        return logits
    ordered, order = logits.sort(descending=True, stable=True)
    probs = ordered.softmax(-1)
    before = probs.cumsum(-1) - probs
    dropped = (before >= top_p).scatter(-1, order, before >= top_p)
    return logits.masked_fill(dropped, -math.inf)


def _faults(sampling: SamplingConfig) -> Iterator[Fault]:
    temperature, top_k, top_p = sampling.temperature, sampling.top_k, sampling.top_p
    if temperature != 0 and not LEAST_TEMPERATURE <= temperature <= MOST_TEMPERATURE:
        text = N_("temperature ({value}) must be 0 or from {least} to {most}: use {mend}")
        mend = MOST_TEMPERATURE if temperature > MOST_TEMPERATURE else LEAST_TEMPERATURE
        said = {"value": temperature, "least": LEAST_TEMPERATURE, "most": MOST_TEMPERATURE}
        yield Fault(text, {**said, "mend": mend}, {"temperature": mend})
    if top_k is not None and top_k < 1:
        text = N_("top_k ({value}) must be at least 1: use 1, or leave it unset to keep all tokens")
        yield Fault(text, {"value": top_k}, {"top_k": 1})
    if not 0 < top_p <= 1:
        text = N_("top_p ({value}) must be above 0 and at most 1: use 1 to keep all tokens")
        yield Fault(text, {"value": top_p}, {"top_p": 1.0})

"""What a model predicts."""

from dataclasses import replace

import torch

from blocks.inspection.next_token import NextFacts, vocabulary
from blocks.inspection.predictions import surprise
from blocks.lessons.place import Place
from blocks.observe.interventions import Intervention, Part, without_cross_attention
from blocks.text.sampling import SamplingConfig


def probability(at: Place, *, rank: int = 1, position: int = -1, temperature: float = 1.0) -> float:
    """The probability of the token at a rank (1: the likeliest), after the last position."""
    facts = _next(at, position, temperature=temperature)
    return float(facts.tokens["probability"].iloc[rank - 1])


def probability_without_source(at: Place, *, rank: int = 1, position: int = -1) -> float:
    """The same where cross-attention writes nothing in any layer of the decoder."""
    run = replace(at.run, interventions=without_cross_attention(at.config))
    return probability(replace(at, run=run), rank=rank, position=position)


def next_bits(at: Place, *, position: int = -1, temperature: float = 1.0) -> float:
    """The entropy of the next token, in bits."""
    return _next(at, position, temperature=temperature).bits


def n_kept(
    at: Place, *, position: int = -1, top_p: float = 1.0, top_k: int = 0, temperature: float = 1.0
) -> int:
    """How many tokens can still be drawn."""
    given = {"top_p": top_p, "top_k": top_k or None, "temperature": temperature}
    return _next(at, position, **given).n_kept


def text_bits(at: Place) -> float:
    """How surprised the model is by a token of the text, on average, in bits."""
    ids = torch.tensor(at.run.input.token_ids)
    return float(surprise(at.seen.output[0].cpu(), ids)["bits"].mean())


def text_bits_untouched(at: Place) -> float:
    """The same where nothing inside the model is changed."""
    return text_bits(replace(at, run=replace(at.run, interventions=())))


def text_bits_without(at: Place, *, part: str, layer: int = -1, head: int = -1) -> float:
    """The same where a part writes nothing: `attention_out`, `feed_forward_out`, `head_out`.

    In one layer (from 0) or, by default, in all; of heads, one of them.
    """
    layers = range(at.config.n_layers) if layer < 0 else [layer]
    changes = [
        Intervention(part=Part(part), layer=each, head=head if head >= 0 else None)
        for each in layers
    ]
    return text_bits(replace(at, run=replace(at.run, interventions=tuple(changes))))


def moved_by_order(at: Place, *, position: int = -1) -> float:
    """How far the next token's probabilities move where the words before stand backwards.

    Half the sum of all differences (total variation): 0 is nothing, 1 is everything. The last
    token stays where it is.
    """
    ids, labels = at.run.input.token_ids, at.run.input.tokens or ()
    turned = replace(
        at.run.input, token_ids=(*ids[-2::-1], ids[-1]), tokens=(*labels[-2::-1], labels[-1])
    )
    there = replace(at, run=replace(at.run, input=turned))
    first, second = (torch.softmax(p.seen.output[0, position].float(), -1) for p in (at, there))
    return float((first - second).abs().sum() / 2)


def _next(at: Place, position: int, **given: float | None) -> NextFacts:
    sampling = SamplingConfig(**given)  # type: ignore[arg-type]
    found = vocabulary(at.seen.output[0, position], sampling)
    return NextFacts(at.run, position, sampling, found, str)

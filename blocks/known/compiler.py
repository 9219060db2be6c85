"""Turns a program into the weights of a GPT or an encoder, in which every number is known.

Each value of each variable is one direction of the stream; there are no norms, and softmax is sharp
enough that a key that does not fit has the weight 0 to the last bit.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor

from blocks.known.program import INDEX, Condition, Head, Ladder, Lookup, Program, Variable
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture
from blocks.text.characters import CharacterTokenizer
from blocks.weights.model_file import ModelFile

SHARP = 300.0  # between two scores: exp(−150) is 0 in float32
LOGIT = 10.0  # of an answer; all others have 0


class Stream:
    """The direction of each value of each variable, found by their names."""

    def __init__(self, variables: Iterable[Variable]):
        places = ((each.name, value) for each in variables for value in each.values)
        self.places = {place: i for i, place in enumerate(dict.fromkeys(places))}
        self.width = len(self.places)

    def at(self, variable: Variable, value: Any) -> int:
        """The direction of a value."""
        return self.places[variable.name, value]


def compiled(program: Program) -> ModelFile:
    """The model of a program, with the tokens that it reads."""
    stream = Stream(_variables(program))
    config = _config(program, stream)
    tensors = _ends(program, stream)
    for layer in range(program.n_layers):
        heads = [head for head in program.heads if head.at[0] == layer]
        tensors |= _attention(config, stream, layer, heads)
        if not config.attention_only:
            tensors |= _feed_forward(config, stream, layer, _units(program, stream, layer))
    return ModelFile(config, CharacterTokenizer("".join(program.tokens.values)), None, tensors)


def _variables(program: Program) -> Iterator[Variable]:
    yield from (program.tokens, INDEX, program.output)
    for part in program.parts:
        if part.gives is not None:
            yield part.gives


def _config(program: Program, stream: Stream) -> ModelConfig:
    features = [sum(len(look.key.values) for look in head.looks) + 1 for head in program.heads]
    taken = [len(head.takes.values) for head in program.heads]
    units = [len(_units(program, stream, layer)) for layer in range(program.n_layers)]
    return ModelConfig(
        architecture=Architecture.GPT if program.is_causal else Architecture.ENCODER,
        n_layers=program.n_layers,
        d_model=stream.width,
        n_heads=program.n_heads,
        d_head=max(*features, *taken, 2),
        d_ff=max(*units, 1),
        activation="relu",
        attention_only=not any(units),
        attention_bias=False,
        scale_scores=False,
        norm_kind="none",
        dropout=0.0,
        position_kind="learned",
        max_seq_len=len(INDEX.values),
        vocab_size=len(program.tokens.values),
        tie_embeddings=False,
        scale_embeddings=False,
    )


def _ends(program: Program, stream: Stream) -> dict[str, Tensor]:
    """Embedding, positions and unembedding."""
    embed = torch.zeros(len(program.tokens.values), stream.width)
    unembed, position = embed.clone(), torch.zeros(len(INDEX.values), stream.width)
    for i, token in enumerate(program.tokens.values):
        embed[i, stream.at(program.tokens, token)] = 1
        if token in program.output.values:
            unembed[i, stream.at(program.output, token)] = LOGIT
    for i, index in enumerate(INDEX.values):
        position[i, stream.at(INDEX, index)] = 1
    return {"embed.weight": embed, "position.weight": position, "unembed.weight": unembed}


def _attention(
    config: ModelConfig, stream: Stream, layer: int, heads: Sequence[Head]
) -> dict[str, Tensor]:
    """Queries, keys, values and output of all heads of a layer."""
    q, k, v, out = (torch.zeros(config.n_heads, config.d_head, stream.width) for _ in range(4))
    for head in heads:
        number = head.at[1]
        _look(stream, head, q[number], k[number])
        if head.gives is not None:
            for feature, value in enumerate(head.takes.values):
                v[number, feature, stream.at(head.takes, value)] = 1
                for given, weight in head.means(value).items():
                    out[number, feature, stream.at(head.gives, given)] = weight
    joined = {"q_proj": q.flatten(0, 1), "k_proj": k.flatten(0, 1), "v_proj": v.flatten(0, 1)}
    joined["out_proj"] = out.flatten(0, 1).T.contiguous()
    return {f"layers.{layer}.attention.{name}.weight": x for name, x in joined.items()}


def _look(stream: Stream, head: Head, q: Tensor, k: Tensor) -> None:
    """Queries and keys of a head: (d_head, d_model)."""
    row = 0
    for look in head.looks:
        row += _meet(stream, q[row:], k[row:], look)
    if head.looks and head.has_rest:  # the first token, half a condition more than a misfit
        for index in INDEX.values:
            q[row, stream.at(INDEX, index)] = 1
        k[row, stream.at(INDEX, 0)] = SHARP / 2


def _meet(stream: Stream, q: Tensor, k: Tensor, look: Condition) -> int:
    """Write queries and keys of one condition, a feature for each value of the key; count them."""
    for feature, key in enumerate(look.key.values):
        k[feature, stream.at(look.key, key)] = 1
        for query in look.query.values:
            if look.fits(query, key):
                q[feature, stream.at(look.query, query)] = SHARP
    return len(look.key.values)


Unit = tuple[dict[int, float], float, dict[int, float]]  # reads, bias, writes


def _units(program: Program, stream: Stream, layer: int) -> list[Unit]:
    found: list[Unit] = []
    for part in program.parts:
        if isinstance(part, Lookup) and part.layer == layer:
            found += _of_lookup(stream, part)
        elif isinstance(part, Ladder) and part.layer == layer:
            found += _of_ladder(stream, part)
    return found


def _of_lookup(stream: Stream, part: Lookup) -> Iterator[Unit]:
    """One unit for each combination that means something: on where all of its values are there."""
    for values in product(*(variable.values for variable in part.reads)):
        meaning = part.means(*values)
        if meaning is not None:
            places = zip(part.reads, values, strict=True)
            reads = {stream.at(variable, value): 1.0 for variable, value in places}
            yield reads, 1.0 - len(values), {stream.at(part.gives, meaning): 1.0}


def _of_ladder(stream: Stream, part: Ladder) -> Iterator[Unit]:
    """Two units make each step, 0 below it and 1 above; a value stands between two steps.

    One more is 1 for all numbers: on the lowest rung stands the first value.
    """
    (number,), slope = part.reads.values, 1 / part.width
    place = stream.at(part.reads, number)
    values = [stream.at(part.gives, value) for value in part.gives.values]
    yield {}, 1.0, {values[0]: 1.0}
    for i, step in enumerate(part.steps):
        for sign, shift in ((1.0, 0.5), (-1.0, -0.5)):
            writes = {values[i]: -sign, values[i + 1]: sign}
            yield {place: slope}, shift - slope * step, writes


def _feed_forward(
    config: ModelConfig, stream: Stream, layer: int, units: Sequence[Unit]
) -> dict[str, Tensor]:
    up, down = torch.zeros(config.d_ff, stream.width), torch.zeros(stream.width, config.d_ff)
    bias = torch.zeros(config.d_ff)
    for unit, (reads, shift, writes) in enumerate(units):
        bias[unit] = shift
        for place, weight in reads.items():
            up[unit, place] = weight
        for place, weight in writes.items():
            down[place, unit] = weight
    found = {"up_proj.weight": up, "up_proj.bias": bias, "down_proj.weight": down}
    found["down_proj.bias"] = torch.zeros(stream.width)
    return {f"layers.{layer}.feed_forward.{name}": x for name, x in found.items()}

"""What a conversion fault does to a model: what it writes, what it expects, what gives it away."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pandas as pd
import torch
from torch import Tensor

from blocks.model.kinds import Architecture
from blocks.model.models import EncoderDecoder
from blocks.weights.conversion_faults import ConversionFault, Loaded, plant
from blocks.weights.doctor import (
    Diagnosis,
    Text,
    diagnosis,
    distance,
    has_loss,
    in_format,
    logits,
    suspicion,
    text_loss,
    tried,
)
from blocks.weights.tensors import bytes_of

N_CANDIDATES, N_WRITTEN = 6, 16
DOUBLE_BYTES = 64 * 2**20  # of weights; beyond, single precision is enough, and half the work


@dataclass(frozen=True, eq=False)
class FaultFacts:
    """A model with a fault planted (None: as it is) beside the sound one.

    `written`: token ids, sound and with the fault; `candidates`: token_id, sound, faulty, the
    probabilities after the last token; `bits`: KL(sound ‖ faulty) there; `found`: what is named
    where the sound logits are known; `suspected`: where only a text is, of a GPT.
    """

    fault: ConversionFault | None
    written: tuple[tuple[int, ...], tuple[int, ...]]
    candidates: pd.DataFrame
    bits: float
    found: Diagnosis
    suspected: Diagnosis | None


def fault_facts(
    sound: Loaded, fault: ConversionFault | None, text: Text, *, stop: int = -1, at: int = -1
) -> FaultFacts:
    """Plant a fault and see what comes of it; `stop` ends a target, `at`: where one looks."""
    faulty = sound if fault is None else plant(fault, sound)
    dtype = torch.float64 if bytes_of(sound.tensors) <= DOUBLE_BYTES else torch.float32
    right = logits(sound, text, dtype)
    wrong = right if fault is None else logits(faulty, text, dtype)
    p, q = (each[at].double().log_softmax(-1) for each in (right, wrong))
    says_sound = written(sound, text, stop)
    measures = [partial(distance, right=right)]
    if has_loss(sound) and len(text.token_ids) > 1:
        measures.append(partial(text_loss, text=text))
    distances, *losses = tried(faulty, text, *measures, dtype=dtype)
    return FaultFacts(
        fault=fault,
        written=(says_sound, says_sound if fault is None else written(faulty, text, stop)),
        candidates=_candidates(p.exp(), q.exp()),
        bits=float((p.exp() * (p - q)).sum() / torch.tensor(2.0).log()),
        found=diagnosis(distances, dtype),
        suspected=suspicion(losses[0], sound.config.vocab_size) if losses else None,
    )


@torch.no_grad()
def written(loaded: Loaded, text: Text, stop: int = -1) -> tuple[int, ...]:
    """The likeliest tokens: those that follow, those of a target, or of an encoder each token's."""
    model = in_format(loaded, torch.float32).build()
    ids = torch.tensor([[*loaded.prefix, *text.token_ids]])
    if loaded.config.architecture is Architecture.ENCODER:
        return tuple(model(ids)[0, len(loaded.prefix) :].argmax(-1).tolist())
    if isinstance(model, EncoderDecoder):
        memory, start = model.encode(ids), torch.tensor([text.target_ids[:1]])
        return _grown(start, lambda target: model.decode(target, memory), loaded, stop)
    return _grown(ids, model, loaded, stop)


def _grown(
    ids: Tensor, step: Callable[[Tensor], Tensor], loaded: Loaded, stop: int
) -> tuple[int, ...]:
    """Greedily, token by token; without a cache, so that nothing but the fault is different."""
    n = ids.shape[1]
    while ids.shape[1] < min(n + N_WRITTEN, loaded.config.max_seq_len):
        following = step(ids)[:, -1:].argmax(-1)
        ids = torch.cat((ids, following), dim=1)
        if int(following) == stop:
            break
    return tuple(ids[0, n:].tolist())


def decoded_target(sound: Loaded, text: Text, stop: int) -> Text:
    """The text with the target that the sound model writes; only an encoder–decoder has one."""
    if sound.config.architecture is not Architecture.ENCODER_DECODER:
        return text
    return Text(text.token_ids, (*text.target_ids, *written(sound, text, stop)))


def _candidates(p: Tensor, q: Tensor) -> pd.DataFrame:
    """The likeliest of both, those of the sound model first."""
    n = min(N_CANDIDATES, len(p))
    likeliest = [*p.topk(n).indices.tolist(), *q.topk(n).indices.tolist()]
    ids = list(dict.fromkeys(likeliest))
    return pd.DataFrame({"token_id": ids, "sound": p[ids].tolist(), "faulty": q[ids].tolist()})

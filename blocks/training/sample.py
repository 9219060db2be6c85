"""What a model writes while it learns."""

from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from blocks.model.config import ModelConfig
from blocks.model.models import EncoderDecoder
from blocks.text.beam import BeamConfig, greedy
from blocks.training.events import Answer
from blocks.training.pairs import PairTask, is_filled, padded

TEMPERATURE = 0.8


def continued(
    logits_of: Callable[[Tensor], Tensor],
    prompt: Sequence[int],
    *,
    seq_len: int,
    random: torch.Generator,
) -> list[int]:
    """The prompt, and one drawn token after the other until there are `seq_len`.

    `logits_of` takes ids (1, seq) to logits (1, seq, vocab_size) on the CPU.
    """
    token_ids = list(prompt)
    while len(token_ids) < seq_len:
        logits = logits_of(torch.tensor([token_ids]))[0, -1]
        probs = (logits / TEMPERATURE).softmax(dim=-1)
        token_ids.append(int(torch.multinomial(probs, 1, generator=random)))
    return token_ids


def answers(model: nn.Module, config: ModelConfig, task: PairTask) -> tuple[Answer, ...]:
    """What an encoder–decoder writes for the sources that the task shows, greedily."""
    rows, decode = task.shown(), task.tokenizer.decode
    written = greedy_targets(model, config, [row.source for row in rows], task)
    return tuple(
        Answer(decode(row.source), decode(target), decode(row.target))
        for row, target in zip(rows, written, strict=True)
    )


def greedy_targets(
    model: nn.Module, config: ModelConfig, sources: Sequence[Sequence[int]], task: PairTask
) -> list[list[int]]:
    """The likeliest token each time, for each source, without the marks around it."""
    marks, device = task.marks, next(model.parameters()).device
    search = BeamConfig(start_id=marks.start, stop_id=marks.stop, max_new_tokens=task.seq_len)
    written = greedy(
        cast(EncoderDecoder, model),
        config,
        padded(sources, marks.padding).to(device),
        search,
        is_source=is_filled(sources).to(device),
    )
    return [target[:-1] if target[-1] == marks.stop else target for target in written]

"""Sparse models trained at once: their weights are stacked, and one pass goes through all of them.

Each learns what it would learn alone; together they take half of the time.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from blocks.known.bracket_texts import SEQ_LEN
from blocks.known.sparse import CONFIG, SparseTraining, keep_largest, optimizer_of, rate, share_at
from blocks.model.models import build
from blocks.model.positions import alibi_slopes
from blocks.training.task import IGNORED

ATTENTION = "layers.0.attention."


def trained_together(trainings: Sequence[SparseTraining]) -> list[nn.Module]:
    """The models of trainings that differ in seed and answers alone; all texts in each batch."""
    first = trainings[0]
    models: list[nn.Module] = [build(CONFIG, seed=each.seed) for each in trainings]
    weights = stacked(models)
    token_ids = torch.stack([each.texts.token_ids for each in trainings])
    answers = torch.stack([each.texts.answers for each in trainings])
    optimizer = optimizer_of(weights.values())
    for update in range(first.n_updates):
        progress = update / first.n_updates
        optimizer.param_groups[0]["lr"] = rate(progress, update)
        losses(stacked_logits(weights, token_ids), answers).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        keep_largest(weights.values(), share_at(progress, first.share))
    for i, model in enumerate(models):
        model.load_state_dict({name: stack[i] for name, stack in weights.items()})
    return models


def stacked(models: Sequence[nn.Module]) -> dict[str, Tensor]:
    """All of their weights: of each matrix a stack, (n, rows, columns)."""
    return {
        name: torch.stack([each.get_parameter(name).detach() for each in models]).requires_grad_()
        for name, _weight in models[0].named_parameters()
    }


def losses(logits: Tensor, answers: Tensor) -> Tensor:
    """The mean loss of each model over its answers, in nats."""
    each = cross_entropy(
        logits.flatten(0, 2), answers.flatten(), ignore_index=IGNORED, reduction="none"
    )
    return each.view(len(answers), -1).sum(1) / (answers != IGNORED).flatten(1).sum(1)


def stacked_logits(weights: Mapping[str, Tensor], token_ids: Tensor) -> Tensor:
    """The logits of all models for texts of their own, (n, texts, seq) to (…, vocabulary)."""
    n, n_texts, seq = token_ids.shape
    seen = one_hot(token_ids.flatten(1), CONFIG.vocab_size).float()
    stream = seen @ weights["embed.weight"]  # (n, texts · seq, d_model)
    q, k, v = (
        (stream @ weights[f"{ATTENTION}{name}_proj.weight"].mT)
        .view(n, n_texts, seq, CONFIG.n_heads, CONFIG.d_head)
        .transpose(2, 3)
        for name in "qkv"
    )
    pattern = (q @ k.mT / CONFIG.d_head**0.5 + _bias()).softmax(-1)
    heads = (pattern @ v).transpose(2, 3).reshape(stream.shape)
    stream = stream + heads @ weights[f"{ATTENTION}out_proj.weight"].mT
    return (stream @ weights["unembed.weight"].mT).view(n, n_texts, seq, -1)


def _bias() -> Tensor:
    """What ALiBi and the mask add to the scores: (n_heads, query, key)."""
    places = torch.arange(SEQ_LEN)
    distance = places[:, None] - places
    slopes = torch.tensor(alibi_slopes(CONFIG.n_heads))[:, None, None]
    return (-slopes * distance).masked_fill(distance < 0, -torch.inf)

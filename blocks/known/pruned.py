"""Taking single weights out of a sparse model, as long as it stays what it is."""

import torch
from torch import Tensor, nn

from blocks.known.bracket_texts import Texts
from blocks.observe.recording import record
from blocks.training.task import IGNORED

LEAST_MARGIN = 2.0  # of logits, that pruning leaves a right answer
LEAST_COSINE = 0.952  # between attention before pruning and after
ATTENDING = ("embed.weight", "layers.0.attention.q_proj.weight", "layers.0.attention.k_proj.weight")
N_ATTENDING = 64  # texts on which attention is compared


@torch.no_grad()
def prune(model: nn.Module, texts: Texts) -> None:
    """Take single weights out for good, those first that right answers need least.

    One goes where every right answer still stands `LEAST_MARGIN` above the best wrong one, or as
    far as it did before, whether it goes alone or with all that went already: two that only
    balance each other stay. Those that attention is made of go last, as long as it stays alike.
    """
    least, some = min(LEAST_MARGIN, margin(model, texts)), texts.token_ids[:N_ATTENDING]
    before = attention(model, some)
    places = [
        (name in ATTENDING, weight.view(-1), i)
        for name, weight in model.named_parameters()
        for i in weight.flatten().nonzero().flatten().tolist()
    ]
    alone = [_margin_without(model, texts, flat, i) for _attends, flat, i in places]
    for j in sorted(range(len(places)), key=lambda j: (places[j][0], -alone[j])):
        attends, flat, i = places[j]
        value = flat[i].item()
        flat[i] = 0
        is_needed = min(alone[j], margin(model, texts)) < least
        if is_needed or (attends and cosine(model, some, before) < LEAST_COSINE):
            flat[i] = value


def _margin_without(model: nn.Module, texts: Texts, flat: Tensor, i: int) -> float:
    value = flat[i].item()
    flat[i] = 0
    found = margin(model, texts)
    flat[i] = value
    return found


@torch.no_grad()
def margin(model: nn.Module, texts: Texts) -> float:
    """The least that the logit of a right answer stands above that of the best wrong one."""
    asked = texts.answers != IGNORED
    logits, right = model(texts.token_ids)[asked], texts.answers[asked][:, None]
    wrong = logits.scatter(1, right, -torch.inf).amax(1)
    return (logits.gather(1, right)[:, 0] - wrong).min().item()


def attention(model: nn.Module, token_ids: Tensor) -> Tensor:
    """The attention weights of its layer: (batch, n_heads, query, key)."""
    return record(model, token_ids, keep=["layers.0.pattern"]).pattern(0)


def cosine(model: nn.Module, token_ids: Tensor, before: Tensor) -> float:
    """The mean cosine between attention now and before, of the heads that still write anything."""
    writes = model.get_parameter("layers.0.attention.out_proj.weight").any(0)
    heads = writes.view(before.shape[1], -1).any(1)
    pair = attention(model, token_ids)[:, heads], before[:, heads]
    return torch.cosine_similarity(*pair, dim=-1).mean().item()

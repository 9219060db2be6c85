"""A small model trained so that only its largest weights stay: few enough to be read one by one.

After each update all but the largest weights of every matrix are set to 0, as in Gao et al. 2025,
"Weight-sparse transformers have interpretable circuits" (arXiv:2511.13653). The share that stays
falls from all to `KEPT_SHARE`. Then single weights go for good, as long as the answers stay.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from blocks.known.bracket_texts import (
    CHARACTERS,
    CLOSING,
    N_LEARNED,
    SEQ_LEN,
    Texts,
    held_out,
    learned,
)
from blocks.known.pruned import margin, prune
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, NormKind, PositionKind
from blocks.model.models import build
from blocks.model.randomness import generator
from blocks.training.task import IGNORED
from blocks.training.uncompiled import AdamW

CONFIG = ModelConfig(
    architecture=Architecture.GPT,
    vocab_size=len(CHARACTERS),
    max_seq_len=SEQ_LEN,
    d_model=32,
    n_heads=8,
    attention_only=True,
    attention_bias=False,
    norm_kind=NormKind.NONE,
    position_kind=PositionKind.ALIBI,
    tie_embeddings=False,
    dropout=0.0,
)
N_UPDATES, N_PARTS, BATCH = 2000, 20, 32
PEAK_RATE, WARM_UP, FALLS_FROM = 0.02, 50, 0.75
KEPT_SHARE, LEAST_KEPT = 0.02, 24
SPARSE_FROM = 0.6  # of the updates: by then the share has fallen


class Weight(NamedTuple):
    """A weight that is not 0: of which matrix, in which row and column, how large."""

    matrix: str
    row: int
    column: int
    value: float


@dataclass(frozen=True)
class Part:
    """How far a training is: updates made, weights that are left, what the model does by then."""

    n_updates: int
    n_weights: int
    loss: float
    accuracy: float


@dataclass(frozen=True)
class Circuit:
    """What is left of a model: the weights that stay, and those that pruning took out.

    `accuracy` is that on the texts that were learned, `held_out` that on others.
    """

    seed: int
    is_shuffled: bool
    kept: tuple[Weight, ...]
    pruned: tuple[Weight, ...]
    accuracy: float
    held_out: float

    @property
    def trained(self) -> tuple[Weight, ...]:
        """All weights that were left before pruning."""
        return (*self.kept, *self.pruned)


@dataclass(frozen=True)
class SparseTraining:
    """The training as a series: a `Part` for each twentieth of it, then the `Circuit`.

    `is_shuffled`: the answers are dealt out anew among the texts, so that there is no rule to find
    and each has to be learned by heart. Nothing is pruned where not all answers are learned.
    """

    seed: int = 0
    is_shuffled: bool = False
    share: float = KEPT_SHARE
    n_updates: int = N_UPDATES
    n_texts: int = N_LEARNED
    device: str = "cpu"
    is_timed: bool = False

    @property
    def n_steps(self) -> int:
        """How many values there are."""
        return N_PARTS + 1

    def results(self, done: Sequence[Any]) -> Iterator[Part | Circuit]:
        """Those after the ones that are known; the training is made again up to there."""
        return islice(self._all(), len(done), None)

    def _all(self) -> Iterator[Part | Circuit]:
        model = build(CONFIG, seed=self.seed)
        texts, optimizer = self.texts, optimizer_of(model.parameters())
        for update in range(self.n_updates):
            progress = update / self.n_updates
            optimizer.param_groups[0]["lr"] = rate(progress, update)
            rows = _drawn(texts, self.seed, update)
            loss_of(model, rows).backward()
            optimizer.step()
            optimizer.zero_grad()
            keep_largest(model.parameters(), share_at(progress, self.share))
            if (update + 1) % (self.n_updates // N_PARTS) == 0:
                loss, accuracy = measured(model, texts)
                yield Part(update + 1, len(weights_of(model)), loss, accuracy)
        yield self.pruned(model)

    @property
    def texts(self) -> Texts:
        """What is learned."""
        return learned(self.seed, self.n_texts, is_shuffled=self.is_shuffled)

    def pruned(self, model: nn.Module) -> Circuit:
        """What is left of the trained model once single weights are taken out."""
        before, texts = weights_of(model), self.texts
        if margin(model, texts) > 0:
            prune(model, texts)
        kept = weights_of(model)
        places = {weight[:3] for weight in kept}
        return Circuit(
            seed=self.seed,
            is_shuffled=self.is_shuffled,
            kept=kept,
            pruned=tuple(each for each in before if each[:3] not in places),
            accuracy=measured(model, texts)[1],
            held_out=measured(model, held_out(self.seed))[1],
        )


def rate(progress: float, update: int) -> float:
    """The learning rate: warm-up, peak, and a straight fall to a hundredth of it."""
    falls = max(0.0, (progress - FALLS_FROM) / (1 - FALLS_FROM))
    return PEAK_RATE * min(1.0, (update + 1) / WARM_UP) * (1 - 0.99 * falls)


def share_at(progress: float, share: float) -> float:
    """The share of each matrix that stays: it falls by the same factor at each update."""
    return share ** min(1.0, progress / SPARSE_FROM)


def optimizer_of(weights: Iterable[Tensor]) -> AdamW:
    """What updates them: no decay, as it would move those that are 0."""
    return AdamW(weights, lr=PEAK_RATE, betas=(0.9, 0.99), weight_decay=0.0)


@torch.no_grad()
def keep_largest(matrices: Iterable[Tensor], share: float) -> None:
    """Set all but this share of each matrix to 0, the largest stay; at least 24 of each.

    One may be a stack of matrices, (n, rows, columns): each is one of its own.
    """
    for weight in matrices:
        sizes = weight.abs().flatten(-2)
        n_out = sizes.shape[-1] - max(LEAST_KEPT, round(share * sizes.shape[-1]))
        if n_out > 0:
            least = sizes.kthvalue(n_out).values[..., None, None]
            weight.mul_(weight.abs() > least)


def loss_of(model: nn.Module, texts: Texts) -> Tensor:
    """The mean loss over all answers, in nats."""
    return cross_entropy(
        model(texts.token_ids).flatten(0, 1), texts.answers.flatten(), ignore_index=IGNORED
    )


@torch.no_grad()
def measured(model: nn.Module, texts: Texts) -> tuple[float, float]:
    """Loss in nats, and the share of answers that are right."""
    logits, asked = model(texts.token_ids), texts.answers != IGNORED
    right = logits.argmax(-1)[asked] == texts.answers[asked]
    loss = cross_entropy(logits[asked], texts.answers[asked])
    return loss.item(), right.double().mean().item()


@torch.no_grad()
def right_by_kind(model: nn.Module, texts: Texts) -> dict[str, float]:
    """The share of answers that are right, by the bracket that is the true answer."""
    asked = texts.answers != IGNORED
    said, true = model(texts.token_ids).argmax(-1)[asked], texts.answers[asked]
    kinds = map(CHARACTERS.index, CLOSING)
    return {CHARACTERS[i]: (said == true)[true == i].double().mean().item() for i in kinds}


def weights_of(model: nn.Module) -> tuple[Weight, ...]:
    """All weights that are not 0."""
    return tuple(
        Weight(name, row, column, matrix[row, column].item())
        for name, matrix in model.named_parameters()
        for row, column in matrix.detach().nonzero().tolist()
    )


@torch.no_grad()
def model_of(weights: Sequence[Weight]) -> nn.Module:
    """The model that has these weights alone."""
    model = build(CONFIG, seed=0)
    for parameter in model.parameters():
        parameter.zero_()
    for weight in weights:
        model.get_parameter(weight.matrix)[weight.row, weight.column] = weight.value
    return model


def _drawn(texts: Texts, seed: int, update: int) -> Texts:
    """A batch of the texts that are learned; all of them where they are no more than that."""
    if len(texts.token_ids) <= BATCH:
        return texts
    random = generator(seed, "sparse", str(update))
    return texts.rows(torch.randint(len(texts.token_ids), (BATCH,), generator=random))

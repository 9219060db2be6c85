"""A residual network as an ensemble of paths: each sub-layer is passed through or around.

Veit et al. 2016, "Residual Networks Behave Like Ensembles of Relatively Shallow Networks". With
x_{i+1} = x_i + f_i(x_i) for n sub-layers there are 2ⁿ paths, C(n, k) of them through k sub-layers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor

from blocks.model.faults import N_, ConfigError, Fault
from blocks.model.layers import AttentionLayer, EncoderLayer
from blocks.model.masks import causal
from blocks.model.models import GPT, Encoder, Model
from blocks.model.randomness import generator
from blocks.model.residual import PostNorm, Residual
from blocks.model.source_target import SourceTargetMask
from blocks.training.loss import cross_entropy
from blocks.training.task import Batch

N_DRAWS, ENOUGH, MOST_TOKENS = 5, 1.1, 512
SHALLOW = 24  # sub-layers
LONG = 2 * 10**11  # FLOPs
SubLayer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class PathFacts:
    """One number for each length of path, 0 to n, where there are n sub-layers.

    `n_paths` counts them; `gradients` is the norm of the gradient that arrives at the embedding
    through them, `gradient` that of all together. `losses` is the loss in nats where the stream
    holds the paths up to that length only; the last is the whole model's. `kept_losses` are those
    where so many sub-layers are kept, drawn `N_DRAWS` times from `seed`, and the others deleted.
    """

    n_paths: tuple[int, ...]
    gradients: tuple[float, ...]
    gradient: float
    losses: tuple[float, ...]
    kept_losses: tuple[tuple[float, ...], ...]
    seed: int

    @property
    def n_sublayers(self) -> int:
        """Attention and feed-forward layers."""
        return len(self.n_paths) - 1

    @property
    def shares(self) -> tuple[float, ...]:
        """The norms of the gradients, as shares of their sum."""
        return tuple(each / sum(self.gradients) for each in self.gradients)

    @property
    def share_of_paths(self) -> tuple[float, ...]:
        """How many of all paths have each length."""
        return tuple(each / sum(self.n_paths) for each in self.n_paths)

    @property
    def n_all(self) -> int:
        """All paths, 2ⁿ."""
        return sum(self.n_paths)

    @property
    def kept_means(self) -> tuple[float, ...]:
        """The mean loss over the draws, for each number of sub-layers kept."""
        return tuple(sum(each) / len(each) for each in self.kept_losses)

    @property
    def enough(self) -> int:
        """The length from which on the loss stays within a tenth of the whole model's."""
        most = ENOUGH * self.losses[-1]
        return 1 + max((k for k, loss in enumerate(self.losses) if loss > most), default=-1)

    @property
    def heaviest(self) -> int:
        """The length that carries most of the gradient."""
        return max(range(len(self.gradients)), key=self.gradients.__getitem__)


@dataclass(frozen=True, eq=False)
class PathQuestion:
    """A model, a text that it reads, ids and targets (batch, seq), and a mask that broadcasts.

    What is found out is in `n_parts`, each of which may take a while.
    """

    model: Encoder
    token_ids: Tensor
    targets: Tensor
    mask: Tensor | None
    seed: int = 0

    @property
    def n_parts(self) -> int:
        """The gradients, the losses by length, and those with each number of sub-layers kept."""
        return 3 + len(sublayers(self.model, self.mask))

    @property
    def flops(self) -> int:
        """FLOPs of all of it, about: five passes through half of the layers for each length."""
        n_weights = sum(each.numel() for each in self.model.parameters())
        return 5 * (self.n_parts - 3) * n_weights * self.token_ids.numel()

    @property
    def is_long(self) -> bool:
        """Whether it takes longer than a moment."""
        return self.flops > LONG

    def part(self, i: int) -> tuple[float, ...]:
        """One of them, as numbers. Raises `ConfigError` where the stream is not a plain sum."""
        writes = sublayers(self.model, self.mask)
        x = self.model.embed_tokens(self.token_ids).detach()
        if i == 0:
            by_length = gradients_by_length(writes, x, self._loss)
            return tuple(float(each.norm()) for each in (by_length.sum(0), *by_length))
        with torch.no_grad():
            streams = (
                streams_by_length(writes, x)
                if i == 1
                else (_stream(kept, x) for kept in _drawn(writes, i - 2, self.seed))
            )
            return tuple(float(self._loss(stream)) for stream in streams)

    def _loss(self, stream: Tensor) -> Tensor:
        logits = self.model.unembed_logits(self.model.final_norm(stream))
        return cross_entropy(logits, self.targets)

    def facts(self, parts: Sequence[tuple[float, ...]]) -> PathFacts:
        """What all its parts say."""
        (gradient, *gradients), losses, *kept_losses = parts
        n = len(kept_losses) - 1
        return PathFacts(
            n_paths=tuple(math.comb(n, k) for k in range(n + 1)),
            gradients=tuple(gradients),
            gradient=gradient,
            losses=losses,
            kept_losses=tuple(kept_losses),
            seed=self.seed,
        )


def path_facts(
    model: Encoder, token_ids: Tensor, targets: Tensor, mask: Tensor | None, *, seed: int = 0
) -> PathFacts:
    """The paths of a model on a text; ids and targets are (batch, seq), the mask broadcasts.

    Raises `ConfigError` where the stream is not a plain sum: norm after the sum, or no residual.
    """
    asked = PathQuestion(model, token_ids, targets, mask, seed)
    return asked.facts([*map(asked.part, range(asked.n_parts))])


def of_batch(model: Model, batch: Batch) -> PathQuestion:
    """The paths on the first rows of a batch, causal where a GPT has no mask of its own.

    The deeper a model, the fewer tokens: each sub-layer runs as often as there are lengths. Raises
    `ConfigError` where there is more than one stream, or none that is a plain sum.
    """
    if not isinstance(model, Encoder) or isinstance(batch.mask, SourceTargetMask):
        raise ConfigError(
            [
                Fault(
                    N_(
                        "A model that reads two texts has two residual streams: choose a model "
                        "that reads one"
                    )
                )
            ]
        )
    token_ids, targets, mask = cast(Tensor, batch.token_ids), batch.targets, batch.mask
    most = MOST_TOKENS * SHALLOW // max(SHALLOW, len(sublayers(model, mask)))
    n_rows = max(1, most // token_ids.shape[-1])
    if mask is None:
        token_ids, targets = token_ids[:, :most], targets[:, :most]
    if mask is None and isinstance(model, GPT):
        mask = causal(token_ids.shape[-1], token_ids.device)
    elif mask is not None and len(mask) > 1:
        mask = mask[:n_rows]
    return PathQuestion(model, token_ids[:n_rows], targets[:n_rows], mask)


def _drawn(writes: Sequence[SubLayer], k: int, seed: int) -> list[list[SubLayer]]:
    """Some of the sub-layers in their order, `k` of them, several times."""
    draw = generator(seed, "kept sub-layers", str(k))
    n_draws = 1 if k in (0, len(writes)) else N_DRAWS
    orders = (torch.randperm(len(writes), generator=draw)[:k] for _ in range(n_draws))
    return [[writes[i] for i in order.sort().values] for order in orders]


def _stream(writes: Sequence[SubLayer], x: Tensor) -> Tensor:
    for write in writes:
        x = x + write(x)
    return x


def sublayers(model: Encoder, mask: Tensor | None) -> list[SubLayer]:
    """What each sub-layer adds to the stream, in order: (batch, seq, d_model) to the same."""
    found: list[SubLayer] = []
    for layer in model.layers:
        if not isinstance(layer, EncoderLayer | AttentionLayer) or not _is_a_sum(layer):
            raise ConfigError(
                [Fault(N_("Paths need a residual stream that is a plain sum: use pre-norm"))]
            )
        read = partial(layer.attention, mask=mask)
        found.append(partial(_write, layer.attention_residual, read))
        if isinstance(layer, EncoderLayer):
            found.append(partial(_write, layer.feed_forward_residual, layer.feed_forward))
    return found


def _is_a_sum(layer: EncoderLayer | AttentionLayer) -> bool:
    residual = layer.attention_residual
    return residual.is_connected and not isinstance(residual, PostNorm)


def _write(residual: Residual, f: SubLayer, x: Tensor) -> Tensor:
    return residual(x, f) - x


def gradients_by_length(
    writes: Sequence[SubLayer], x: Tensor, loss_of: Callable[[Tensor], Tensor]
) -> Tensor:
    """dL/dx through the paths of each length: (n + 1, *x.shape); their sum is the gradient.

    Backwards, dL/dx = Π (I + Jᵢᵀ) · dL/dx_n. The k-th term keeps the products with k Jacobians:
    around a sub-layer it stays what it is, through it the one before comes in, times Jᵀ.
    """
    streams = [x]
    with torch.no_grad():
        for write in writes:
            streams.append(streams[-1] + write(streams[-1]))
    terms = [_gradient(loss_of, streams[-1])]
    for write, stream in zip(reversed(writes), reversed(streams[:-1]), strict=True):
        through = _pulled_back(write, stream, terms)
        around = [*terms, torch.zeros_like(x)]
        terms = [around[0], *(a + t for a, t in zip(around[1:], through, strict=True))]
    return torch.stack(terms)


def _gradient(loss_of: Callable[[Tensor], Tensor], stream: Tensor) -> Tensor:
    with torch.enable_grad():
        leaf = stream.clone().requires_grad_()
        return torch.autograd.grad(loss_of(leaf), leaf)[0]


def _pulled_back(write: SubLayer, stream: Tensor, terms: Sequence[Tensor]) -> list[Tensor]:
    """Jᵀ·g for each g, with one forward pass."""
    with torch.enable_grad():
        leaf = stream.clone().requires_grad_()
        out = write(leaf)
        return [torch.autograd.grad(out, leaf, term, retain_graph=True)[0] for term in terms]


def streams_by_length(writes: Sequence[SubLayer], x: Tensor) -> list[Tensor]:
    """The last stream, were there only paths up to each length, 0 to n: the n-th is the whole.

    With at most k sub-layers passed, each reads what paths of at most k − 1 have written before
    it; so the differences of neighbours add up to the stream.
    """
    before = [x] * (len(writes) + 1)  # the stream at each place, of paths of length 0
    found = [x]
    for _length in range(len(writes)):
        stream, now = x, [x]
        for write, read in zip(writes, before[:-1], strict=True):
            stream = stream + write(read)
            now.append(stream)
        found.append(stream)
        before = now
    return found

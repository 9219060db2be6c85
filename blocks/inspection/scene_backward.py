"""The same picture backwards: what every number of a pass does to the loss of a training step.

The step asks, after each token, for the one that really comes next. Each move goes from the
gradients of those that read something to the gradient of what they read.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from blocks.inspection.scene import MADE_OF_OTHERS, Making, Scene, kept_names, token_windows
from blocks.inspection.scene_matrix import Matrix, quantized
from blocks.inspection.scene_moves import CROSS, Move, MoveKind, moves
from blocks.model.kinds import Architecture
from blocks.model.models import Model
from blocks.model.normalization import at_least_float32
from blocks.model.probe import Probe, listening
from blocks.model.source_target import SourceTarget
from blocks.observe.recording import Recorder, Recording
from blocks.observe.run import PATTERNS, Input, Run
from blocks.training.loss import cross_entropy
from blocks.training.tasks import IGNORED

MOST_FLOATS = 128 * 2**20  # that a pass keeps for its way back
MOST_WEIGHTS = 16 * 2**20  # whose gradients are found


class Weight(NamedTuple):
    """The weight of the first layer that the loss depends on most; `n`: how many there are."""

    n: int
    value: float
    gradient: float


@dataclass(frozen=True, eq=False)
class Backward(Scene):
    """Gradients in place of the numbers themselves; the moves in the order of the way back.

    `loss`: nats, the mean over the words asked for; `logits`, `targets`: (seq, vocab_size) and
    (seq,), IGNORED where nothing is asked; `weight`: None where a layer has too many.
    """

    loss: float
    logits: Tensor
    targets: Tensor
    weight: Weight | None

    @property
    def n_asked(self) -> int:
        """How many words the loss is the mean of."""
        return int((self.targets != IGNORED).sum())


def can_learn(run: Run) -> bool:
    """Whether a next word is known for some token, of a pass that keeps what its way back needs."""
    config, n = run.config, _last_text(run).shape[1]
    writes = config.architecture in (Architecture.GPT, Architecture.ENCODER_DECODER)
    n_layers = config.n_layers + config.n_decoder_layers
    n_all = max(n, run.input.shape[1])
    each = n_all * (20 * config.d_model + 3 * config.d_ff + 4 * config.n_heads * n_all)
    fits = n_layers * each + n * config.vocab_size <= MOST_FLOATS
    return writes and n > 1 and fits and not (run.interventions or run.training)


def asked_at(run: Run, token: int) -> int:
    """The token that is looked at on the way back: one after which a word is known."""
    n = len(_last_text(run).labels)
    return min(n - 1 if run.has_target else token, n - 2)


def _last_text(run: Run) -> Input:
    return run.target_or_start if run.has_target else run.input


def backward(
    run: Run, model: Model, opened: frozenset[str], token: int, first: int = 0
) -> Backward:
    """Pass through the model, ask for the next words, and go back; the model stays as it is."""
    windows = token_windows(run, token)
    kept = Kept({*kept_names(run, opened), *PATTERNS, "scores", f"{CROSS}scores", "head_out"}, {})
    with torch.enable_grad(), listening(kept):
        logits = model(run.values(), run.build_mask())
        targets = next_words(run).to(logits.device)
        loss = cross_entropy(logits, targets)
    there = {path: x for path, x in kept.tensors.items() if x.requires_grad}
    own = _first_layer(model)
    found = torch.autograd.grad(loss, [*there.values(), *own], allow_unused=True)
    grads = {path: g for path, g in zip(there, found, strict=False) if g is not None}
    weights = {p: x.detach() for p, x in kept.tensors.items() if p.rpartition(".")[2] in PATTERNS}
    seen = Recording((), torch.empty(0), grads, logits.detach(), 0.0)
    making = _Gradients(run, seen, opened, windows, first)
    forward = [m for m in moves(run.config, opened) if m.kind is not MoveKind.MASK]
    matrices = {m.path: made for m in forward if (made := making.matrix(m))}
    there_too = tuple(m for m in forward if m.path in matrices or m.kind in MADE_OF_OTHERS)
    readings = dict(_sent_back(weights, grads, making))
    return Backward(
        *(tuple(_turned(there_too, forward)), matrices, readings, opened, windows, seen),
        float(loss.detach()),
        logits[0].detach(),
        targets[0],
        _most_moved(own, found[len(there) :]),
    )


def _first_layer(model: Model) -> list[Tensor]:
    """The matrices of its weights; none where they are too many."""
    starts = ("layers.0.", "encoder.layers.0.")
    own = (x for name, x in model.named_parameters() if name.startswith(starts))
    found: list[Tensor] = [x for x in own if x.requires_grad and x.ndim > 1]
    return found if sum(x.numel() for x in found) <= MOST_WEIGHTS else []


def _most_moved(weights: Collection[Tensor], grads: Collection[Tensor | None]) -> Weight | None:
    pairs = [(x, g) for x, g in zip(weights, grads, strict=True) if g is not None]
    if not pairs:
        return None
    x, g = max(pairs, key=lambda pair: float(pair[1].abs().max()))
    at = int(g.abs().argmax())
    n = sum(each.numel() for each in weights)
    return Weight(n, float(x.detach().flatten()[at]), float(g.flatten()[at]))


def next_words(run: Run) -> Tensor:
    """After each token the one that comes: (1, seq), IGNORED after the last and on padding."""
    ids = run.values()
    ids = ids.target if isinstance(ids, SourceTarget) else ids
    targets = torch.full_like(ids, IGNORED)
    targets[:, :-1] = ids[:, 1:]
    is_token = _last_text(run).is_token().to(ids.device)
    there = is_token.clone()
    there[:, :-1] &= is_token[:, 1:]
    return targets.masked_fill(~there, IGNORED)


class Kept(Recorder):
    """Keeps what passes as parts of the graph, so that the way back reaches them."""

    def see(self, probe: Probe, x: Tensor) -> Tensor:
        """The first that passes begins the graph, whatever is learned of the model."""
        if not x.is_floating_point():
            return x
        if not x.requires_grad:
            x = x.detach().requires_grad_()
        if self.keeps(probe.path):
            self.tensors[probe.path] = x
        return x


@dataclass(frozen=True, eq=False)
class _Gradients(Making):
    """Of pairs the gradients as they are, gray where the mask forbids."""

    def scores(self, move: Move) -> Matrix | None:
        """With respect to each score."""
        return self.of_pairs(move)

    def weights(self, move: Move) -> Matrix | None:
        """With respect to each weight."""
        return self.of_pairs(move)

    def of_pairs(self, move: Move) -> Matrix | None:
        found = self.seen.tensors.get(move.path)
        if found is None:
            return None
        hidden = self.hidden(move, found[0, :1].shape)
        queries, keys = self.pairs(move)
        drawn = found[0][:, self.windows[queries], self.windows[keys]]
        return quantized(drawn, hidden, of=found.shape[-1], rows=queries, columns=keys)


def _turned(there: Collection[Move], forward: Collection[Move]) -> Iterator[Move]:
    """Each reads the gradients of what had read it; the last of them is told first.

    What has no gradient of its own hands on those of what it had read.
    """
    known, every = {move.path for move in there}, {move.path: move for move in forward}

    def read_by(move: Move) -> Iterator[str]:
        for path in move.reads:
            yield from [path] if path in known or path not in every else read_by(every[path])

    readers: dict[str, list[str]] = {}
    for move in there:
        for path in dict.fromkeys(read_by(move)):
            readers.setdefault(path, []).insert(0, move.path)
    for move in reversed([*there]):
        yield replace(move, reads=tuple(readers.get(move.path, ())))


def parts_at(seen: Scene, move: Move) -> tuple[Tensor, Tensor] | None:
    """The gradient of a stream that two read: what comes straight from the sum, and what else.

    (seq, d_model) each; None where the gradient comes one way alone.
    """
    sums = [m for m in seen.moves if m.path in move.reads and m.kind is MoveKind.ADD]
    grads = seen.seen.tensors
    if not sums or len(move.reads) < 2 or sums[0].path not in grads or move.path not in grads:
        return None
    straight = grads[sums[0].path][0]
    return straight, grads[move.path][0] - straight


def _sent_back(
    weights: dict[str, Tensor], grads: dict[str, Tensor], making: Making
) -> Iterator[tuple[str, Matrix]]:
    """How much gradient each query sends each key through its value: Σ over heads A · ‖dL/do‖."""
    for path, weight in weights.items():
        start, _, name = path.rpartition(".")
        cross = CROSS if name.startswith(CROSS) else ""
        of_heads = grads.get(f"{start}.{cross}head_out")
        if of_heads is None:
            continue
        stack = start.rpartition("layers.")[0].rstrip(".")
        keys = "encoder" if cross else stack
        sizes = at_least_float32(of_heads[0]).norm(dim=-1)[..., None]
        drawn = (at_least_float32(weight[0]) * sizes).sum(0, keepdim=True)
        drawn = drawn[:, making.windows[stack], making.windows[keys]]
        strong = float(drawn.max()) or 1.0
        made = quantized(drawn, of=weight.shape[-1], rows=stack, columns=keys, strong=strong)
        yield f"{start}.{cross}reading", made

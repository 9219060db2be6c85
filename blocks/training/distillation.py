"""What a teacher adds to the loss of a student: its answers, its streams, its attention.

Hinton et al. 2015, "Distilling the Knowledge in a Neural Network": beside the right answer the
student learns all probabilities that the teacher gives, softened by a temperature. Hidden states
beside them: Romero et al. 2015 (FitNets); in all layers, by a map of layers: Jiao et al. 2020
(TinyBERT). Attention: Wang et al. 2020 (MiniLM, MiniLMv2).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from math import gcd
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from blocks.model.attention import join_heads, split_heads
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture
from blocks.model.masks import causal
from blocks.model.probe import Probe, listening
from blocks.model.randomness import generator
from blocks.model.source_target import SourceTargetMask
from blocks.training.loss import cross_entropy
from blocks.training.spec import TrainingSpec
from blocks.training.task import IGNORED, Batch
from blocks.training.teaching import Distillation, Teaching

SMALLEST = 1e-30
"""Below it a probability counts as so much: 0 · log 0 is 0, and no gradient overflows."""
LOWEST = torch.finfo(torch.float32).min
RELATED = ("q", "k", "v")


class Pair(NamedTuple):
    """A layer of the student and the layer of the teacher that it learns from, by their paths."""

    student: str
    teacher: str

    @property
    def stack(self) -> str:
        """The half of an encoder–decoder in which both are; empty elsewhere."""
        return self.student.rpartition("layers.")[0].rstrip(".")


def layer_map(n_student: int, n_teacher: int) -> tuple[int, ...]:
    """For each layer of the student one of the teacher, both from 0, evenly; the last for the last.

    g(m) = m · N / M, counted from 1 and rounded down (Jiao et al. 2020, "uniform").
    """
    return tuple(max(1, m * n_teacher // n_student) - 1 for m in range(1, n_student + 1))


def layer_pairs(student: ModelConfig, teacher: ModelConfig) -> tuple[Pair, ...]:
    """Which layer learns from which; of an encoder–decoder in each half."""
    depths = {"": (student.n_layers, teacher.n_layers)}
    if student.architecture is Architecture.ENCODER_DECODER:
        own, other = student.n_decoder_layers, teacher.n_decoder_layers
        depths = {"encoder.": depths[""], "decoder.": (own, other)}
    return tuple(
        Pair(f"{stack}layers.{i}", f"{stack}layers.{j}")
        for stack, depth in depths.items()
        for i, j in enumerate(layer_map(*depth))
    )


def distillation_loss(
    logits: Tensor,
    teacher_logits: Tensor,
    targets: Tensor,
    how: Distillation,
    *,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Labels and the teacher's answers in the loss of `Distillation`, a mean over tokens, in nats.

    Logits (batch, seq, vocab_size), targets (batch, seq), IGNORED where nothing is asked. T² keeps
    the gradient of the teacher's part as large at every temperature.
    """
    asked, t = targets != IGNORED, how.temperature
    ours, theirs = ((each[asked].float() / t).log_softmax(-1) for each in (logits, teacher_logits))
    soft = F.kl_div(ours, theirs, reduction="batchmean", log_target=True) * t**2
    hard = cross_entropy(logits, targets, label_smoothing=label_smoothing)
    return (1 - how.teacher_share) * hard + how.teacher_share * soft


def hidden_loss(stream: Tensor, teacher: Tensor, is_token: Tensor) -> Tensor:
    """The squared distance of two streams, (batch, seq, d_model), over the teacher's square.

    0 where they are equal, 1 where the student's is nothing. Jiao et al. 2020, section 3, divided
    by the mean square: so a weight means the same in every layer. `is_token`: (batch, seq).
    """
    ours, theirs = stream[is_token].float(), teacher[is_token].float()
    return (ours - theirs).square().sum() / theirs.square().sum().clamp(min=SMALLEST)


def attention_loss(pattern: Tensor, teacher: Tensor, is_query: Tensor) -> Tensor:
    """KL(teacher ‖ student) of attention weights, a mean over heads and queries, in nats.

    Both (batch, n_heads, query, key), `is_query` (batch, query). Wang et al. 2020, section 3.1.
    """
    ours, theirs = (each.float().clamp(min=SMALLEST).log() for each in (pattern, teacher))
    rows = (teacher.float() * (theirs - ours)).sum(-1)  # (batch, n_heads, query)
    return rows.transpose(1, 2)[is_query].mean()


def relation(x: Tensor, n_heads: int, mask: Tensor | None) -> Tensor:
    """Which tokens are alike: softmax(XXᵀ/√d) in each of `n_heads`, (batch, n_heads, query, key).

    Queries, keys or values of all heads, (batch, heads, seq, d_head), side by side and cut anew,
    so that models with other heads can be compared (Wang et al. 2020, MiniLMv2, section 3).
    """
    parts = split_heads(join_heads(x.float()), n_heads)
    scores = parts @ parts.mT * parts.shape[-1] ** -0.5
    return (scores if mask is None else scores.masked_fill(~mask, LOWEST)).softmax(-1)


def n_relation_heads(student: Tensor, teacher: Tensor) -> int:
    """Into how many heads both can be cut: at most as many as the teacher has."""
    shared = gcd(*(each.shape[1] * each.shape[3] for each in (student, teacher)))
    return max(n for n in range(1, teacher.shape[1] + 1) if shared % n == 0)


class Guidance(nn.Module):
    """What a teacher adds to a training: it hears what passes in both models, and has the loss.

    Its parameters are maps from the student's stream to the teacher's, one a pair of layers, where
    these differ in width: they learn with the student, and its file does not have them.
    """

    def __init__(self, spec: TrainingSpec, teaching: Teaching):
        super().__init__()
        self.how, self.student, teacher = teaching.how, spec.config, teaching.teacher
        self.pairs = layer_pairs(spec.config, teacher.config)
        self.held = (teacher.model(spec.device),)  # held, not owned: nothing of it is learned
        self.maps = nn.ParameterList(_maps(spec, teaching, len(self.pairs)))
        self.own, self.others = (_Ears(self._paths(side)) for side in Pair._fields)

    def listens(self) -> AbstractContextManager[None]:
        """While the student reads: note what is compared."""
        return listening(self.own)

    def loss(self, logits: Tensor, batch: Batch, *, label_smoothing: float = 0.0) -> Tensor:
        """The loss of `Distillation` for a batch that the student has read, in nats."""
        with torch.no_grad(), listening(self.others):
            said = self.held[0](*batch.read)
        loss = distillation_loss(
            logits, said, batch.targets, self.how, label_smoothing=label_smoothing
        )
        for weight, terms in (
            (self.how.hidden_weight, self.hidden_terms),
            (self.how.attention_weight, self.attention_terms),
        ):
            if weight:
                loss = loss + weight * torch.stack([*terms(batch)]).mean()
        self.own.heard.clear()  # it holds the graph
        return loss

    def hidden_terms(self, batch: Batch) -> Iterator[Tensor]:
        """Return `hidden_loss` at the end of each pair of layers."""
        for i, pair in enumerate(self.pairs):
            ours, theirs = self._heard(pair, "resid_post")
            mapped = ours.float() @ self.maps[i].T if len(self.maps) else ours
            yield hidden_loss(mapped, theirs, holds_token(self._mask(batch, pair, ours), ours))

    def attention_terms(self, batch: Batch) -> Iterator[Tensor]:
        """`attention_loss` of each pair of layers; or of what is related in the last of a stack."""
        for pair in self.pairs if self.how.compares_heads else self._last_pairs():
            stream = self._heard(pair, "resid_post")[0]
            mask = self._mask(batch, pair, stream)
            for ours, theirs in self._compared(pair, mask):
                yield attention_loss(ours, theirs, holds_token(mask, stream))

    def _compared(self, pair: Pair, mask: Tensor | None) -> Iterator[tuple[Tensor, Tensor]]:
        """Patterns of both models, or relations, each (batch, heads, query, key)."""
        if self.how.compares_heads:
            names = ("pattern", "cross_pattern") if pair.stack == "decoder" else ("pattern",)
            yield from (self._heard(pair, name) for name in names)
            return
        for name in RELATED:
            ours, theirs = self._heard(pair, name)
            n = n_relation_heads(ours, theirs)
            yield relation(ours, n, mask), relation(theirs, n, mask)

    def _last_pairs(self) -> tuple[Pair, ...]:
        return tuple({pair.stack: pair for pair in self.pairs}.values())

    def _heard(self, pair: Pair, name: str) -> tuple[Tensor, Tensor]:
        own, others = self.own.heard, self.others.heard
        return own[f"{pair.student}.{name}"], others[f"{pair.teacher}.{name}"]

    def _paths(self, side: str) -> frozenset[str]:
        """The probes of one model that are heard."""
        how, names = self.how, {"resid_post"}
        names |= {"pattern", "cross_pattern"} if how.compares_heads else set()
        found = {f"{getattr(pair, side)}.{name}" for pair in self.pairs for name in names}
        if how.compares_relations:
            last = (getattr(pair, side) for pair in self._last_pairs())
            found |= {f"{path}.{name}" for path in last for name in RELATED}
        is_used = how.hidden_weight or how.attention_weight
        return frozenset(found if is_used else ())

    def _mask(self, batch: Batch, pair: Pair, x: Tensor) -> Tensor | None:
        """Who may see whom within the text of this stack; None: all see all."""
        mask = batch.mask
        if isinstance(mask, SourceTargetMask):
            mask = mask.target if pair.stack == "decoder" else mask.source
        is_causal = self.student.architecture is Architecture.GPT or pair.stack == "decoder"
        return causal(x.shape[1], x.device) if mask is None and is_causal else mask


def guidance_flops(student: ModelConfig, teaching: Teaching, n: int) -> int:
    """Count the FLOPs of guidance for a text of `n` tokens beside both models.

    Of a product forward are two more back, but in the teacher.
    """
    teacher, how, flops = teaching.teacher.config, teaching.how, 0
    pairs = layer_pairs(student, teacher)
    if how.hidden_weight and student.d_model != teacher.d_model:
        flops += len(pairs) * 3 * 2 * n * student.d_model * teacher.d_model
    if how.compares_relations:
        widths = 3 * _related_width(student) + _related_width(teacher)
        flops += len({pair.stack for pair in pairs}) * 2 * n**2 * widths
    return flops


def _related_width(config: ModelConfig) -> int:
    return config.n_heads * config.d_qk + config.n_kv_heads * (config.d_qk + config.d_value)


class _Ears:
    """Keeps what passes the probes of these paths."""

    def __init__(self, paths: frozenset[str]):
        self.paths = paths
        self.heard: dict[str, Tensor] = {}

    def wants(self, probe: Probe) -> bool:
        """Whether it is compared."""
        return probe.path in self.paths

    def see(self, probe: Probe, x: Tensor) -> Tensor:
        """Keep it; nothing is changed."""
        if probe.path in self.paths:
            self.heard[probe.path] = x
        return x

    def offered(self, probe: Probe, later: object) -> None:
        """Weights are compared as they pass, or not at all."""


def holds_token(mask: Tensor | None, x: Tensor) -> Tensor:
    """Which places hold a token, no filler: those that some query may see; (batch, seq)."""
    if mask is None:
        return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    return mask.any(-2).reshape(-1, x.shape[1]).expand(x.shape[:2])


def _maps(spec: TrainingSpec, teaching: Teaching, n: int) -> list[Tensor]:
    """Drawn from the seed, so that a stream of RMS 1 stays one; none where widths are equal."""
    ours, theirs = spec.config.d_model, teaching.teacher.config.d_model
    if ours == theirs or not teaching.how.hidden_weight:
        return []
    random = generator(spec.seed, "maps")
    drawn = [torch.randn(theirs, ours, generator=random) * ours**-0.5 for _ in range(n)]
    return [each.to(spec.device) for each in drawn]

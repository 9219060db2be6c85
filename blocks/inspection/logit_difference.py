"""What speaks for one answer against another: which heads and layers make the difference.

The logit difference of two tokens is the log of the ratio of their probabilities. The stream that
is unembedded is a sum of what every head and sub-layer wrote, so with the scale of the final norm
frozen the difference is a sum too: direct logit attribution. Elhage et al. 2021; Wang et al. 2022.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from blocks.inspection.contribution_graph import linear
from blocks.inspection.head_steps import out_weight
from blocks.model.attention import Attention
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, NormPlacement
from blocks.model.layers import ParallelLayer
from blocks.model.models import Encoder
from blocks.model.multiplier import times
from blocks.model.normalization import at_least_float32
from blocks.observe.interventions import (
    Intervention,
    InterventionKind,
    Part,
    heads_of,
    part_choices,
)
from blocks.observe.recording import record
from blocks.observe.run import Run

METHODS = ("direct", "ablation", "patching")
LITTLE = 0.005  # less than that is told as 0


@dataclass(frozen=True, eq=False)
class Direct:
    """What each part adds to the logits of A and B, the final norm's scale frozen.

    `answers`: (A and B, part), less what the part adds to the mean logit of the vocabulary, which
    changes no probability; in the order of `heads_of`, NaN where a layer has no heads; whole
    attention holds its heads and its bias. Of A less B: `embedding`, what the stream begins with;
    `constant`, biases at the end; `difference`, both and all whole parts together, before a cap on
    the logits.
    """

    answers: np.ndarray
    embedding: float
    constant: float
    difference: float

    @property
    def parts(self) -> np.ndarray:
        """What each part adds to the logit of A less that of B."""
        found: np.ndarray = self.answers[0] - self.answers[1]
        return found


@dataclass(frozen=True, eq=False)
class AnswerFacts:
    """Two answers (token ids) after a position, and what each part is worth for A against B.

    `labels`, `logits`, `probabilities`: of A and B. `answers`: (A and B, part), in the order of
    `heads_of`, as many as are measured: what a part adds (`direct`), or by how much the logit, less
    the mean of the vocabulary, falls where the part writes nothing (`ablation`) or what it wrote
    for another text (`patching`); `effects`: the same of their difference. `direct`: the first
    in any case, None where the stream is no plain sum; `other`: the difference in the other text,
    None where none is read.
    """

    run: Run
    position: int
    labels: tuple[str, str]
    logits: tuple[float, float]
    probabilities: tuple[float, float]
    method: str
    answers: np.ndarray
    direct: Direct | None
    other: float | None

    @property
    def effects(self) -> np.ndarray:
        """What each part is worth for the logit of A less that of B."""
        found: np.ndarray = self.answers[0] - self.answers[1]
        return found

    @property
    def difference(self) -> float:
        """The logit of A less that of B."""
        return self.logits[0] - self.logits[1]

    @property
    def size(self) -> float:
        """Of the difference, whoever is ahead."""
        return abs(self.difference)

    def left(self, number: int) -> float:
        """The difference without a part."""
        return float(self.difference - self.effects[number])

    @property
    def n_measured(self) -> int:
        """How many parts are."""
        return self.answers.shape[1]

    def strongest(self, *, is_head: bool, sign: int = 1) -> int | None:
        """The number of the head, or whole part, that does most for A, or (−1) for B, if any."""
        parts = heads_of(self.run.config)[: self.n_measured]
        of_kind = np.array([(part.head is not None) is is_head for part in parts])
        values = np.where(of_kind & ~np.isnan(self.effects), sign * self.effects, -np.inf)
        return int(values.argmax()) if len(values) and values.max() > LITTLE else None

    @property
    def made_up(self) -> np.ndarray:
        """What other parts make up for where each is ablated: self-repair, where above 0."""
        if self.direct is None:
            return np.full(self.n_measured, np.nan)
        found: np.ndarray = self.direct.parts[: self.n_measured] - self.effects
        return found


def is_a_sum(config: ModelConfig) -> bool:
    """Whether the final stream is a plain sum of what was written, up to norms of each write."""
    placed = config.norm.norm_placement is not NormPlacement.POST
    return config.architecture is Architecture.GPT and config.norm.residual and placed


def direct(run: Run, model: Encoder, position: int, a: int, b: int) -> Direct:
    """Run the model once, and take its logits of two tokens at a position apart."""
    config = run.config
    kept = {"resid_pre", *part_choices(config)}
    seen = record(model, run.values(), mask=run.pass_mask(), keep=kept)

    def at(name: str, layer: int) -> Tensor:
        return at_least_float32(seen.tensor(name, layer)[0, ..., position, :])

    with torch.no_grad():
        rows = model.embed.weight if model.unembed is None else model.unembed.weight
        unembed = times(at_least_float32(rows[[a, b]]) - _mean(rows), model.output_scale)
        end = at("resid_post", config.n_layers - 1)
        final = linear(model.final_norm, end)

        def passed(norm: nn.Module, x: Tensor) -> Tensor:
            """Through a norm, in the number format of its weights."""
            return at_least_float32(norm(x.to(rows.dtype)))

        def adds(written: Tensor) -> Tensor:
            """What a part of the stream adds to the logits: (…, d_model) to (…, A and B)."""
            return final(written) @ unembed.T

        constant = passed(model.final_norm, end) @ unembed.T - adds(end)
        if model.unembed_bias is not None:
            constant = constant + model.unembed_bias.bias[[a, b]]
        found: dict[tuple[str, int], Tensor] = {}
        for layer, module in enumerate(model.layers):
            writes = [Part.ATTENTION] + [Part.FEED_FORWARD] * (not config.attention_only)
            for part in writes:
                norm, write = _norm_of_write(module, part), at(part, layer)
                found[part, layer] = adds(passed(norm, write))
                if part is Part.ATTENTION and config.attends_in(layer):
                    weight = out_weight(cast(Attention, module.attention))
                    each = torch.einsum("hd,hdm->hm", at("head_out", layer), weight)
                    found[Part.HEAD, layer] = adds(linear(norm, write)(each))
        start = adds(at("resid_pre", 0))
    parts = [_worth(found, part) for part in heads_of(config)]
    whole = [value for (part, _layer), value in found.items() if part is not Part.HEAD]
    ends = [float(value[0] - value[1]) for value in (start, constant)]
    difference = sum(ends) + sum(float(value[0] - value[1]) for value in whole)
    return Direct(np.array(parts).T, ends[0], ends[1], difference)


def centered(logits: Tensor) -> Tensor:
    """Less their mean over the vocabulary, the last dimension: the probabilities stay."""
    return logits.float() - logits.float().mean(-1, keepdim=True)


def _mean(rows: Tensor) -> Tensor:
    """Of all rows, a few thousand at a time in float32: (d_model,)."""
    sums = [at_least_float32(some).sum(0) for some in rows.split(4096)]
    return torch.stack(sums).sum(0) / len(rows)


def _worth(found: dict[tuple[str, int], Tensor], part: Intervention) -> list[float]:
    """For A and for B."""
    value = found.get((part.part, part.layer))
    if value is None:
        return [float("nan")] * 2
    pair: list[float] = (value if part.head is None else value[part.head]).tolist()
    return pair


def _norm_of_write(layer: nn.Module, part: Part) -> nn.Module:
    """What normalizes a write before it is added, where something does."""
    if isinstance(layer, ParallelLayer):
        return nn.Identity()
    name = "attention_residual" if part is Part.ATTENTION else "feed_forward_residual"
    return getattr(getattr(layer, name), "out_norm", nn.Identity())


def changes_of(config: ModelConfig, method: str) -> tuple[Intervention, ...]:
    """Every head and whole part, switched off or patched alone."""
    is_patch = method == "patching"
    kind = InterventionKind.PATCH if is_patch else InterventionKind.ZERO
    return tuple(
        Intervention(part=each.part, layer=each.layer, head=each.head, kind=kind, stack=each.stack)
        for each in heads_of(config)
    )


def swapped(token_ids: Sequence[int], a: int, b: int) -> list[int]:
    """The same text with A for B and B for A."""
    return [{a: b, b: a}.get(token_id, token_id) for token_id in token_ids]

"""The backward pass through the softmax of one head: from the loss to each score of a row.

L = −ln P(the token after the query). With A = softmax(S) along the row and out = Σ A · v:

    ∂L/∂A = (∂L/∂out) · v,    ∂L/∂S = A · (∂L/∂A − Σ A · ∂L/∂A)

The second line is the Jacobian of softmax, diag(A) − A Aᵀ, times ∂L/∂A (Dao et al. 2022,
"FlashAttention", appendix B).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from blocks.inspection.head_steps import Array, HeadSteps, Products, products
from blocks.model.kinds import Architecture
from blocks.model.models import Model
from blocks.model.probe import listening
from blocks.observe.recording import Recorder
from blocks.observe.run import Run

MOST_TOKENS = 512


@dataclass(frozen=True, eq=False)
class ScoreGradient:
    """What the loss after one query says to the scores of its row in one head.

    `target`: the token id that the loss asks for, the next one of the text where `is_in_text`, else
    the likeliest. `weights` A, 0 where masked, `of_weights` ∂L/∂A, `of_scores` ∂L/∂S by the formula
    and `autograd` as PyTorch finds it: (key,). `of_out`: ∂L/∂out, (d_head,), of what the weights
    make of the `values`, (key, d_head).
    """

    run: Run
    layer: int
    head: int
    query: int
    key: int
    loss: float
    target: int
    is_in_text: bool
    weights: Array
    values: Array
    of_out: Array
    of_weights: Array
    of_scores: Array
    autograd: Array

    @property
    def has_sink(self) -> bool:
        """Whether a learned sink takes part of the weight: gradients then sum to no 0."""
        return self.run.config.attention.attention_sink

    @property
    def mean(self) -> Products:
        """Σ A · ∂L/∂A over the row, the largest weights first."""
        return products(self.weights, self.of_weights, largest_first=True)

    @property
    def product(self) -> Products:
        """∂L/∂A of the key: ∂L/∂out times its value."""
        return products(self.of_out, self.values[self.key])

    @property
    def raised(self) -> int:
        """The key whose score the loss would raise most."""
        return int(self.of_scores.argmin())

    @property
    def lowered(self) -> int:
        """The key whose score it would lower most."""
        return int(self.of_scores.argmax())


def can_go_back(run: Run) -> bool:
    """Whether a run says what comes next, of a text that is not too long, with nothing changed."""
    is_plain = not (run.training or run.interventions)
    is_short = len(run.input.labels) <= MOST_TOKENS
    return run.config.architecture is Architecture.GPT and is_plain and is_short


def of_softmax(weights: Array, of_weights: Array) -> Array:
    """∂L/∂S of one row from its weights A and ∂L/∂A."""
    return weights * (of_weights - weights @ of_weights)


def score_gradient(
    run: Run,
    model: Model,
    steps: HeadSteps,
    layer: int,
    head: int,
    query: int,
    key: int | None = None,
) -> ScoreGradient:
    """Run `model` once more, and go back from the loss to the row of one head.

    Without a `key`, the one of the largest gradient is written out.
    """
    at = {name: f"layers.{layer}.{name}" for name in ("scores", "pattern", "head_out")}
    recorder = Recorder(at.values(), {at["scores"]: lambda x: x.detach().requires_grad_()})
    with torch.enable_grad(), listening(recorder):
        logits = model(run.values()[:1], run.pass_mask())[0, query].float()
        target, is_in_text = _target(run, query, logits)
        loss = -logits.log_softmax(-1)[target]
        seen = [recorder.tensors[path] for path in at.values()]
        of_scores, of_pattern, of_out = torch.autograd.grad(loss, seen)
    if (gate := steps.layer.gate) is not None:  # ∂L/∂out before the gate
        of_out = of_out * gate
    weights = np.nan_to_num(steps.pattern[query])
    of_weights = _row(of_pattern, head, query)
    row = of_softmax(weights, of_weights)
    return ScoreGradient(
        run=run,
        layer=layer,
        head=head,
        query=query,
        key=int(np.abs(row).argmax()) if key is None else key,
        loss=float(loss.detach()),
        target=target,
        is_in_text=is_in_text,
        weights=weights,
        values=steps.v,
        of_out=_row(of_out, head, query),
        of_weights=of_weights,
        of_scores=row,
        autograd=_row(of_scores, head, query),
    )


def _target(run: Run, query: int, logits: Tensor) -> tuple[int, bool]:
    """The token after the query, and whether the text has one; else the likeliest."""
    is_token, after = run.input.is_token()[0], query + 1
    if after < len(is_token) and is_token[query] and is_token[after]:
        return run.input.padded_ids[after], True
    return int(logits.argmax()), False


def _row(x: Tensor, head: int, query: int) -> Array:
    return x[0, head, query].cpu().double().numpy()

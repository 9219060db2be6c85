"""How good a model is on what it has never seen, and what it writes."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from blocks.model.randomness import generator
from blocks.training.ahead import all_logits
from blocks.training.events import Sample
from blocks.training.loss import cross_entropy
from blocks.training.next_token import NextTokenTask
from blocks.training.pairs import PairTask
from blocks.training.questions import QuestionTask
from blocks.training.sample import answers, continued
from blocks.training.spec import TrainingSpec
from blocks.training.task import Batch, LogitsOf
from blocks.training.tasks import IGNORED, Task
from blocks.training.writer import Writer


class Examiner:
    """Asks the same held-out questions each time, so that two answers can be compared."""

    def __init__(self, spec: TrainingSpec, task: Task):
        self.spec, self.task = spec, task
        random = generator(spec.seed, "held_out")
        self.batches = [
            task.held_out(spec.recipe.batch_size, random).to(spec.device)
            for _ in range(spec.recipe.n_eval_batches)
        ]

    def held_out_loss(self, model: nn.Module, n_batches: int | None = None) -> float:
        """Mean cross entropy over all tokens asked for, in nats, without label smoothing.

        Over the first `n_batches`, or all.
        """
        (loss,) = self._losses(lambda batch: (model(*batch.read),), n_batches)
        return loss

    def held_out_losses(self, model: nn.Module) -> tuple[float, ...]:
        """The `held_out_loss`, and the same of each module that predicts further ahead."""
        return self._losses(partial(all_logits, model))

    @torch.no_grad()
    def _losses(
        self, logits_of: Callable[[Batch], Sequence[Tensor]], n_batches: int | None = None
    ) -> tuple[float, ...]:
        """Of all logits of a batch: those of the next token, then those of tokens further ahead."""
        found = [
            [_asked(logits, batch.targets[:, k:]) for k, logits in enumerate(logits_of(batch))]
            for batch in self.batches[:n_batches]
        ]
        return tuple(map(_mean, zip(*found, strict=True)))

    def score(self, model: nn.Module) -> float:
        """What the task measures, see its `score_name`."""
        return self.task.score(self.logits_of(model), generator(self.spec.seed, "score"))

    def sample(self, model: nn.Module, step: int) -> Sample | None:
        """What the model writes now; None where the task is not one of writing."""
        if isinstance(self.task, PairTask):
            return Sample(step, "", answers(model, self.spec.config, self.task))
        if isinstance(self.task, QuestionTask):
            return Sample(step, "", self.task.answered(self.logits_of(model)))
        text = self._written_on(model, step)
        return None if text is None else Sample(step, text)

    def _written_on(self, model: nn.Module, step: int) -> str | None:
        prompt = self.task.prompt()
        if prompt is None:
            return None
        random = generator(self.spec.seed, "sample", str(step))
        n = self.task.seq_len + 1  # a whole row reads one token less than it has
        logits_of: LogitsOf = self.logits_of(model)
        if isinstance(self.task, NextTokenTask):
            logits_of = self.task.read_by(logits_of)
        token_ids = continued(logits_of, prompt, seq_len=n, random=random)
        return self.task.tokenizer.decode(token_ids)

    def logits_of(self, model: nn.Module) -> Writer:
        """The model as a function: ids (batch, seq) to logits, float32 on the CPU."""
        return Writer(model, self.spec.device)


def _asked(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Cross entropy of all tokens asked for, in nats, and how many they are."""
    return cross_entropy(logits, targets, reduction="sum"), (targets != IGNORED).sum()


def _mean(found: Sequence[tuple[Tensor, Tensor]]) -> float:
    sums, asked = zip(*found, strict=True)
    return float(torch.stack(sums).sum() / torch.stack(asked).sum())

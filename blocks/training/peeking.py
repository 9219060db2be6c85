"""One GPT trained twice on the same stories, with its causal mask and without it.

Without the mask the next token stands there to be copied, so the loss falls to nothing; nothing is
there to copy where the model writes. Weights, batches and recipe are the same.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean
from typing import cast

import pandas as pd
import torch
from torch.nn import functional as F  # noqa: N812

from blocks.corpora.stories import Language
from blocks.model.config import ModelConfig
from blocks.model.kinds import Architecture, Initialization, PositionKind
from blocks.model.randomness import generator
from blocks.training.events import Evaluation
from blocks.training.loop import Training
from blocks.training.next_token import StoryTask
from blocks.training.pace import measured_pace
from blocks.training.racer import Race, Racer
from blocks.training.recipe import RECIPES
from blocks.training.recorded import Learned, Look
from blocks.training.sample import continued
from blocks.training.spec import TrainingSpec
from blocks.training.task import LogitsOf
from blocks.training.tasks import TaskConfig, TaskKind, build_task

N_UPDATES, LOOK_EVERY = 120, 20
SEQ_LEN, N_ROWS = 64, 16
N_WRITTEN, N_LAST = 48, 10
LENGTHS = range(4, SEQ_LEN + 1, 4)
"""How many tokens of a text may be read where the next one is to be written."""
RECIPE = RECIPES["fast"].replace(
    n_steps=N_UPDATES, batch_size=N_ROWS, n_eval_batches=1, eval_every=LOOK_EVERY
)
SIZES = {
    "architecture": Architecture.GPT,
    "n_layers": 2,
    "d_model": 64,
    "n_heads": 4,
    "max_seq_len": SEQ_LEN,
    "dropout": 0.0,
    "position_kind": PositionKind.ROPE,
    "initialization": Initialization.NORMAL,
}
PROMPTS = {Language.ENGLISH: " Once there was a", Language.CHINESE: "从前，"}


@dataclass(frozen=True)
class Peeking:
    """Both trainings after equally many updates, the last few training losses as their mean.

    `curves`: model, update (from 1), loss in training; `writing`: model, update, loss where no
    later token is there, at each look; `guess`: the loss of guessing. All in nats.
    """

    n_updates: int
    masked_loss: float
    peeking_loss: float
    masked: Look
    peeking: Look
    curves: pd.DataFrame
    writing: pd.DataFrame
    guess: float

    @property
    def is_cheating(self) -> bool:
        """Whether the one without a mask learns better and writes worse."""
        is_better = self.peeking_loss < self.masked_loss / 2
        return is_better and self.peeking.loss > self.masked.loss


def peeking_spec(
    language: Language, *, sees_ahead: bool, seed: int = 0, device: str = "cpu"
) -> TrainingSpec:
    """A small GPT and its stories in one language, with the causal mask or without it."""
    task = TaskConfig(
        kind=TaskKind.STORIES, seq_len=SEQ_LEN, language=language, sees_ahead=sees_ahead
    )
    config = ModelConfig.from_flat({**SIZES, "vocab_size": build_task(task).vocab_size})
    return TrainingSpec(config=config, task=task, recipe=RECIPE, seed=seed, device=device)


def learner(spec: TrainingSpec, *, budget: int | None = None) -> Racer[Look]:
    """The training of a spec, looked at where it must write."""
    return Racer(spec, look, budget=budget)


class PeekingRace(Race):
    """Both trainings side by side, each looked at where it must write."""

    def racer(self, spec: TrainingSpec) -> Racer[Look]:
        """One of them. Raises `ConfigError` beyond the budget."""
        return learner(spec, budget=self.budget)

    def looks(self, racer: Racer[Look], n_updates: int) -> tuple[Look, ...]:
        """Return what was seen so far."""
        return racer.looks(n_updates)


def learned(racer: Racer[Look], n_updates: int) -> Learned:
    """Train until so many updates are made, and tell what was seen. `ConfigError` as `Racer`."""
    return Learned(racer.losses(n_updates), racer.looks(n_updates))


def measured_seconds(spec: TrainingSpec) -> float:
    """About how long one training takes here: a few of its updates and one look, timed."""
    update = measured_pace(spec).update
    began = time.perf_counter()
    learner(spec).looks(0)
    n_looks = 1 + spec.recipe.n_steps // spec.recipe.steps_between_evaluations
    return spec.recipe.n_steps * update + n_looks * (time.perf_counter() - began)


def compared(masked: Learned, peeking: Learned, vocab_size: int) -> Peeking:
    """What one says about the other."""
    both = {"masked": masked, "peeking": peeking}
    curves = [
        pd.DataFrame({"model": name, "update": range(1, len(each.losses) + 1), "loss": each.losses})
        for name, each in both.items()
    ]
    looks = [(name, look.step, look.loss) for name, each in both.items() for look in each.looks]
    n = min(len(masked.losses), len(peeking.losses))
    return Peeking(
        n_updates=n,
        masked_loss=fmean(masked.losses[max(0, n - N_LAST) : n]),
        peeking_loss=fmean(peeking.losses[max(0, n - N_LAST) : n]),
        masked=_latest(masked.looks, n),
        peeking=_latest(peeking.looks, n),
        curves=pd.concat(curves),
        writing=pd.DataFrame(looks, columns=["model", "update", "loss"]),
        guess=log(vocab_size),
    )


def _latest(looks: Sequence[Look], n_updates: int) -> Look:
    return [each for each in looks if each.step <= n_updates][-1]


def look(training: Training, found: Evaluation) -> Look:
    """How well it writes now, and what, under the mask that it is trained with."""
    task = cast(StoryTask, training.task)
    logits_of = task.read_by(training.examiner.logits_of(training.model))
    seed = training.spec.seed
    loss = writing_loss(logits_of, task, generator(seed, "writing"))
    text = written(logits_of, task, generator(seed, "sampling"))
    return Look(found.step, loss, found.score, text)


def writing_loss(logits_of: LogitsOf, task: StoryTask, random: torch.Generator) -> float:
    """Cross entropy of the token after held-out texts of several lengths, each cut off there."""
    batch = task.held_out(N_ROWS, random)
    ids, targets = cast(torch.Tensor, batch.token_ids), batch.targets
    losses = [F.cross_entropy(logits_of(ids[:, :n])[:, -1], targets[:, n - 1]) for n in LENGTHS]
    return float(torch.stack(losses).mean())


def written(logits_of: LogitsOf, task: StoryTask, random: torch.Generator) -> str:
    """A story from the prompt of its language on."""
    prompt = [*task.prompt(), *task.tokenizer.encode(PROMPTS[task.language])]
    n = len(prompt) + N_WRITTEN
    token_ids = continued(logits_of, prompt, seq_len=n, random=random)
    return task.tokenizer.decode(token_ids[1:]).strip()

"""The pocket models that ship with us, and how each was trained; `make pocket` retrains them.

    python -m blocks.training.shipped_models [name ...]

The same processor, thread count and version of PyTorch give the same weights; elsewhere they
differ in the last digits, and the scores hardly.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from rich.progress import Progress

from blocks.corpora import translation
from blocks.model import devices
from blocks.model.config import ModelConfig
from blocks.model.faults import N_
from blocks.model.kinds import Architecture, Initialization, PositionKind
from blocks.model.randomness import generator
from blocks.training.events import Evaluation, Step
from blocks.training.induction import TOKENS
from blocks.training.loop import Training
from blocks.training.pairs import PairTask
from blocks.training.recipe import RECIPES, OptimizerKind, Recipe, ScheduleKind
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import Language, TaskConfig, TaskKind
from blocks.training.translating import LONGEST_ROW
from blocks.weights.model_file import Card, ModelFile
from blocks.weights.pocket import FOLDER
from blocks.weights.tensors import read_weights

N_THREADS, N_SCORES = 2, 20
TITLES = {
    TaskKind.STORIES: N_("stories in English and Chinese"),
    TaskKind.INDUCTION: N_("repeated random sequences"),
    TaskKind.SORT: N_("sorting letters"),
    TaskKind.MASKED_WORDS: N_("masked words in stories"),
    TaskKind.TRANSLATION: N_("sentences in English and Chinese"),
}
STORY = {  # a space before the first word, as in the middle of a text
    "en": " Once there was a shy owl called Nora. She had a",
    "zh": "从前，湖边住着一头善良的小牛，名叫乐乐。他最喜欢他的",
}
GAP = {**STORY, "en": STORY["en"].removesuffix(" a")}  # in its middle stands an animal
SENTENCES = {
    "en": "She did not read those two books in the park yesterday.",
    "zh": "那七只黑色的小鸟为什么不喜欢蛋糕？",
}
REPEATED = "kQx7BmZ2wLfP" * 2 + "kQx7B"


@dataclass(frozen=True)
class PocketRecipe:
    """How a pocket model is trained, and a text that shows what it can do."""

    spec: TrainingSpec
    samples: Mapping[str, str]


def _config(architecture: Architecture, **changes: Any) -> ModelConfig:
    """Small, but built as people know it: pre-norm, LayerNorm, GELU, four heads."""
    usual = {
        "architecture": architecture,
        "n_layers": 4,
        "d_model": 128,
        "n_heads": 4,
        "max_seq_len": 128,
        "dropout": 0.0,
        "position_kind": PositionKind.ROPE,
        "initialization": Initialization.NORMAL,
    }
    return ModelConfig.from_flat(usual | changes)


FAST = RECIPES["fast"].replace(
    n_steps=1000, batch_size=16, learning_rate=3e-3, muon_learning_rate=0.02, eval_every=250
)
STEADY = Recipe(
    n_steps=500,
    batch_size=32,
    optimizer=OptimizerKind.ADAMW,
    learning_rate=5e-3,
    schedule=ScheduleKind.CONSTANT,
    warmup_steps=0,
    weight_decay=0.0,
    eval_every=250,
)
POCKET = {
    "stories-en-zh": PocketRecipe(
        TrainingSpec(
            config=_config(Architecture.GPT),
            task=TaskConfig(kind=TaskKind.STORIES, seq_len=128, language=Language.BOTH),
            recipe=FAST,
        ),
        STORY,
    ),
    "stories-mtp": PocketRecipe(
        TrainingSpec(
            config=_config(Architecture.GPT, n_mtp_modules=2, max_seq_len=64),
            task=TaskConfig(kind=TaskKind.STORIES, seq_len=64, language=Language.BOTH),
            recipe=FAST.replace(n_steps=500),
        ),
        STORY,
    ),
    "masked-words": PocketRecipe(
        TrainingSpec(
            config=_config(Architecture.ENCODER),
            task=TaskConfig(kind=TaskKind.MASKED_WORDS, seq_len=96, language=Language.BOTH),
            recipe=FAST,
        ),
        GAP,
    ),
    "induction": PocketRecipe(
        TrainingSpec(
            config=_config(
                Architecture.GPT,
                attention_only=True,
                n_layers=2,
                d_model=64,
                max_seq_len=64,
                vocab_size=TOKENS.vocab_size,
                tie_embeddings=False,
                position_kind=PositionKind.LEARNED,
                initialization=Initialization.PYTORCH,
            ),
            task=TaskConfig(kind=TaskKind.INDUCTION, seq_len=64),
            recipe=STEADY,
        ),
        {"en": REPEATED, "zh": REPEATED},
    ),
    "sort": PocketRecipe(
        TrainingSpec(
            config=_config(
                Architecture.ENCODER,
                n_layers=2,
                d_model=64,
                max_seq_len=12,
                vocab_size=27,
                tie_embeddings=False,
                position_kind=PositionKind.LEARNED,
            ),
            task=TaskConfig(kind=TaskKind.SORT, seq_len=12, architecture=Architecture.ENCODER),
            recipe=FAST.replace(batch_size=64),
        ),
        {"en": "transformers", "zh": "hellosorting"},
    ),
    "translator": PocketRecipe(
        TrainingSpec(
            config=_config(
                Architecture.ENCODER_DECODER,
                n_layers=2,
                max_seq_len=32,
                vocab_size=translation.tokenizer().vocab_size,
            ),
            task=TaskConfig(kind=TaskKind.TRANSLATION, seq_len=LONGEST_ROW),
            recipe=FAST.replace(n_steps=1600, batch_size=64, warmup_steps=50, label_smoothing=0.1),
        ),
        SENTENCES,
    ),
}


def train_pocket(name: str, progress: Progress) -> ModelFile:
    """Train one of them from nothing, and measure it on what it has never seen."""
    recipe = POCKET[name]
    training = Training(recipe.spec)
    bar = progress.add_task(name, total=recipe.spec.recipe.n_steps)
    evaluation = Evaluation(0, float("nan"), float("nan"), 0.0, ())
    for event in training.events():
        if isinstance(event, Step):
            progress.update(bar, completed=event.step)
        if isinstance(event, Evaluation):
            evaluation = event
            progress.update(bar, description=f"{name} · {event.score:.3f}")
    card = Card(
        task=TITLES[recipe.spec.task.kind],
        recipe=recipe.spec.plain(),
        seed=recipe.spec.seed,
        n_steps=evaluation.step,
        seconds=round(evaluation.seconds, 1),
        held_out_loss=evaluation.held_out_loss,
        score=measured_score(training),
        score_name=training.task.score_name,
        samples=recipe.samples,
        group_scores=measured_group_scores(training),
    )
    config, tokenizer = recipe.spec.config, training.task.tokenizer
    return ModelFile(config, tokenizer, card, read_weights(training.model))


def measured_score(training: Training) -> float:
    """The mean over fresh questions, so that a lucky few decide nothing."""
    logits_of = training.examiner.logits_of(training.model)
    return sum(training.task.score(logits_of, draw) for draw in _draws(training)) / N_SCORES


def measured_group_scores(training: Training) -> dict[str, float]:
    """Score each kind of question separately, where the task has several."""
    if not isinstance(training.task, PairTask):
        return {}
    logits_of, task = training.examiner.logits_of(training.model), training.task
    found = pd.DataFrame([task.group_scores(logits_of, draw) for draw in _draws(training)])
    return {str(name): float(share) for name, share in found.mean().items()}


def _draws(training: Training) -> Iterator[torch.Generator]:
    seed = training.spec.seed
    return (generator(seed, "pocket score", str(i)) for i in range(N_SCORES))


def main(names: Sequence[str]) -> None:
    """Train the named models, or all, and put each into its file."""
    torch.set_num_threads(min(N_THREADS, devices.available_cpus()))
    FOLDER.mkdir(parents=True, exist_ok=True)
    with Progress() as progress:
        for name in names or POCKET:
            model = train_pocket(name, progress)
            (FOLDER / f"{name}.safetensors").write_bytes(model.to_bytes())
            if (card := model.card) is not None:
                progress.print(f"{name}: {card.score_name} {card.score:.3f}, {card.seconds} s")


if __name__ == "__main__":
    main(sys.argv[1:])

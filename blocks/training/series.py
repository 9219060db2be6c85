"""Small models that differ in one thing, each trained from several seeds (`make runs`)."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from blocks.model.config import ModelConfig
from blocks.model.shipped import rows_in
from blocks.training.events import Evaluation, Sample
from blocks.training.loop import Training
from blocks.training.recipe import Recipe
from blocks.training.spec import TrainingSpec
from blocks.training.tasks import TaskConfig

DIGITS = 4
Losses = tuple[float, ...]


@dataclass(frozen=True)
class Series:
    """What is trained, on which task and how; `measure` sees a trained model, with its spec.

    `configs` are made when they are asked for. Where nothing more is measured, a run is one number:
    its loss on what was never seen, in nats per token.
    """

    file: Path
    configs: Callable[[], Mapping[str, ModelConfig]]
    task: TaskConfig
    recipe: Recipe
    seeds: tuple[int, ...]
    measure: Callable[[nn.Module, TrainingSpec], Losses] | None = None

    def spec_of(self, config: ModelConfig, seed: int) -> TrainingSpec:
        """One training of one model."""
        return TrainingSpec(config=config, task=self.task, recipe=self.recipe, seed=seed)

    def trained(self) -> Iterator[dict[str, Any]]:
        """Train every model from every seed: rows of the file."""
        for name, config in self.configs().items():
            for seed in self.seeds:
                spec = self.spec_of(config, seed)
                found, text = self._learned(spec)
                losses = [round(loss, DIGITS) for loss in found]
                print(name, seed, *losses, flush=True)
                said = text if seed == self.seeds[0] else ""
                yield {"name": name, "spec": spec.plain(), "losses": losses, "text": said}

    def _learned(self, spec: TrainingSpec) -> tuple[Losses, str]:
        """Train one: its losses, NaN where it diverged, and what it writes at the end."""
        training, loss, text = Training(spec), float("nan"), ""
        for event in training.events():
            if isinstance(event, Evaluation) and event.step == spec.recipe.n_steps:
                loss = event.held_out_loss
            elif isinstance(event, Sample):
                text = event.text
        return self.measure(training.model, spec) if self.measure else (loss,), text

    def write(self) -> None:
        """Train all, and put them into the file, one run a line."""
        rows = [json.dumps(row, separators=(",", ":")) for row in self.trained()]
        self.file.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf-8")

    def learned(self) -> dict[str, tuple[Losses, ...]]:
        """What each seed of each model came to, as it ships.

        Runs whose configuration or recipe is no longer that of the series are left out.
        """
        rows = rows_in(self.file)
        known = {TrainingSpec.from_plain(row["spec"]): tuple(row["losses"]) for row in rows}
        wanted = {
            name: [self.spec_of(config, seed) for seed in self.seeds]
            for name, config in self.configs().items()
        }
        return {
            name: tuple(known[spec] for spec in specs if spec in known)
            for name, specs in wanted.items()
        }

    def texts(self) -> dict[str, str]:
        """What each model of the first seed wrote when it was trained, where the file holds it."""
        rows = {TrainingSpec.from_plain(row["spec"]): row for row in rows_in(self.file)}
        specs = {name: self.spec_of(each, self.seeds[0]) for name, each in self.configs().items()}
        return {name: rows.get(spec, {}).get("text", "") for name, spec in specs.items()}

    def complete(self) -> dict[str, tuple[Losses, ...]] | None:
        """What is `learned`; None where a run of a model does not ship."""
        runs = self.learned()
        return None if any(len(each) < len(self.seeds) for each in runs.values()) else runs

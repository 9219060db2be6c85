"""What a run has told, bounded however long it goes on, and readable at any time."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Generic, Protocol, TypeVar

import pandas as pd

from blocks.training.events import Evaluation, Event, Sample, Step


class Numbered(Protocol):
    """An item with the step at which it was reported."""

    @property
    def step(self) -> int:
        """The step it belongs to."""
        ...


Told = TypeVar("Told", bound=Numbered)


class Thinned(Generic[Told]):
    """A growing sequence of at most `most` items, evenly thinned out, the newest always in.

    Where it is full, every second item goes, and from then on only every second one is kept. One
    thread adds; any thread reads without waiting: a reader copies a list in one operation.
    """

    def __init__(self, most: int):
        self.most = most
        self.stride = 1
        self._n_added = 0
        self._kept: list[Told] = []
        self._newest: Told | None = None

    def add(self, item: Told) -> None:
        """Keep the item, and thin out where there are too many."""
        self._newest = item
        if self._n_added % self.stride == 0:
            self._kept.append(item)
        self._n_added += 1
        if len(self._kept) >= self.most:
            self._kept = self._kept[::2]
            self.stride *= 2

    def go_back(self, step: int) -> None:
        """Forget what was told of later steps."""
        if self._newest is None or self._newest.step <= step:
            return
        kept = [item for item in self._kept if item.step <= step]
        self._kept, self._n_added = kept, len(kept) * self.stride
        self._newest = kept[-1] if kept else None

    def items(self) -> list[Told]:
        """The items kept, and the newest."""
        newest, kept = self._newest, self._kept.copy()
        return kept if newest is None or _reaches(kept, newest) else [*kept, newest]

    @property
    def newest(self) -> Told | None:
        """The item added last."""
        return self._newest


def _reaches(kept: Sequence[Numbered], newest: Numbered) -> bool:
    """Whether the newest is among those kept already (or has been overtaken by one)."""
    return bool(kept) and kept[-1].step >= newest.step


class Log:
    """Steps, evaluations and the latest samples of a run."""

    def __init__(self, *, most_points: int = 2000, most_samples: int = 20):
        self.steps: Thinned[Step] = Thinned(most_points)
        self.evaluations: Thinned[Evaluation] = Thinned(most_points)
        self.samples: tuple[Sample, ...] = ()
        self._most_samples = most_samples

    def note(self, event: Event) -> None:
        """Keep what the event tells."""
        match event:
            case Step():
                self.steps.add(event)
            case Evaluation():
                self.evaluations.add(event)
            case Sample():
                self.samples = (*self.samples, event)[-self._most_samples :]
            case _:
                pass

    def go_back(self, step: int) -> None:
        """Forget what was told of later steps."""
        self.steps.go_back(step)
        self.evaluations.go_back(step)
        self.samples = tuple(sample for sample in self.samples if sample.step <= step)

    def curves(self) -> pd.DataFrame:
        """One row per step: the fields of `Step`."""
        return _frame(self.steps.items(), Step)

    def scores(self) -> pd.DataFrame:
        """One row an evaluation: the fields of `Evaluation` that are one number."""
        several = ["layer_gradient_norms", "ahead_losses"]
        return _frame(self.evaluations.items(), Evaluation).drop(columns=several)

    def ahead(self) -> pd.DataFrame:
        """One row an evaluation and module that predicts further ahead: step, module, loss."""
        rows = [
            (evaluation.step, module, loss)
            for evaluation in self.evaluations.items()
            for module, loss in enumerate(evaluation.ahead_losses)
        ]
        return pd.DataFrame(rows, columns=["step", "module", "loss"])

    def layer_gradients(self) -> pd.DataFrame:
        """One row an evaluation and layer: step, layer, gradient_norm."""
        rows = [
            (evaluation.step, layer, norm)
            for evaluation in self.evaluations.items()
            for layer, norm in enumerate(evaluation.layer_gradient_norms)
        ]
        return pd.DataFrame(rows, columns=["step", "layer", "gradient_norm"])


def _frame(items: Sequence[object], kind: Any) -> pd.DataFrame:
    names = [field.name for field in fields(kind)]
    return pd.DataFrame({name: [getattr(item, name) for item in items] for name in names})

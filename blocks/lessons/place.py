"""Where a lesson measures: a run as it stands, and what is kept of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from blocks.cost.parameters import count_parameters
from blocks.model.config import FIELDS, ModelConfig
from blocks.model.masks import MaskKind
from blocks.model.models import Model
from blocks.observe.recording import Recording
from blocks.observe.run import Run, guarded_record

OF_A_RUN = ("seed", "mask_kind")


def _built(run: Run) -> Model:
    if run.weights:
        raise ValueError(f"give the place a model with the weights {run.weights}")
    return run.build()


def _recorded(run: Run) -> Recording:
    return guarded_record(run, _built(run))


@dataclass(frozen=True)
class Place:
    """A run, the text that it reads, and how a run is recorded and a model had.

    The two are needed where weights were learned; random ones are drawn here.
    """

    run: Run
    text: str = ""
    recording: Callable[[Run], Recording] = _recorded
    model: Callable[[Run], Model] = _built

    @property
    def config(self) -> ModelConfig:
        """The configuration of the model."""
        return self.run.config

    @property
    def seen(self) -> Recording:
        """What the run showed."""
        return self.recording(self.run)

    def changed(self, **fields: Any) -> "Place":
        """The same with other fields of the configuration, another `seed` or `mask_kind`.

        Trained weights stay where as many and the same parts are left, otherwise they are random.
        Raises `ConfigError` where there is no such configuration.
        """
        run, of_config = self.run, {n: v for n, v in fields.items() if n not in OF_A_RUN}
        config = run.config.replace(**of_config)
        if not count_parameters(config).equals(count_parameters(run.config)):
            run = replace(run, weights="")
        if "mask_kind" in fields:
            kind = MaskKind(fields["mask_kind"])
            run = replace(run, mask=replace(run.mask, mask_kind=kind))
        run = replace(run, config=config, seed=fields.get("seed", run.seed))
        return replace(self, run=run)


def can_change(name: str) -> bool:
    """Whether a place can be changed in this."""
    return name in OF_A_RUN or (name in FIELDS and name != "architecture")

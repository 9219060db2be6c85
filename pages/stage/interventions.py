"""Which changes the reader has made inside the model."""

from blocks import ModelConfig
from blocks.observe.interventions import Intervention, read_interventions, written
from pages.stage import link


def asked() -> tuple[Intervention, ...]:
    return read_interventions(link.value("interventions"))


def fitting(config: ModelConfig, seq_len: int) -> tuple[Intervention, ...]:
    return tuple(each for each in asked() if each.fits(config, seq_len))


def keep(changes: tuple[Intervention, ...]) -> None:
    link.change("interventions", written(dict.fromkeys(changes)))
    link.redraw_everything()


def add(change: Intervention) -> None:
    """One more; of the same place it takes the place."""
    keep((*(each for each in asked() if _place(each) != _place(change)), change))


def remove(change: Intervention) -> None:
    keep(tuple(each for each in asked() if each != change))


def undo() -> None:
    keep(())


def _place(change: Intervention) -> tuple[str, int | None, int | None]:
    return change.path, change.head, change.token

"""Which changes the reader has made inside the model."""

from blocks import ModelConfig
from blocks.observe.interventions import Intervention, read_interventions, written
from pages.stage import link


def asked() -> tuple[Intervention, ...]:
    """All that the link names."""
    return read_interventions(link.value("interventions"))


def fitting(config: ModelConfig, seq_len: int) -> tuple[Intervention, ...]:
    """Those that this model has a place for."""
    return tuple(each for each in asked() if each.fits(config, seq_len))


def keep(changes: tuple[Intervention, ...]) -> None:
    """Make these the changes, on the whole page."""
    link.change("interventions", written(dict.fromkeys(changes)))
    link.redraw_everything()


def add(change: Intervention) -> None:
    """One more; of the same place it takes the place."""
    keep((*(each for each in asked() if _place(each) != _place(change)), change))


def remove(change: Intervention) -> None:
    """One less."""
    keep(tuple(each for each in asked() if each != change))


def undo() -> None:
    """Nothing is changed any more."""
    keep(())


def _place(change: Intervention) -> tuple[str, int | None, int | None]:
    return change.path, change.head, change.token

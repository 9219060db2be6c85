"""The smaller models that this reader has made in this session, measured."""

from functools import lru_cache

from blocks.efficiency.frontier import Variant, measure_variant
from pages.server import starts
from pages.session.slot import Slot

MOST = 48
# By (weights, recipe), None until it is measured; the newest last.
MADE = Slot[dict[tuple[str, str], Variant | None]]("made_variants", {})


@lru_cache(maxsize=256)
def measured(weights: str, name: str) -> Variant:
    """One smaller model, measured; `weights` names the model as it was trained."""
    return measure_variant(starts.calibrated(weights), name)


def variant(weights: str, name: str) -> Variant:
    """The same, and this reader has made it."""
    found = _made().get((weights, name)) or measured(weights, name)
    _keep(weights, name, found)
    return found


def note(weights: str, name: str) -> None:
    """This reader has to do with a variant, whether it is measured yet or not."""
    _keep(weights, name, _made().get((weights, name)))


def names(weights: str) -> tuple[str, ...]:
    """The recipes of those that were made of this model, the newest first."""
    return tuple(name for of, name in reversed(_made()) if of == weights and name)


def _keep(weights: str, name: str, found: Variant | None) -> None:
    others = {key: each for key, each in _made().items() if key != (weights, name)}
    newest = [*others.items(), ((weights, name), found)][-MOST:]
    MADE.keep(dict(newest))


def _made() -> dict[tuple[str, str], Variant | None]:
    return MADE.get()

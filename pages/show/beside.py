"""A beside B: the run of the kept configuration that goes with the one on the page."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import NamedTuple

from blocks import ConfigError, ModelConfig
from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.server import room
from pages.session.slot import Slot
from pages.show.inputs import current_run
from pages.stage import kept, link
from pages.stage.history import ghost_of
from pages.state.link_fields.compare import Kept
from pages.words.language import literal


class Beside(NamedTuple):
    """A as the page shows it, B as the reader has set it, and what A is called."""

    name: str
    a: Run
    b: Run


A_AND_B = Slot[Beside | None]("a_and_b", None)


def note(architecture: Architecture | None, run: Run) -> None:
    """At the top of a page: what A would be here, where one is kept, wanted, and fits."""
    pair = _found(run, lambda entry: run_of(entry, architecture))
    A_AND_B.keep(pair if pair and _has_room(pair.a) else None)


def _has_room(run: Run) -> bool:
    try:
        room.hold_run(run)
    except ConfigError:
        return False
    return True


def note_counted(run: Run) -> None:
    """Note A on a counting page: in its own architecture, of any size."""
    A_AND_B.keep(_found(run, run_as_it_is))


def forget() -> None:
    A_AND_B.keep(None)


def found() -> Beside | None:
    """A and B of this page; None where there is nothing to compare."""
    return A_AND_B.get()


def name_of_a() -> str:
    """What A is called, escaped for Markdown; empty where nothing is compared."""
    pair = found()
    return literal(pair.name) if pair else ""


def said_of_both(
    describe: Callable[[Run], str], run: Run, change: Callable[[Run, Run], str]
) -> str:
    """What is said of a run; of A first where A is beside it, and then what changed to B."""
    pair = found()
    if pair is None or pair.b != run:
        return describe(run)
    both = f"A · {literal(pair.name)}: {describe(pair.a)}  \nB: {describe(run)}"
    return f"{both}  \n{change(pair.a, run)}"


def run_of(entry: Kept, architecture: Architecture | None) -> Run:
    """A kept configuration on the reader's input and seed, nothing changed inside."""
    with link.as_if(kept.values_with(entry)):
        return current_run(architecture).untouched


def run_as_it_is(entry: Kept) -> Run:
    """Run a kept configuration in its own architecture."""
    with link.as_if(kept.values_with(entry)):
        architecture = link.config().architecture
    is_two = architecture is Architecture.ENCODER_DECODER
    return run_of(entry, architecture if is_two else None)


def with_a(values: tuple[Hashable, ...]) -> tuple[Hashable, ...] | None:
    """The values of a picture with A in place of B; None where B is not among them."""
    pair = found()
    if pair is None:
        return None
    changed = tuple(_instead(value, pair) for value in values)
    return None if changed == values else changed


def _found(run: Run, run_kept: Callable[[Kept], Run]) -> Beside | None:
    entry = kept.a()
    if entry is None or not link.value("beside"):
        return None
    other = run_kept(entry)
    return Beside(entry.name, other, run) if other != run.untouched else None


def _instead(value: Hashable, pair: Beside) -> Hashable:
    """A for B; a target that is written so far stays, where both read the same tokens.

    A was set at once: there is no setting before it. Where a picture is of a configuration alone,
    it is A's for B's.
    """
    if isinstance(value, ModelConfig) and value == pair.b.config:
        return pair.a.config
    if isinstance(value, Run) and value != pair.b and value == ghost_of(pair.b):
        return None
    if not isinstance(value, Run) or replace(value, target=pair.b.target) != pair.b:
        return value
    reads_same = pair.a.input.vocabulary == pair.b.input.vocabulary
    is_written = value.target is not None and pair.a.target is not None
    return replace(pair.a, target=value.target) if is_written and reads_same else pair.a

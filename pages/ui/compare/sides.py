"""Both sides of the page that compares: A as it is kept, B as it is set now."""

from typing import NamedTuple

from blocks.cost.memory import run_fault
from blocks.observe.run import Run
from pages.ui import link
from pages.ui.compare import beside, kept
from pages.ui.labelled import pinned_token
from pages.ui.language import _, literal, say_fault
from pages.ui.settings import memory_budget


class Pair(NamedTuple):
    """A and B on the same text and seed, nothing changed inside."""

    name: str
    a: Run
    b: Run

    @property
    def both(self) -> tuple[Run, Run]:
        """A, then B."""
        return self.a, self.b

    @property
    def n_layers(self) -> int:
        """Layers that both have; of an encoder–decoder those of the encoder."""
        return min(run.config.n_layers for run in self.both)

    @property
    def n_heads(self) -> int:
        """Heads that a layer of both has."""
        return min(run.config.n_heads for run in self.both)

    @property
    def reads_the_same(self) -> bool:
        """Whether both have the same tokens at the same places."""
        return self.a.input.labels == self.b.input.labels


def pair(run: Run) -> Pair | None:
    """What is kept as A beside the run of the page; None where nothing is kept."""
    entry = kept.a()
    return None if entry is None else Pair(entry.name, beside.run_as_it_is(entry), run.untouched)


def names(found: Pair) -> tuple[str, str]:
    """What both are called in pictures."""
    return f"A · {found.name}", _("B · now")


def label(found: Pair, side: int) -> str:
    """What one of both is called in a sentence."""
    return literal(names(found)[side])


def faults(found: Pair) -> tuple[tuple[str, str], ...]:
    """Which of the two cannot run on this device, and why, with the numbers."""
    sides = zip(names(found), found.both, strict=True)
    wrong = [(name, run_fault(run, memory_budget())) for name, run in sides]
    return tuple((name, say_fault(fault)) for name, fault in wrong if fault is not None)


def pinned(found: Pair) -> int:
    """The token that is outlined: the reader's or the last of the text, where both have it."""
    return min(pinned_token(run) for run in found.both)


def layer(found: Pair) -> int:
    """The layer that is looked at, of those that both have."""
    return min(link.value("layer"), found.n_layers - 1)


def head(found: Pair) -> int:
    """The head that is looked at, of those that both have."""
    return min(link.value("head"), found.n_heads - 1)

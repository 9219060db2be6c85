"""How long what a reader may ask for will take: said beforehand where that is long."""

from blocks.observe.interventions import heads_of
from blocks.observe.run import Run
from blocks.observe.sweep import n_passes
from pages.figures.units import HOUR, long_duration
from pages.server import cached
from pages.words.language import _

WORTH_SAYING = 10  # seconds


def seconds_of(run: Run, n_passes: float) -> float:
    """So many passes of a run that was recorded, as long as that took."""
    return n_passes * cached.recording(run).milliseconds / 1000


def passes_of_each_part(run: Run) -> float:
    return n_passes(run, heads_of(run.config))


def says_each_part(run: Run) -> str:
    """How long that takes; empty where it is a matter of seconds."""
    seconds = seconds_of(run, passes_of_each_part(run))
    if seconds < WORTH_SAYING:
        return ""
    text = _("Changing each of the {n:,} heads and sub-layers in turn takes about {time} here.")
    return text.format(n=len(heads_of(run.config)), time=about(seconds))


def about(seconds: float) -> str:
    unit = HOUR if seconds >= HOUR else 1
    return long_duration(unit * float(f"{seconds / unit:.2g}"), _=_)

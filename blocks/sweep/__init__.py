"""Many trainings that differ in a few values: as plain data, on any engine, each trained once."""

from blocks.sweep.local import LocalEngine
from blocks.sweep.outcome import Outcome
from blocks.sweep.run import trained
from blocks.sweep.store import Store
from blocks.sweep.sweep import Search, Sweep

__all__ = ["LocalEngine", "Outcome", "Search", "Store", "Sweep", "trained"]

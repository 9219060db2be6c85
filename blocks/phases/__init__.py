"""Sudden steps of learning, on one clock: grokking, induction heads, superposition."""

from blocks.phases.clock import Change, Clock
from blocks.phases.superposition import Dictionary, Toy

__all__ = ["Change", "Clock", "Dictionary", "Toy"]

"""Models whose algorithm is known, and how often each instrument finds it."""

from blocks.known.cells import right_in

__all__ = ["right_in"]

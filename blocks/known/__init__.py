"""Models whose algorithm is known, and how often each instrument finds it."""

from blocks.known.models import compiled_model, programs
from blocks.known.program import Program

__all__ = ["Program", "compiled_model", "programs"]

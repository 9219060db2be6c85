"""Scaling laws of trainings of one's own: text of known entropy, fits, predictions, transfer."""

from blocks.scaling.band import Fitted, fitted
from blocks.scaling.projection import fit_law
from blocks.scaling.valleys import line_through

__all__ = ["Fitted", "fit_law", "fitted", "line_through"]

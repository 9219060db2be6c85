"""Weights that were learned: files that hold them, and the models that ship with us."""

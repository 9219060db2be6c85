"""Changing something inside a model: the controls, what they set, and the sentences."""

"""Widgets, cache, language and the frame of every page."""

"""Panels of the scaling lab."""

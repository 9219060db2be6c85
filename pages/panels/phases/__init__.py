"""Panels of the page on sudden steps of learning."""

"""The panels of the page Efficiency."""

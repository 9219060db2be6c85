"""The panels of the page Positions."""

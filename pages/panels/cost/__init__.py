"""The panels of the page Cost."""

"""The panels of the page Norms."""

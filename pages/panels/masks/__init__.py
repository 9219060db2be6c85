"""The panels of the page Masks."""

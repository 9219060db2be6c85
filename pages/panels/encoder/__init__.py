"""The panels of the page Encoder."""

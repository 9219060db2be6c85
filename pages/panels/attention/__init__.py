"""The panels of the page Attention."""

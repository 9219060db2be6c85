"""The panels of the page Training."""

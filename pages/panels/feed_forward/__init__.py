"""The panels of the page Feed-forward."""

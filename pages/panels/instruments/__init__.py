"""The panels of the test chart."""

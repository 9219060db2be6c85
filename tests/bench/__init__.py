"""Measurements as ratios, both sides in one run: `make bench`."""

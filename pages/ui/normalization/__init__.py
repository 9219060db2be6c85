"""What the page of normalization needs of widgets, cache and words."""

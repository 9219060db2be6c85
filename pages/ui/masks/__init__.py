"""What the page of masks needs of widgets, cache and words."""

"""What the page of positions needs of widgets, cache and words."""

"""What the page of attention needs of widgets, cache and words."""

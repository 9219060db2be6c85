"""What the page of feed-forward needs of widgets, cache and words."""

"""The panel of the page about one pass."""

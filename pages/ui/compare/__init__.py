"""What the page that compares has of its own, and what it lends to all others."""

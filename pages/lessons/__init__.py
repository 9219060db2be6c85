"""A lesson on the screen: a card beside the open panel, and what it withholds."""

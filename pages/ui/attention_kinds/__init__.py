"""Other ways to attend, and heads that share keys and values."""

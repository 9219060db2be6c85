"""The page of costs: its settings, sentences and tables."""

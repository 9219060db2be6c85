"""The page of parameters: its settings, sentences and tables."""

"""From a reader's text to tokens."""

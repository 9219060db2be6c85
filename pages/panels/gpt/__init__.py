"""The panels of the page GPT."""

"""The panels of the page Translator."""

"""The panels of the page Parameters."""

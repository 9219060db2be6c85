"""The panels of the page Compare."""

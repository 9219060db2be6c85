"""What a link carries for the page of positions."""

from pages.ui.readers import Field

FIELDS: dict[str, Field] = {}

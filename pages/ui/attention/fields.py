"""What a link carries for the page of attention."""

from pages.ui.readers import Field

FIELDS: dict[str, Field] = {}

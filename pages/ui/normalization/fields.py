"""What a link carries for the page of normalization."""

from pages.ui.readers import Field

FIELDS: dict[str, Field] = {}

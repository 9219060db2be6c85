"""What a link carries for the page of masks."""

from pages.ui.readers import Field

FIELDS: dict[str, Field] = {}

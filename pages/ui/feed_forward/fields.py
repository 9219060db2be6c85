"""What a link carries for the page of feed-forward."""

from pages.ui.readers import Field

FIELDS: dict[str, Field] = {}

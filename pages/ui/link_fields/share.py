"""What a link carries for those it is given to: what a teacher has hidden."""

from pages.ui.readers import Field, UnreadableError

HIDEABLE = ("menu", "settings", "explanations")


def hidden(text: str) -> str:
    """Read what is hidden, each part once, in the order of the table."""
    found = set(text.split(".")) - {""}
    if not found <= {*HIDEABLE}:
        raise UnreadableError
    return hidden_text(found)


def hidden_text(parts: set[str]) -> str:
    """Parts as a link names them."""
    return ".".join(part for part in HIDEABLE if part in parts)


FIELDS = {"hide": Field(hidden, "")}

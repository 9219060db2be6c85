"""What a link carries for Home: a name that is asked about."""

from pages.server.readers import Field, UnreadableError, flag

LONGEST_NAME = 24  # characters


def name(text: str) -> str:
    """Read a name of anybody."""
    if len(text) > LONGEST_NAME:
        raise UnreadableError(text[:LONGEST_NAME])
    return text


FIELDS: dict[str, Field] = {"friend": Field(name, ""), "without_head": Field(flag, False)}
# Names and heads are those of one language.
FOLLOWERS = {"lang": ("friend", "without_head")}

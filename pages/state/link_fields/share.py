"""What a link carries for those it is given to: what a teacher has hidden, and a lecture."""

from blocks.lessons.reading import MOST_STEPS
from blocks.lessons.writing import unpacked
from pages.server.readers import Field, UnreadableError, identifier, whole

HIDEABLE = ("menu", "settings", "explanations")


def hidden(text: str) -> str:
    """Read what is hidden, each part once, in the order of the table."""
    found = set(text.split(".")) - {""}
    if not found <= {*HIDEABLE}:
        raise UnreadableError
    return hidden_text(found)


def hidden_text(parts: set[str]) -> str:
    return ".".join(part for part in HIDEABLE if part in parts)


def lecture(text: str) -> str:
    """Read a lecture, packed as `blocks.lessons.writing` does."""
    try:
        unpacked(text) if text else ()
    except ValueError:
        raise UnreadableError("") from None
    return text


# A lecture, the step of it that stands there, and the room in which two devices of the lecturer
# keep together, with the word that leads it; who shares a panel does not share these.
LECTURE = {
    "lecture": Field(lecture, ""),
    "lecture_at": Field(whole(0, MOST_STEPS - 1), None),
    "lecture_lead": Field(identifier, ""),
}
FIELDS = {"hide": Field(hidden, ""), **LECTURE}

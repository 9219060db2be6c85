"""What a link carries of a lesson: which, how far, what was guessed, with whom."""

import re
from urllib.parse import parse_qsl, urlencode

from blocks.lessons.answers import LONGEST, MOST_STEPS
from blocks.lessons.rooms import N_SIGNS, SIGNS
from pages.server.readers import Field, UnreadableError, flag, identifier, sentence, whole
from pages.state.link_fields.compare import LONGEST_TEXT


def answers(text: str) -> str:
    """Read what was guessed, as `blocks.lessons.answers` writes it."""
    if len(text) > LONGEST or not re.fullmatch(r"[-+.;:=_e\d]*", text, re.ASCII):
        raise UnreadableError("")
    return text


def code(text: str) -> str:
    """Read the code of a room, as people type it."""
    found = text.strip().upper()
    if not re.fullmatch(f"([{SIGNS}]{{{N_SIGNS}}})?", found):
        raise UnreadableError
    return found


def left(text: str) -> str:
    """Read the link of a lesson that was left; its parts are checked when it is taken up again."""
    if len(text) > LONGEST_TEXT:
        raise UnreadableError("")
    try:
        found = parse_qsl(text, keep_blank_values=True)
    except ValueError:
        raise UnreadableError("") from None
    if text and "lesson" not in dict(found):
        raise UnreadableError("")
    return urlencode([each for each in found if each[0] != "left_lesson"], errors="replace")


OF_THE_LEADER = ("wall", "notes", "seat")  # what is not shared: who has it leads the class
LEFT = {"left_lesson": Field(left, "")}
FIELDS = {
    "lesson": Field(identifier, ""),
    "lesson_step": Field(whole(0, MOST_STEPS - 1), 0),
    "guesses": Field(answers, ""),
    "room": Field(code, ""),
    "wall": Field(flag, False),
    "notes": Field(flag, False),
    "seat": Field(identifier, ""),
    "follow": Field(flag, True),
    "own_text": Field(sentence, ""),
}
"""All of them: who leaves a lesson leaves the rest of the state as it is."""

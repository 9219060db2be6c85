"""What a link carries of a lesson: which, how far, and what was guessed."""

import re

from blocks.lessons.answers import LONGEST, MOST_STEPS
from pages.ui.readers import Field, UnreadableError, identifier, whole


def answers(text: str) -> str:
    """Read what was guessed, as `blocks.lessons.answers` writes it."""
    if len(text) > LONGEST or not re.fullmatch(r"[-+.;:=_e\d]*", text, re.ASCII):
        raise UnreadableError("")
    return text


FIELDS = {
    "lesson": Field(identifier, ""),
    "lesson_step": Field(whole(0, MOST_STEPS - 1), 0),
    "guesses": Field(answers, ""),
}
"""All of them: who leaves a lesson leaves the rest of the state as it is."""

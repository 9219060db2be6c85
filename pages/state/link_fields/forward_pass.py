"""What a link carries for the page of one pass."""

import re

from pages.server.readers import Field, UnreadableError, choice, flag, whole

ZOOMS = ("model", "layer", "head", "cell")
DIRECTIONS = ("forward", "backward")


def moment(text: str) -> str:
    """Read the path of a move, or nothing: the end of the pass."""
    if not re.fullmatch("[a-z0-9_.]{0,60}", text):
        raise UnreadableError
    return text


def cell(text: str) -> str:
    """Read what a move makes and a row and a column of it, or nothing: layers.1.scores:3,2."""
    if not re.fullmatch(r"([a-z0-9_.]{1,60}:\d{1,4},\d{1,4})?", text):
        raise UnreadableError
    return text


FIELDS: dict[str, Field] = {
    "zoom": Field(choice(ZOOMS), "model"),
    "moment": Field(moment, ""),
    "cell": Field(cell, ""),
    "cached": Field(flag, False),
    "drafts": Field(flag, False),
    "first_feature": Field(whole(0, 10**6), 0),
    "direction": Field(choice(DIRECTIONS), "forward"),
}

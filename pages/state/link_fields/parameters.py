"""What a link carries for the page of parameters."""

import re

from blocks.weights.conversion_faults import ConversionFault
from pages.server.readers import Field, UnreadableError, choice, flag

VIEWS = ("by_kind", "by_layer")
NO_FAULT = "none"
FAULTS = choice((NO_FAULT, *ConversionFault))


def path(text: str) -> str:
    """Read a way to a piece of a model, from the whole downwards: attention/q_proj."""
    if not re.fullmatch("[A-Za-z0-9_./–]{0,80}", text):
        raise UnreadableError
    return text


FIELDS: dict[str, Field] = {
    "breakdown": Field(choice(VIEWS), "by_kind"),
    "opened_piece": Field(path, ""),
    "conversion_fault": Field(FAULTS, str(ConversionFault.NOT_TRANSPOSED)),
    "spread_of_weights": Field(flag, False),
}

"""What a link carries for the test chart."""

from blocks.known.cells import INSTRUMENTS
from blocks.known.words import MODELS
from pages.server.readers import Field, choice

FIELDS: dict[str, Field] = {
    "instrument": Field(choice(tuple(INSTRUMENTS)), "attention"),
    "known_model": Field(choice(tuple(MODELS)), "induction"),
}

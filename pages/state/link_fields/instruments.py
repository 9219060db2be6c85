"""What a link carries for the test chart."""

from blocks.known.scoring import INSTRUMENTS
from blocks.known.subjects import NAMES
from pages.state.readers import Field, choice

FIELDS: dict[str, Field] = {
    "instrument": Field(choice(tuple(INSTRUMENTS)), "attention"),
    "known_model": Field(choice(NAMES), "induction"),
}

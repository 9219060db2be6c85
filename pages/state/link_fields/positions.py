"""What a link carries for the page of positions."""

from blocks.model.kinds import PositionKind
from pages.server.readers import Field, choice, whole

LENGTHS = (8, 16, 32, 64, 128, 256, 512)
TRAINED_LENGTHS = (8, 16, 32, 64, 128, 256)

# Where the reader has chosen nothing, kind and lengths follow the run.
FIELDS: dict[str, Field] = {
    "shown_position": Field(choice(PositionKind), None),
    "n_positions": Field(whole(2, LENGTHS[-1]), 128),
    "position_pair": Field(whole(0, 10**6), None),
    "position_shift": Field(whole(1, 64), 4),
    "trained_len": Field(whole(2, TRAINED_LENGTHS[-1]), None),
}

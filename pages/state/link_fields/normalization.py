"""What a link carries for the page of normalization."""

from collections.abc import Callable, Sequence

from blocks.inspection.depth import MEASURES
from blocks.inspection.stack import DEPTHS, WIDTHS
from blocks.model.kinds import Initialization
from blocks.model.placements import PLACEMENTS
from pages.server.readers import Field, UnreadableError, choice, flag, whole

NORM_INPUTS = (
    "resid_pre",
    "resid_mid",
    "attention_out",
    "feed_forward_out",
    "attention_sum",
    "feed_forward_sum",
)
ONLY_MINE = "own"
EVERY_CURVE = "all"
MOST_SEEDS = 5
RACE_DEPTHS = (2, 4, 8, 12, 16, 24, 32)
RACE_RATES, RACE_WARMUPS = ("0.0003", "0.001", "0.003"), ("0", "30", "60")


def several(options: tuple[str, ...], nothing: str) -> Callable[[str], str]:
    """Read some of several words, with commas between them, or the word for none of them."""

    def read(text: str) -> str:
        words = set(text.split(","))
        if text != nothing and not words <= set(options):
            raise UnreadableError
        return joined([word for word in options if word in words], nothing)

    return read


def joined(words: Sequence[str], nothing: str = ONLY_MINE) -> str:
    return ",".join(words) or nothing


FIELDS: dict[str, Field] = {
    "norm_input": Field(choice(NORM_INPUTS), "resid_pre"),
    "race": Field(flag, False),
    "race_depth": Field(whole(1, RACE_DEPTHS[-1]), 12),
    "race_learning_rate": Field(choice(RACE_RATES), "0.001"),
    "race_warmup": Field(choice(RACE_WARMUPS), "0"),
    "depth": Field(whole(1, DEPTHS[-1]), 16),
    "depth_width": Field(whole(8, WIDTHS[-1]), 128),
    "depth_initialization": Field(choice(Initialization), str(Initialization.XAVIER_UNIFORM)),
    "n_depth_seeds": Field(whole(1, MOST_SEEDS), 3),
    "depth_curve": Field(choice((EVERY_CURVE, *MEASURES)), EVERY_CURVE),
    "depth_placements": Field(several(PLACEMENTS, ONLY_MINE), "pre,post"),
}

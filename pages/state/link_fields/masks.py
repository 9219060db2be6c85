"""What a link carries for the page of masks."""

from blocks.inspection.leaks import AttentionPath
from blocks.inspection.mask_faults import MaskFault
from blocks.model.masks import MOST_PAINTED, read_painted
from pages.server.readers import Field, UnreadableError, choice, flag, whole
from pages.server.settings import MAX_TOKENS

MOST_CROSS, MOST_SCALE = 32, 10**7


def painted(text: str) -> str:
    """Read a mask painted by hand, or none."""
    try:
        if text:
            read_painted(text)
    except ValueError:
        raise UnreadableError from None
    return text


PAINTED: dict[str, Field] = {"painted": Field(painted, "")}
FIELDS: dict[str, Field] = {
    "paint_query": Field(whole(0, MOST_PAINTED - 1), 0),
    "paint_key": Field(whole(0, MOST_PAINTED - 1), 0),
    "planted_fault": Field(choice(MaskFault), "none"),
    "attention_path": Field(choice(AttentionPath), "explicit"),
    "score_scale": Field(whole(1, MOST_SCALE), 1),
    "leak_seed": Field(whole(0, 10**6), 0),
    "n_changed": Field(whole(1, MAX_TOKENS), 24),
    "cross_len": Field(whole(1, MOST_CROSS), 7),
    "cross_padding": Field(whole(0, MOST_CROSS), 3),
    "train_peeking": Field(flag, False),
}

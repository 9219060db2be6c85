"""What a link carries of the target: how it is written, how far, and what is looked at."""

import re

from blocks.inspection.alignment import Row
from blocks.inspection.two_texts import AttentionKind
from pages.server.readers import Field, UnreadableError, choice, flag, whole, within
from pages.server.settings import MAX_NEW_TOKENS

TEXTS = ("target", "source")
ALIGNED = ("best_head", "one_head", "layer_mean")
SORTS = ("held_out", "held_out_reads", "error", "error_reads", "precision", "recall", "layer")

WHO_READS_WHOM: dict[str, Field] = {
    "attention_of": Field(choice(AttentionKind), str(AttentionKind.CROSS)),
    "pinned_in": Field(choice(TEXTS), "target"),
    "target_step": Field(whole(0, MAX_NEW_TOKENS), None),
    "target_token": Field(whole(0, 10**6), None),
}
ATTENTION_FIELDS: dict[str, Field] = {
    **WHO_READS_WHOM,
    "aligned_head": Field(choice(ALIGNED), "best_head"),
    "aligned_row": Field(choice(Row), str(Row.WRITES)),
    "sort_aligned_by": Field(choice(SORTS), "held_out"),
}


MOST_BEAMS, MOST_PENALTY = 8, 2.0
IDS = re.compile(r"(\d{1,6}(\.\d{1,6})*)?", re.ASCII)


def ids(text: str) -> str:
    """Read token ids: "5.17.3", or nothing."""
    if not IDS.fullmatch(text):
        raise UnreadableError
    return ".".join(text.split(".")[:MAX_NEW_TOKENS])


def read_ids(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(".") if each)


def written_ids(token_ids: tuple[int, ...]) -> str:
    return ".".join(map(str, token_ids))


FIELDS: dict[str, Field] = {
    "beam_width": Field(whole(1, MOST_BEAMS), 1),
    "length_penalty": Field(within(0.0, MOST_PENALTY), 0.0),
    "max_new_tokens": Field(whole(1, MAX_NEW_TOKENS), 24),
    "forced_ids": Field(ids, ""),
    "beam_node": Field(whole(0, 10**5), None),
    "hide_each": Field(flag, False),
    "corrupted_share": Field(within(0.05, 0.6), 0.15),
    "mean_span_len": Field(within(1.0, 6.0), 3.0),
    "corruption_seed": Field(whole(0, 2**31 - 1), 0),
}
# Another text or another search has another tree.
FOLLOWERS = {
    "text": ("forced_ids", "target_step", "beam_node", "target_token"),
    "beam_width": ("beam_node",),
    "length_penalty": ("beam_node",),
    "max_new_tokens": ("beam_node",),
    "forced_ids": ("beam_node",),
    "target_step": ("beam_node", "target_token"),
}

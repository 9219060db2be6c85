"""What a link carries for the page of attention."""

from blocks.inspection.head_facts import STEPS
from blocks.inspection.head_probe import KINDS
from blocks.inspection.scaling import Divisor, ScoreMeasure
from pages.server.readers import Field, choice, flag, whole
from pages.server.settings import MAX_TOKENS

LENGTHS = (128, 256, 512, 1024, 2048, 4096)

GROWTH: dict[str, Field] = {
    "measure_kinds": Field(flag, False),
    "kinds_up_to": Field(whole(LENGTHS[0], LENGTHS[-1]), 2048),
}
KINDS_FIELDS: dict[str, Field] = {
    "kinds_window": Field(whole(1, MAX_TOKENS), 4),
    "kinds_stride": Field(whole(1, MAX_TOKENS), 4),
    **GROWTH,
}


SORTS = (
    "layer",
    "entropy_bits",
    "distance_tokens",
    "first_token",
    "same_token",
    "previous_token",
    "induction",
)
COUNTED = ("one_head", "all_heads")

LINES: dict[str, Field] = {"edges": Field(whole(1, 16), 4)}
GRAPH: dict[str, Field] = {"least_share": Field(whole(1, 50), 2)}
FIELDS: dict[str, Field] = {
    "attention_step": Field(choice(STEPS), "project"),
    "key": Field(whole(0, 10**6), None),
    "feature": Field(whole(0, 10**6), 0),
    "is_scaled": Field(flag, True),
    "score_measure": Field(choice(ScoreMeasure), "score_std"),
    "divisor": Field(choice(Divisor), "nothing"),
    "counted": Field(choice(COUNTED), "one_head"),
    "sort_heads_by": Field(choice(SORTS), "layer"),
    "head_kind": Field(choice(KINDS), KINDS[0]),
    **LINES,
    **GRAPH,
}

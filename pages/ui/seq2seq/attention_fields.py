"""What a link carries of three attentions, of their alignment, and of what is pinned."""

from blocks.inspection.alignment import Row
from blocks.inspection.two_texts import AttentionKind
from pages.ui.readers import Field, choice

TEXTS = ("target", "source")
ALIGNED = ("best_head", "one_head", "layer_mean")
SORTS = (
    "held_out",
    "held_out_reads",
    "error",
    "error_reads",
    "precision",
    "recall",
    "layer",
)

FIELDS: dict[str, Field] = {
    "attention_of": Field(choice(AttentionKind), str(AttentionKind.CROSS)),
    "pinned_in": Field(choice(TEXTS), "target"),
    "aligned_head": Field(choice(ALIGNED), "best_head"),
    "aligned_row": Field(choice(Row), str(Row.WRITES)),
    "sort_aligned_by": Field(choice(SORTS), "held_out"),
}

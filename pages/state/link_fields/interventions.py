"""What a link carries of the changes inside a model, and of the one that is being chosen."""

from blocks.inspection.logit_difference import METHODS
from blocks.observe.interventions import InterventionKind, Part, read_interventions, written
from pages.server.readers import Field, UnreadableError, choice, flag, sentence, whole

MOST = 32


def changes(text: str) -> str:
    """Read changes, so many that they can still be listed."""
    try:
        found = read_interventions(sentence(text))
    except ValueError:
        raise UnreadableError from None
    return written(found[:MOST])


FIELDS: dict[str, Field] = {
    "interventions": Field(changes, ""),
    "change_part": Field(choice(Part), None),  # where silent: the change that is on
    "change_layer": Field(whole(0, 10**4), None),  # the same, or else what is looked at
    "change_head": Field(whole(0, 10**5), None),
    "change_kind": Field(choice(InterventionKind), "zero"),
    "change_here": Field(flag, False),
    "each_in_turn": Field(flag, False),
    "answer_a": Field(whole(0, 10**7), None),
    "answer_b": Field(whole(0, 10**7), None),
    "decided_by": Field(choice(METHODS), METHODS[0]),
}
FOLLOWERS = {"text": ("answer_a", "answer_b")}

"""What a step sets, as a link has it: the words of a target become the ids of their tokens."""

from collections.abc import Iterable

from pages.server import starts
from pages.stage.tokens import tokenizer_of
from pages.state.link_fields.seq2seq import written_ids

WRITTEN = "written"  # what a decoder has to write, in words


def as_link(pairs: Iterable[tuple[str, str]], preset: str = "") -> dict[str, str]:
    """Settings by name; `preset` says whose tokens words are, where the settings do not."""
    found = dict(pairs)
    if (text := found.pop(WRITTEN, None)) is not None:
        reader = tokenizer_of(starts.start(found.get("preset", preset)).weights)
        found["forced_ids"] = written_ids(tuple(piece.token_id for piece in reader.pieces(text)))
    return found

"""What a link carries for the panel of a circuit that is read whole."""

import re

from pages.server.readers import Field, UnreadableError, choice, flag, whole

TEXTS = ("(ab)[b]{a", "[]ab()[]{}(", "aab<>(b)a<", "{a}{b}[ab", "(b)(a)(ab)<")
FOLLOWED = ("open", "all", *map(str, range(12)))  # the open bracket, all tokens, or one from 0
MOST_SEED = 10**6


def edge_numbers(text: str) -> str:
    """Read which edges are taken out, counted from 0: 3,17."""
    if not re.fullmatch(r"(\d{1,3}(,\d{1,3}){0,99})?", text):
        raise UnreadableError
    return text


FIELDS: dict[str, Field] = {
    "circuit_seed": Field(whole(0, MOST_SEED), 0),
    "circuit_text": Field(choice(TEXTS), TEXTS[0]),
    "circuit_token": Field(whole(0, 11), 8),
    "circuit_follow": Field(choice(FOLLOWED), FOLLOWED[0]),
    "circuit_head": Field(choice(range(8)), "0"),
    "circuit_without": Field(edge_numbers, ""),
    "train_circuit": Field(flag, False),
}

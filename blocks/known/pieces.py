"""What programs are put together from: places, conditions, and heads that do nothing."""

from typing import Any

from blocks.known.program import INDEX, Condition, Head, Variable

N = len(INDEX.values)


def tokens_of(letters: str) -> Variable:
    """What stands in the text."""
    return Variable("token", tuple(letters))


def output_of(letters: str) -> Variable:
    """What is answered: its directions are those that are unembedded."""
    return Variable("output", tuple(letters))


def back(n: int) -> Condition:
    """The key `n` places before the query."""
    return Condition(INDEX, INDEX, lambda query, key: key == query - n)


SELF, PREVIOUS = back(0), back(1)
FIRST = Condition(INDEX, INDEX, lambda _query, key: key == 0)
EARLIER = Condition(INDEX, INDEX, lambda query, key: key < query)
PLACES = {"same_token": SELF, "previous_token": PREVIOUS, "first_token": FIRST}
UNREAD = Variable("unread", ("x",))


def decoy(layer: int, head: int, kind: str, tokens: Variable, *, writes: bool = False) -> Head:
    """A head that attends sharply and is not needed: it writes nothing, or what nobody reads."""
    return Head(
        at=(layer, head),
        looks=(PLACES[kind],),
        takes=tokens,
        gives=UNREAD if writes else None,
        means=lambda _value: {"x": 1.0},
        kind=kind,
        is_needed=False,
    )


def same(tokens: Variable) -> Condition:
    """Keys that hold what the query holds."""
    return Condition(tokens, tokens, lambda query, key: query == key)


def holds(query: Variable, key: Variable, value: Any) -> Condition:
    """Keys that hold a value, whatever the query holds."""
    return Condition(query, key, lambda _query, held: held == value)

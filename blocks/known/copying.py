"""Programs that copy: each answer is a token of the text, taken from a known place."""

from blocks.known.pieces import (
    EARLIER,
    FIRST,
    PREVIOUS,
    back,
    decoy,
    holds,
    output_of,
    same,
    tokens_of,
)
from blocks.known.program import INDEX, Condition, Head, Lookup, Program, Variable


def _previous(text: str, at: int) -> str:
    return text[max(0, at - 1)]


def _ends(text: str) -> range:
    """How many tokens have been read at each place."""
    return range(1, len(text) + 1)


def first_token() -> Program:
    """Says the first token of the text, everywhere."""
    tokens, output = tokens_of("abcdefgh"), output_of("abcdefgh")
    head = Head(at=(1, 2), looks=(FIRST,), takes=tokens, gives=output, kind="first_token")
    decoys = (
        decoy(0, 0, "previous_token", tokens, writes=True),
        decoy(0, 1, "same_token", tokens),
        decoy(1, 0, "previous_token", tokens),
        decoy(2, 1, "same_token", tokens, writes=True),
    )
    return Program(
        name="first-token",
        tokens=tokens,
        output=output,
        parts=(head, *decoys),
        n_layers=3,
        n_heads=3,
        answer=lambda text: text[0] * len(text),
        reads=lambda _text, _at: {0},
        decides=2,
        letters="abcdefgh",
    )


def previous_token() -> Program:
    """Says the token before, by one head."""
    tokens, output = tokens_of("^abcdefgh"), output_of("^abcdefgh")
    head = Head(at=(0, 0), looks=(PREVIOUS,), takes=tokens, gives=output, kind="previous_token")
    decoys = (
        decoy(0, 1, "first_token", tokens, writes=True),
        decoy(0, 2, "same_token", tokens),
        decoy(1, 1, "same_token", tokens, writes=True),
    )
    return Program(
        name="previous-token",
        tokens=tokens,
        output=output,
        parts=(head, *decoys),
        n_layers=2,
        n_heads=3,
        answer=lambda text: "".join(_previous(text, at) for at in range(len(text))),
        reads=lambda _text, at: {at - 1},
        asked=lambda _text, at: at > 1,
        decides=1,
        letters="abcdefgh",
        first="^",
    )


def three_back() -> Program:
    """Copies from three places before: a head that looks at a distance, whatever stands there.

    Among four tokens, which is where a probe of a fixed period would take it for induction.
    """
    tokens, output = tokens_of("^abc"), output_of("^abc")
    head = Head(at=(0, 1), looks=(back(3),), takes=tokens, gives=output)
    return Program(
        name="three-back",
        tokens=tokens,
        output=output,
        parts=(
            head,
            decoy(0, 0, "previous_token", tokens),
            decoy(1, 1, "first_token", tokens, writes=True),
        ),
        n_layers=2,
        n_heads=2,
        answer=lambda text: "".join(text[at - 3] if at > 2 else text[0] for at in range(len(text))),
        reads=lambda _text, at: {at - 3},
        asked=lambda _text, at: at > 3,
        decides=1,
        letters="abc",
        first="^",
    )


def _matches(text: str, at: int) -> list[int]:
    """Where the token of a place stood before it."""
    return [i for i in range(1, at) if text[i] == text[at]]


def induction() -> Program:
    """Finds where the token stood before, and says what followed: two heads in two layers."""
    letters = "abcdefgh"
    tokens, output = tokens_of("^" + letters), output_of("^" + letters)
    before = Variable("before", tokens.values)
    matches = Condition(tokens, before, lambda query, key: query == key)

    def answer(text: str) -> str:
        found = (_matches(text, at) for at in range(len(text)))
        followers = ({text[i + 1] for i in each} or {"^"} for each in found)
        return "".join(each.pop() if len(each) == 1 else "?" for each in followers)

    def reads(text: str, at: int) -> set[int]:
        return {i + step for i in _matches(text, at) for step in (0, 1)}

    return Program(
        name="induction",
        tokens=tokens,
        output=output,
        parts=(
            Head(at=(0, 2), looks=(PREVIOUS,), takes=tokens, gives=before, kind="previous_token"),
            Head(at=(1, 0), looks=(matches,), takes=tokens, gives=output, kind="induction"),
            decoy(0, 0, "same_token", tokens, writes=True),
            decoy(0, 1, "first_token", tokens),
            decoy(1, 1, "previous_token", tokens, writes=True),
            decoy(1, 2, "same_token", tokens),
        ),
        n_layers=2,
        n_heads=3,
        answer=answer,
        reads=reads,
        asked=lambda text, at: len(_matches(text, at)) == 1 and text[at - 1] != text[at],
        decides=2,
        letters=letters,
        first="^",
    )


def duplicate() -> Program:
    """Says + where the token stood there before, and - where it did not."""
    letters = "abcdefgh"
    tokens, output = tokens_of("^+-" + letters), output_of("+-")
    is_copy = Head(
        at=(0, 1),
        looks=(same(tokens), EARLIER),
        takes=INDEX,
        gives=output,
        means=lambda place: {"+" if place else "-": 1.0},
        kind="duplicate_token",
    )
    return Program(
        name="duplicate-token",
        tokens=tokens,
        output=output,
        parts=(
            is_copy,
            decoy(0, 0, "first_token", tokens, writes=True),
            decoy(0, 2, "previous_token", tokens),
            decoy(1, 0, "same_token", tokens),
            decoy(1, 1, "previous_token", tokens, writes=True),
            decoy(1, 2, "first_token", tokens),
        ),
        n_layers=2,
        n_heads=3,
        answer=lambda text: "".join("+" if t in text[:at] else "-" for at, t in enumerate(text)),
        reads=lambda text, at: {i for i in range(at) if text[i] == text[at]},
        asked=lambda text, at: text[:at].count(text[at]) == 1,
        decides=1,
        letters=letters,
        first="^",
    )


def after_a() -> Program:
    """Says c where an a stood before, and d where none did: one word at any distance decides."""
    tokens, output = tokens_of("^abcdefgh"), output_of("cd")
    seen = Head(
        at=(1, 1),
        looks=(holds(tokens, tokens, "a"),),
        takes=tokens,
        gives=output,
        means=lambda token: {"c" if token == "a" else "d": 1.0},
    )
    return Program(
        name="keyword",
        tokens=tokens,
        output=output,
        parts=(
            seen,
            decoy(0, 0, "previous_token", tokens, writes=True),
            decoy(0, 1, "same_token", tokens),
            decoy(1, 0, "first_token", tokens, writes=True),
        ),
        n_layers=2,
        n_heads=2,
        answer=lambda text: "".join("c" if "a" in text[:end] else "d" for end in _ends(text)),
        reads=lambda text, at: {i for i in range(at) if text[i] == "a"},
        asked=lambda text, at: text[:at].count("a") == 1 and text[at] != "a",
        decides=2,
        letters="abcdefgh",
        first="^",
    )


def twice() -> Program:
    """Says the token two places before, by two heads of which either would do."""
    tokens, output = tokens_of("^abcdefgh"), output_of("^abcdefgh")
    heads = (
        Head(at=(layer, head), looks=(back(2),), takes=tokens, gives=output)
        for layer, head in ((0, 1), (1, 0))
    )
    return Program(
        name="twice",
        tokens=tokens,
        output=output,
        parts=(
            *heads,
            decoy(0, 0, "first_token", tokens),
            decoy(0, 2, "same_token", tokens, writes=True),
            decoy(1, 1, "same_token", tokens),
            decoy(1, 2, "first_token", tokens, writes=True),
        ),
        n_layers=2,
        n_heads=3,
        answer=lambda text: "".join(text[max(0, end - 3)] for end in _ends(text)),
        reads=lambda _text, at: {at - 2},
        asked=lambda _text, at: at > 2,
        decides=1,
        letters="abcdefgh",
        first="^",
    )


def translated() -> Program:
    """Says the token four places before: known after a layer, written where the third one reads."""
    letters = "abcdefgh"
    tokens, output = tokens_of("^" + letters), output_of("^" + letters)
    hidden = Variable("hidden", tokens.values)
    return Program(
        name="translated",
        tokens=tokens,
        output=output,
        parts=(
            Head(at=(0, 1), looks=(back(4),), takes=tokens, gives=hidden),
            Lookup(layer=2, reads=(hidden,), gives=output, means=lambda token: token),
            decoy(0, 0, "same_token", tokens),
            decoy(1, 0, "first_token", tokens, writes=True),
            decoy(1, 1, "same_token", tokens),
            decoy(2, 0, "previous_token", tokens),
            decoy(2, 1, "first_token", tokens, writes=True),
        ),
        n_layers=3,
        n_heads=2,
        answer=lambda text: "".join(text[max(0, end - 5)] for end in _ends(text)),
        reads=lambda _text, at: {at - 4},
        asked=lambda _text, at: at > 4,
        decides=1,
        letters=letters,
        first="^",
    )


def reverse() -> Program:
    """Says the text backwards: an encoder, and texts of eight tokens."""
    letters, n = "abcdefgh", 8
    tokens, output = tokens_of(letters), output_of(letters)
    mirrored = Condition(INDEX, INDEX, lambda query, key: query + key == n - 1)
    return Program(
        name="reverse",
        tokens=tokens,
        output=output,
        parts=(
            Head(at=(0, 1), looks=(mirrored,), takes=tokens, gives=output),
            decoy(0, 0, "previous_token", tokens, writes=True),
            decoy(0, 2, "same_token", tokens),
            decoy(1, 0, "first_token", tokens, writes=True),
            decoy(1, 1, "same_token", tokens, writes=True),
            decoy(1, 2, "previous_token", tokens),
        ),
        n_layers=2,
        n_heads=3,
        answer=lambda text: text[::-1],
        reads=lambda _text, at: {n - 1 - at},
        decides=1,
        letters=letters,
        seq_len=n,
        is_causal=False,
    )

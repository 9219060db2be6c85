"""Programs that count, compare and look up: what they say stands nowhere in the text."""

from blocks.known.pieces import N, back, decoy, holds, output_of, same, tokens_of
from blocks.known.program import INDEX, Condition, Head, Ladder, Lookup, Program, Variable

VOWELS = {*"ae"}
NUMBER, SHARE = Variable("number", tuple(range(N))), Variable("share", ("x",))


def _counting(layer: int, gives: Variable, first: int = 0) -> Ladder:
    """A count n from the weight 1 / (n + 1) that the first token keeps, largest count first."""
    counts = range(len(gives.values) - 1, -1, -1)
    steps = [0.5 / (n + 1 + first) + 0.5 / (n + first) for n in counts[:-1]]
    down = Variable(gives.name, gives.values[::-1])
    narrowest = 0.5 / ((N + 1) * (N + 2))
    return Ladder(layer=layer, reads=SHARE, gives=down, steps=steps, width=narrowest)


def _share_of_first(*looks: Condition, at: tuple[int, int]) -> Head:
    """Counts keys: they and the first token share its weight alike."""
    return Head(
        at=at,
        looks=tuple(_or_first(look) for look in looks),
        takes=INDEX,
        gives=SHARE,
        means=lambda place: {} if place else {"x": 1.0},
        has_rest=False,
    )


def _or_first(look: Condition) -> Condition:
    """Keys that fit, and the token ^ that begins the text."""
    return Condition(look.query, look.key, lambda query, key: key == "^" or look.fits(query, key))


def count() -> Program:
    """Says how often the token has stood there so far, itself included."""
    letters, digits = "abcd", "123456789"
    tokens, output = tokens_of("^" + digits + letters), output_of(digits)
    return Program(
        name="count",
        tokens=tokens,
        output=output,
        parts=(
            _share_of_first(same(tokens), at=(0, 0)),
            _counting(0, output, first=1),
            decoy(0, 1, "previous_token", tokens),
            decoy(1, 0, "same_token", tokens, writes=True),
            decoy(1, 1, "first_token", tokens),
        ),
        n_layers=2,
        n_heads=2,
        answer=lambda text: "".join(str(text[: at + 1].count(t)) for at, t in enumerate(text)),
        reads=lambda text, at: {i for i in range(1, at) if text[i] == text[at]},
        asked=lambda text, at: text[:at].count(text[at]) > 0,
        decides=1,
        letters=letters,
        first="^",
    )


def parity() -> Program:
    """Says whether the number of ones so far is even (0) or odd (1)."""
    tokens, output = tokens_of("^01"), output_of("01")
    return Program(
        name="parity",
        tokens=tokens,
        output=output,
        parts=(
            _share_of_first(holds(tokens, tokens, "1"), at=(0, 1)),
            _counting(0, NUMBER),
            Lookup(layer=1, reads=(NUMBER,), gives=output, means=lambda n: str(n % 2)),
            decoy(0, 0, "previous_token", tokens, writes=True),
            decoy(1, 0, "first_token", tokens),
            decoy(1, 1, "same_token", tokens, writes=True),
        ),
        n_layers=3,
        n_heads=2,
        answer=lambda text: "".join(str(text[: at + 1].count("1") % 2) for at in range(len(text))),
        reads=lambda text, at: {i for i in range(at) if text[i] == "1"},
        asked=lambda text, at: "0" in text[1:at] and "1" in text[:at],
        decides=2,
        letters="01",
        first="^",
    )


def _difference(
    pair: str, gives: Variable, *, at: tuple[int, int], tokens: Variable
) -> tuple[Head, Ladder]:
    """Which of two tokens stood there more often: the second, neither, or the first."""
    more = dict(zip(pair, (1.0, -1.0), strict=True))
    return (
        Head(
            at=at,
            looks=(),
            takes=tokens,
            gives=SHARE,
            means=lambda token: {"x": more[token]} if token in more else {},
        ),
        Ladder(layer=0, reads=SHARE, gives=gives, steps=(-0.5 / N, 0.5 / N), width=0.5 / N),
    )


def majority() -> Program:
    """Says which of a and b stands there more often so far, or = where neither does."""
    tokens, output = tokens_of("^=abc"), output_of("b=a")

    def answer(text: str) -> str:
        leads = (text[: at + 1].count("a") - text[: at + 1].count("b") for at in range(len(text)))
        return "".join("=" if not lead else "a" if lead > 0 else "b" for lead in leads)

    return Program(
        name="majority",
        tokens=tokens,
        output=output,
        parts=(
            *_difference("ab", output, at=(0, 1), tokens=tokens),
            decoy(0, 0, "first_token", tokens, writes=True),
            decoy(1, 0, "previous_token", tokens),
            decoy(1, 1, "same_token", tokens, writes=True),
        ),
        n_layers=2,
        n_heads=2,
        answer=answer,
        reads=lambda text, at: {i for i in range(at) if text[i] in "ab"},
        asked=lambda text, at: at > 4 and "c" in text[:at] and text[at] == "c",
        decides=1,
        letters="abc",
        first="^",
    )


def _balance(text: str) -> str:
    """Of each place: balanced so far (=), open (+), or closed once too often (!)."""
    depth, is_broken, found = 0, False, ""
    for token in text:
        depth += {"(": 1, ")": -1}.get(token, 0)
        is_broken |= depth < 0
        found += "!" if is_broken else "+" if depth else "="
    return found


def brackets() -> Program:
    """Says whether brackets are balanced so far (=), open (+), or broken for good (!)."""
    tokens, output = tokens_of("^=+!()"), output_of("=+!")
    sign = Variable("sign", ("below", "level", "above"))
    broken = Variable("broken", ("yes", "no"))
    fell = Head(
        at=(1, 2),
        looks=(holds(sign, sign, "below"),),
        takes=sign,
        gives=broken,
        means=lambda held: {"yes" if held == "below" else "no": 1.0},
    )

    def means(held: str, is_broken: str) -> str:
        return "!" if is_broken == "yes" else "+" if held == "above" else "="

    return Program(
        name="brackets",
        tokens=tokens,
        output=output,
        parts=(
            *_difference("()", sign, at=(0, 0), tokens=tokens),
            fell,
            Lookup(layer=1, reads=(sign, broken), gives=output, means=means),
            decoy(0, 1, "previous_token", tokens, writes=True),
            decoy(0, 2, "same_token", tokens),
            decoy(1, 0, "first_token", tokens, writes=True),
            decoy(1, 1, "same_token", tokens, writes=True),
            decoy(2, 0, "first_token", tokens),
            decoy(2, 1, "previous_token", tokens),
            decoy(2, 2, "same_token", tokens),
        ),
        n_layers=3,
        n_heads=3,
        answer=_balance,
        asked=lambda text, at: at > 3,
        decides=2,
        letters="()",
        first="^",
    )


def feature() -> Program:
    """Says + where a vowel stood before, - where none did: all vowels share one direction."""
    tokens, output = tokens_of("^+-abcdefgh"), output_of("+-")
    sound = Variable("sound", ("vowel", "other"))
    seen = Head(
        at=(1, 0),
        looks=(holds(tokens, sound, "vowel"),),
        takes=sound,
        gives=output,
        means=lambda sound: {"+" if sound == "vowel" else "-": 1.0},
    )
    return Program(
        name="feature",
        tokens=tokens,
        output=output,
        parts=(
            Lookup(
                layer=0,
                reads=(tokens,),
                gives=sound,
                means=lambda token: "vowel" if token in VOWELS else "other",
            ),
            seen,
            decoy(0, 0, "previous_token", tokens, writes=True),
            decoy(0, 1, "same_token", tokens),
            decoy(1, 1, "first_token", tokens, writes=True),
        ),
        n_layers=2,
        n_heads=2,
        answer=lambda text: "".join(
            "+" if VOWELS & {*text[: at + 1]} else "-" for at in range(len(text))
        ),
        reads=lambda text, at: {i for i in range(at) if text[i] in VOWELS},
        asked=lambda text, at: sum(map(text[:at].count, VOWELS)) == 1 and text[at] not in VOWELS,
        decides=2,
        letters="abcdefgh",
        first="^",
    )


def sum_of_two() -> Program:
    """Says the sum of a digit and the one two places before it, modulo 5."""
    tokens, output = tokens_of("^01234"), output_of("01234")
    before = Variable("before", tokens.values)

    def means(own: str, held: str) -> str:
        digits = (int(each) if each != "^" else 0 for each in (own, held))
        return str(sum(digits) % 5)

    return Program(
        name="sum-of-two",
        tokens=tokens,
        output=output,
        parts=(
            Head(at=(0, 0), looks=(back(2),), takes=tokens, gives=before),
            Lookup(layer=1, reads=(tokens, before), gives=output, means=means),
            decoy(0, 1, "first_token", tokens, writes=True),
            decoy(1, 0, "same_token", tokens),
            decoy(1, 1, "first_token", tokens, writes=True),
        ),
        n_layers=3,
        n_heads=2,
        answer=lambda text: "".join(
            means(token, text[max(0, at - 2)]) for at, token in enumerate(text)
        ),
        reads=lambda _text, at: {at - 2},
        asked=lambda text, at: at > 2 and text[at - 2] != "0",
        decides=2,
        letters="01234",
        first="^",
    )


def sort() -> Program:
    """Says the text in the order of the alphabet: an encoder, each letter at most once."""
    letters = "abcdefgh"
    tokens, output = tokens_of("^" + letters), output_of("^" + letters)
    rank = Variable("rank", tuple(range(N)))
    up_to = Condition(tokens, tokens, lambda query, key: key <= query and key != "^")
    goes_here = Condition(INDEX, rank, lambda query, key: query == key)

    def answer(text: str) -> str:
        return "^" + "".join(sorted(text[1:]))

    return Program(
        name="sort",
        tokens=tokens,
        output=output,
        parts=(
            _share_of_first(up_to, at=(0, 2)),
            _counting(0, rank),
            Head(at=(1, 1), looks=(goes_here,), takes=tokens, gives=output),
            decoy(0, 0, "previous_token", tokens, writes=True),
            decoy(0, 1, "first_token", tokens),
            decoy(1, 0, "same_token", tokens, writes=True),
            decoy(1, 2, "first_token", tokens),
        ),
        n_layers=2,
        n_heads=3,
        answer=answer,
        reads=lambda text, at: {text.index(answer(text)[at])},
        asked=lambda text, at: at > 0 and answer(text)[at] != text[at],
        decides=2,
        letters=letters,
        first="^",
        is_distinct=True,
        is_causal=False,
    )

"""Cut a sentence into words, punctuation and single CJK characters."""

import regex

_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}]"
_LETTER = rf"[[\p{{L}}\p{{N}}]--{_CJK}]"
_WORD = rf"{_LETTER}[{_LETTER}\p{{M}}]*+"
_EMOJI = r"\p{Extended_Pictographic}[\p{EMod}\uFE0F\u20E3\U000E0020-\U000E007F]*+"
_TOKEN = regex.compile(
    rf"{_CJK}\p{{M}}*+"  # one character each
    rf"|{_WORD}(?:['’_\u200C\u200D-]{_WORD})*+"  # a word or number, in any script
    r"|\p{Regional_Indicator}{2}"  # a flag
    rf"|{_EMOJI}(?:\u200D{_EMOJI})*+"  # an emoji, families and professions whole
    r"|[^\s\u200C\u200D\uFE0F]\p{M}*+",  # any other sign, with its accents
    regex.VERSION1,
)
_UNSEEN = regex.compile(
    r"[[\p{Cc}\p{Cf}\p{Cs}]--[\u200C\u200D\U000E0020-\U000E007F]]", regex.VERSION1
)


def first_words(text: str, n: int) -> str:
    """The text up to the end of its n-th token."""
    ends = [match.end() for match in _TOKEN.finditer(_UNSEEN.sub(" ", text))][:n]
    return text[: ends[-1]] if ends else ""


def words(text: str, *, at_most: int) -> tuple[tuple[str, ...], int]:
    """The first `at_most` tokens of a text, and how many it has in all.

    White space and characters that draw nothing (NUL and other controls) separate tokens.
    """
    found = _TOKEN.findall(_UNSEEN.sub(" ", text))
    return tuple(found[:at_most]), len(found)

"""The tokens that stand around what an encoder–decoder writes."""

from typing import NamedTuple

from blocks.model.model_input import PADDING
from blocks.text.bilingual import BEGIN
from blocks.text.bpe import END, MASK
from blocks.text.tokenizer import Tokenizer

EQUALS = "="
MASKS = (MASK, "<mask>")  # of BERT and of ours, of RoBERTa


class Marks(NamedTuple):
    """Token ids: what fills a row up, what begins every target, what ends it.

    A source has none of them: it is the tokens of its text and nothing else. `never`: what a target
    never holds, as far as the model says so (Marian: its padding).
    """

    padding: int
    start: int
    stop: int
    never: tuple[int, ...] = ()


def marks_of(tokenizer: Tokenizer) -> Marks:
    """[PAD], [BEGIN] and [END] where there are such; an alphabet with = has it for all three.

    Where there is neither, token 0 begins, and nothing but the length ends a target.
    """
    special = tokenizer.special
    if special.keys() >= {PADDING, BEGIN, END}:
        return Marks(special[PADDING], special[BEGIN], special[END])
    found = tokenizer.encode(EQUALS)
    stop = found[0] if len(found) == 1 else -1
    return Marks(max(stop, 0), max(stop, 0), stop)


def mask_id(tokenizer: Tokenizer) -> int:
    """The token that hides another; -1 where there is none."""
    return next((tokenizer.special[name] for name in MASKS if name in tokenizer.special), -1)

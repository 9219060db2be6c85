"""The texts that ship with Blockscope for models of any kind: ordinary prose, written for it."""

from functools import cache

from blocks.model.shipped import shipped
from blocks.text.tokenizer import Tokenizer

LANGUAGES = ("en", "zh")


@cache
def paragraph(language: str) -> str:
    """Several paragraphs on rivers, the same in each language (en, zh) as far as it is told."""
    return shipped("samples", f"{language}.txt").read_text("utf-8").strip()


def language_of(tokenizer: Tokenizer) -> str:
    """The language of which a token covers more bytes of its paragraph, English where alike."""

    def bytes_a_token(language: str) -> float:
        text = paragraph(language)
        is_read = not tokenizer.left_out(text)
        return is_read * len(text.encode()) / max(1, len(tokenizer.encode(text)))

    return max(LANGUAGES, key=bytes_a_token)

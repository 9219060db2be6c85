"""Translating as a task: each held-out sentence in both languages, in one model.

Nothing but the language of the source says which way to translate: even rows go from English to
Chinese, odd ones back.
"""

import random

import torch

from blocks.corpora.stories import Language
from blocks.corpora.translation import LENGTHS, sentences, tokenizer, translations
from blocks.model.faults import N_
from blocks.model.kinds import Architecture
from blocks.text.bilingual import is_chinese
from blocks.training.pairs import Links, PairTask, Row

DIRECTIONS = (N_("English to Chinese"), N_("Chinese to English"))
LONGEST_ROW = LENGTHS[-1] + 1
SHORTEST_ROW = 8


def translation_task(seq_len: int) -> PairTask:
    """Sentences that leave room for one mark in `seq_len` tokens, in either language."""
    return PairTask(
        name="translation",
        architectures=(Architecture.ENCODER_DECODER,),
        seq_len=seq_len,
        tokenizer=tokenizer(),
        score_name=N_("exact translations"),
        draw=lambda n, source, held_out: _rows(n, seq_len - 1, source, held_out=held_out),
        links=_links,
        groups=DIRECTIONS,
    )


def _links(row: Row) -> Links:
    """Which word stands for which, as the grammar says."""
    words = [tokenizer().vocabulary[token_id] for token_id in row.source]
    language = Language.CHINESE if is_chinese("".join(words)) else Language.ENGLISH
    return next((pair.links_from(language) for pair in translations(words, language)), ())


def _rows(n: int, longest: int, source: torch.Generator, *, held_out: bool) -> list[Row]:
    """Fresh pairs, every second one turned round."""
    drawn = random.Random(int(torch.randint(1 << 62, (), generator=source)))
    rows: list[Row] = []
    while len(rows) < n:
        sides = sentences(drawn, held_out=held_out)
        if max(map(len, sides)) <= longest:
            english, chinese = map(tokenizer().ids, sides)
            rows.append(Row(chinese, english) if len(rows) % 2 else Row(english, chinese))
    return rows

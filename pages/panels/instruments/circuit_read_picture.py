"""Who says what in a circuit: what each token adds to each logit, and which token a head reads."""

import numpy as np

from blocks.known.bracket_texts import CHARACTERS, CLOSING
from blocks.known.circuit import CircuitFacts
from blocks.known.followed import contributions
from pages.figures.pattern import head_map
from pages.figures.signed import signed_map
from pages.figures.theme import Picture, Translate
from pages.figures.token_matrix import Names, cell_marks, token_matrix
from pages.figures.weights import MASKED_CODE, codes


def votes(facts: CircuitFacts, *, _: Translate) -> Picture:
    """What each token adds to each logit; the last row is their sum, the logits themselves."""
    shown = [*map(CHARACTERS.index, CLOSING)]
    found = contributions(facts)[:, shown]
    values = np.vstack([found, found.sum(0)])
    said = _("adds {value} to this logit").format(value="%{customdata[2]:+.2f}")
    numbers = [[f"{x:+.1f}" if x else "" for x in row] for row in values]
    return token_matrix(
        signed_map(values, text=numbers, texttemplate="%{text}"),
        [cell_marks(np.ones(values.shape, dtype=bool), values, said)],
        Names(
            _("What each token adds to each logit"),
            _("token"),
            _("logit"),
            [*facts.tokens[: facts.token + 1], _("sum")],
            [*CLOSING],
        ),
        is_clicked=False,
        pinned=facts.key,
    )


def attention(facts: CircuitFacts, *, _: Translate) -> Picture:
    """What the chosen head attends to in this text."""
    pattern = facts.passed.pattern[facts.head]
    there = np.tril(np.ones_like(pattern)) > 0
    shown = np.where(there, codes(pattern), MASKED_CODE).astype(np.uint8)
    weights = np.where(there, pattern, np.nan)
    return head_map(shown, weights, facts.tokens, head=facts.head, pinned=facts.token, _=_)

"""Spoiling a sentence, so that a model learns by mending it; or asking what comes next.

Masked tokens: Devlin et al. 2018, section 3.1. Span corruption: Raffel et al. 2019, section 3.1.4,
with the random spans of T5's code (`random_spans_noise_mask`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from blocks.model.randomness import generator
from blocks.text.bpe import MASK

MASKED_SHARE, REPLACED_SHARE = 0.8, 0.1
SENTINEL = "<extra_id_{number}>"


class Example(NamedTuple):
    """What a model reads, and what it is asked; both in tokens.

    `asked` stands beside each token that is read (None: nothing is asked there), or, where
    `is_written`, is a text of its own. `spoilt`: places in `reads` that are not as they were.
    """

    reads: tuple[str, ...]
    asked: tuple[str | None, ...]
    spoilt: frozenset[int]
    is_written: bool = False

    @property
    def n_asked(self) -> int:
        """How many tokens are asked for."""
        return sum(token is not None for token in self.asked)


def next_token(tokens: Sequence[str]) -> Example:
    """Every token asks for the one that comes next; nothing is spoilt."""
    return Example(tuple(tokens[:-1]), tuple(tokens[1:]), frozenset())


def masked_tokens(
    tokens: Sequence[str], others: Sequence[str], *, share: float, seed: int
) -> Example:
    """A share of the tokens is asked for, at least one.

    Of those 80 % are hidden behind [MASK], 10 % are replaced by one of the `others`, 10 % stay.
    """
    random = generator(seed, "masked_tokens")
    n = len(tokens)
    chosen = torch.randperm(n, generator=random)[: max(1, round(share * n))].tolist()
    fates = torch.rand(len(chosen), generator=random).tolist()
    drawn = torch.randint(max(1, len(others)), (len(chosen),), generator=random).tolist()
    reads, asked = list(tokens), [None] * n
    for place, fate, other in zip(chosen, fates, drawn, strict=True):
        asked[place] = tokens[place]
        if fate < MASKED_SHARE:
            reads[place] = MASK
        elif fate < MASKED_SHARE + REPLACED_SHARE and others:
            reads[place] = others[other]
    spoilt = frozenset(i for i in chosen if reads[i] != tokens[i])
    return Example(tuple(reads), tuple(asked), spoilt)


def span_corruption(tokens: Sequence[str], *, share: float, mean_len: float, seed: int) -> Example:
    """Spans are replaced by one sentinel each, and written after it in the target."""
    spans = random_spans(len(tokens), share=share, mean_len=mean_len, seed=seed)
    reads: list[str] = []
    written: list[str] = []
    spoilt, end = [], 0
    for number, (start, stop) in enumerate(spans):
        sentinel = SENTINEL.format(number=number)
        reads += [*tokens[end:start], sentinel]
        spoilt.append(len(reads) - 1)
        written += [sentinel, *tokens[start:stop]]
        end = stop
    reads += tokens[end:]
    written.append(SENTINEL.format(number=len(spans)))
    return Example(tuple(reads), tuple(written), frozenset(spoilt), is_written=True)


def random_spans(
    n_tokens: int, *, share: float, mean_len: float, seed: int
) -> tuple[tuple[int, int], ...]:
    """Start and end (excluded) of spans that together are `share` of the tokens.

    The first token is never in one, and between two spans is at least one token; a text of one
    token has none.
    """
    if n_tokens < 2:
        return ()
    n_noise = min(max(round(n_tokens * share), 1), n_tokens - 1)
    n_kept = n_tokens - n_noise
    n_spans = min(max(round(n_noise / mean_len), 1), n_kept, n_noise)
    random = generator(seed, "span_corruption")
    noise, kept = (_segments(n, n_spans, random) for n in (n_noise, n_kept))
    spans, end = [], 0
    for n_before, n_inside in zip(kept, noise, strict=True):
        start = end + n_before
        end = start + n_inside
        spans.append((start, end))
    return tuple(spans)


def _segments(n: int, n_segments: int, random: torch.Generator) -> list[int]:
    """`n` cut into so many lengths of at least 1, every cut as likely as any other."""
    cuts = (torch.randperm(n - 1, generator=random)[: n_segments - 1] + 1).sort().values.tolist()
    ends = [*cuts, n]
    return [end - start for start, end in zip([0, *cuts], ends, strict=True)]

"""Which source word each target word stands for: what cross-attention says, and what is true.

Places are those of tokens: a link is (place in the source, place in the target). The first target
token is the start, so the row of attention that writes the token at place t is row t − 1; row t
belongs to the decoder that has read it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

import pandas as pd
import torch
from torch import Tensor

from blocks.corpora.stories import Language
from blocks.corpora.translation import Pair, translations
from blocks.model.models import Model
from blocks.model.source_target import SourceTarget, source_target_mask
from blocks.observe.recording import record
from blocks.text.bilingual import SentenceTokenizer, is_chinese
from blocks.text.marks import marks_of
from blocks.training.pairs import is_filled, padded

Link = tuple[int, int]
Links = frozenset[Link]
MEAN = -1
"""Number of the head that stands for the mean of a layer's heads."""


class Row(StrEnum):
    """Which row of cross-attention speaks for a target token: before it is written, or after.

    `writes` is the one that predicts it; `reads` the one that has it as its query (SHIFT-ATT of
    Chen et al. 2020, "Accurate word alignment induction from neural machine translation").
    """

    WRITES = "writes"
    READS = "reads"

    def of(self, place: int) -> int:
        """The row that speaks for the target token at this place."""
        return place - 1 if self is Row.WRITES else place


@dataclass(frozen=True)
class Score:
    """How well found links A agree with true ones S.

    `error` is the alignment error rate 1 − (|A∩S| + |A∩P|) / (|A| + |S|) of Och and Ney 2003,
    equation 4: 0 where all agree, 1 where none does. `precision` is |A∩P| / |A|, `recall`
    |A∩S| / |S|; a share of nothing is 0.
    """

    error: float
    precision: float
    recall: float
    n_found: int
    n_true: int
    n_right: int


def score(
    found: Collection[Link], sure: Collection[Link], possible: Collection[Link] = ()
) -> Score:
    """Found links against sure ones; `possible` are those that may be, besides the sure."""
    found_links, sure_links = frozenset(found), frozenset(sure)
    n_sure = len(found_links & sure_links)
    n_possible = len(found_links & (sure_links | frozenset(possible)))
    counted = len(found_links) + len(sure_links)
    return Score(
        error=1 - (n_sure + n_possible) / counted if counted else 0.0,
        precision=n_possible / len(found_links) if found_links else 0.0,
        recall=n_sure / len(sure_links) if sure_links else 0.0,
        n_found=len(found_links),
        n_true=len(sure_links),
        n_right=n_sure,
    )


def true_links(source: Sequence[str | None], target: Sequence[str | None]) -> Links | None:
    """The links of the grammar; None where it does not say the source, or translates otherwise.

    Tokens in order, None for special ones; the target may be the beginning of the translation.
    """
    read, written = _places(source), _places(target)
    words = tuple(word for word in source if word is not None)
    said = tuple(word for word in target if word is not None)
    language = language_of(words)
    for pair in translations(words, language):
        if pair.words(other_than(language))[: len(said)] == said:
            links = pair.links_from(language)
            return frozenset((read[a], written[b]) for a, b in links if b < len(said))
    return None


def language_of(words: Sequence[str]) -> Language:
    """Chinese where there is a Chinese character."""
    return Language.CHINESE if is_chinese("".join(words)) else Language.ENGLISH


def other_than(language: Language) -> Language:
    """The language into which it is translated."""
    return Language.ENGLISH if language is Language.CHINESE else Language.CHINESE


def _places(tokens: Sequence[str | None]) -> list[int]:
    return [place for place, token in enumerate(tokens) if token is not None]


def strongest(patterns: Sequence[Tensor]) -> list[list[list[int]]]:
    """The source token with the largest weight: by layer, head (the last is their mean) and row.

    `patterns`: one per layer, (n_heads, target, source). −1 where a row sees nothing.
    """
    stacked = torch.stack([pattern.float() for pattern in patterns])
    stacked = torch.cat([stacked, stacked.mean(dim=1, keepdim=True)], dim=1)
    weight, place = stacked.max(dim=-1)
    found: list[list[list[int]]] = torch.where(weight > 0, place, -1).tolist()
    return found


def hard_links(
    strongest_of: Sequence[int],
    source: Sequence[str | None],
    target: Sequence[str | None],
    row: Row = Row.WRITES,
) -> Links:
    """One link for each target word, to the source word it gives the largest weight.

    `strongest_of` is that of each row of a head. A word whose largest weight is on a special token
    is linked to nothing.
    """
    pairs = (
        (strongest_of[row.of(place)], place) for place in _places(target) if row.of(place) >= 0
    )
    words = set(_places(source))
    return frozenset((key, place) for key, place in pairs if key in words)


def all_heads(
    patterns: Sequence[Tensor],
    source: Sequence[str | None],
    target: Sequence[str | None],
    true: Links,
) -> pd.DataFrame:
    """Every head of cross-attention, and the mean of each layer (head −1), against the truth.

    Columns: layer, head, row, and the fields of `Score`; two rows per head, one for each `Row`.
    """
    rows = []
    for layer, heads in enumerate(strongest(patterns)):
        for head, keys in enumerate(heads):
            number = head if head < len(heads) - 1 else MEAN
            for row in Row:
                found = score(hard_links(keys, source, target, row), true)
                rows.append({"layer": layer, "head": number, "row": str(row), **vars(found)})
    return pd.DataFrame(rows)


def least_error(true: Links, target: Sequence[str | None], *, may_be_silent: bool) -> float:
    """The lowest error rate that one link for each target word can reach.

    Where words have several true links, or none, it is above 0. `may_be_silent`: a word may be
    linked to nothing, since the source has special tokens.
    """
    linked = {place for _source, place in true}
    n_found = len(linked) if may_be_silent else len(_places(target))
    counted = n_found + len(true)
    return 1 - 2 * len(linked) / counted if counted else 0.0


def over_pairs(
    model: Model,
    pairs: Sequence[Pair],
    source: Language,
    tokenizer: SentenceTokenizer,
    device: torch.device | str = "cpu",
) -> pd.DataFrame:
    """`all_heads` of each pair, the model reading its true translation (teacher forcing).

    One row per head, row and pair, in one frame; `source` is the language that is read.
    """
    rows = [(pair.words(source), pair.words(other_than(source))) for pair in pairs]
    marks = marks_of(tokenizer)
    read = [tokenizer.ids(words) for words, _written in rows]
    written = [[marks.start, *tokenizer.ids(words)] for _read, words in rows]
    texts = SourceTarget(*(padded(each, marks.padding).to(device) for each in (read, written)))
    mask = source_target_mask(*(is_filled(each).to(device) for each in (read, written)))
    seen = record(model, texts, mask=mask, keep={"cross_pattern"})
    layers = [each.cpu() for _path, each in sorted(seen.tensors.items(), key=_layer)]
    found = []
    for i, (pair, (words, others)) in enumerate(zip(pairs, rows, strict=True)):
        patterns = [layer[i, :, : len(others) + 1, : len(words)] for layer in layers]
        true = frozenset((a, b + 1) for a, b in pair.links_from(source))
        found.append(all_heads(patterns, words, (None, *others), true))
    return pd.concat(found, ignore_index=True)


def _layer(item: tuple[str, Tensor]) -> int:
    return int(item[0].split(".")[2])


def summed(found: pd.DataFrame) -> pd.DataFrame:
    """The error rate over all pairs together: one row per head and row, with sums of the links."""
    keys, counts = ["layer", "head", "row"], ["n_found", "n_true", "n_right"]
    table = found.groupby(keys, sort=False, as_index=False)[counts].sum()
    counted = (table["n_found"] + table["n_true"]).clip(lower=1)
    return table.assign(error=1 - 2 * table["n_right"] / counted)

"""Alignment: known answers, and what holds of any two sets of links."""

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import toy

from blocks import build
from blocks.corpora.stories import Language
from blocks.corpora.translation import held_out_pairs, tokenizer
from blocks.inspection.alignment import (
    MEAN,
    Row,
    all_heads,
    hard_links,
    least_error,
    over_pairs,
    score,
    strongest,
    summed,
    true_links,
)

START = None
DIAGONAL = frozenset((i, i + 1) for i in range(4))  # the start stands before the target
SOURCE, TARGET = ("a", "b", "c", "d"), (START, "A", "B", "C", "D")

LINKS = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)))


def attention(*keys: int, n_keys: int = 4) -> torch.Tensor:
    """A head whose rows read most from these keys: (target, source)."""
    weights = torch.full((len(keys), n_keys), 0.1)
    weights[range(len(keys)), list(keys)] = 0.7
    return weights


def test_the_same_links_have_no_error():
    found = score(DIAGONAL, DIAGONAL)
    assert (found.error, found.precision, found.recall) == (0, 1, 1)


def test_links_that_never_agree_are_all_wrong():
    found = score({(3, 1), (2, 2)}, {(0, 1), (1, 2)})
    assert (found.error, found.precision, found.recall) == (1, 0, 0)


def test_a_hand_made_example():
    """Three links found, four true, two of them right: 1 − 2·2/7."""
    found = score({(0, 0), (1, 1), (3, 2)}, {(0, 0), (1, 1), (2, 2), (2, 3)})
    assert found.error == pytest.approx(3 / 7)
    assert (found.precision, found.recall) == (pytest.approx(2 / 3), 0.5)
    assert (found.n_found, found.n_true, found.n_right) == (3, 4, 2)


def test_possible_links_are_forgiven_but_not_asked_for():
    """Och and Ney 2003: |A∩S| = 1, |A∩P| = 2, |A| = 2, |S| = 1."""
    found = score({(0, 0), (1, 1)}, {(0, 0)}, {(1, 1), (2, 2)})
    assert (found.error, found.precision, found.recall) == (0, 1, 1)


def test_nothing_against_nothing_is_no_error():
    assert score((), ()).error == 0


@settings(max_examples=30)
@given(LINKS, LINKS)
def test_the_error_lies_between_nothing_and_all(found: frozenset, sure: frozenset):
    result = score(found, sure)
    assert 0 <= result.error <= 1
    assert result.error == score(sure, found).error
    if found and sure and result.n_right:
        precision, recall = result.precision, result.recall
        f1 = 2 * precision * recall / (precision + recall)
        assert result.error == pytest.approx(1 - f1)  # where all sure links are the possible ones


def test_the_row_that_writes_a_token_stands_before_it():
    written = attention(0, 1, 2, 3, 3)
    (keys, _mean), *_none = strongest([written[None]])
    assert hard_links(keys, SOURCE, TARGET, Row.WRITES) == DIAGONAL
    read = attention(3, 0, 1, 2, 3)
    (keys, _mean), *_none = strongest([read[None]])
    assert hard_links(keys, SOURCE, TARGET, Row.READS) == DIAGONAL
    assert hard_links(keys, SOURCE, TARGET, Row.WRITES) != DIAGONAL


def test_the_head_that_aligns_is_found_and_the_mean_is_counted():
    heads = torch.stack([attention(0, 1, 2, 3, 3), attention(3, 2, 1, 0, 0)])
    table = all_heads([heads, heads.flip(0)], SOURCE, TARGET, DIAGONAL)
    assert len(table) == 2 * 3 * len(Row)
    writes = table[table["row"] == "writes"].set_index(["layer", "head"])["error"]
    assert writes[0, 0] == writes[1, 1] == 0
    assert writes[0, 1] == writes[1, 0] == 1
    assert (0, MEAN) in writes.index


def test_a_word_that_reads_a_special_token_is_linked_to_nothing():
    source = ("a", "b", None)
    (keys, _mean), *_none = strongest([attention(2, 1, 0, n_keys=3)[None]])
    assert hard_links(keys, source, (START, "A", "B")) == {(1, 2)}


def test_a_row_that_sees_nothing_gives_no_link():
    (keys, _mean), *_none = strongest([torch.zeros(1, 3, 2)])
    assert keys == [-1, -1, -1]
    assert hard_links(keys, ("a", "b"), (START, "A", "B")) == frozenset()


@pytest.mark.parametrize("pair", held_out_pairs(8))
def test_the_truth_is_that_of_the_grammar_in_both_directions(pair):
    for side, other in (("english", "chinese"), ("chinese", "english")):
        source, target = getattr(pair, side), getattr(pair, other)
        links = true_links((*source, None), (START, *target, None))
        places = pair.links if side == "english" else [(b, a) for a, b in pair.links]
        assert links == {(a, b + 1) for a, b in places}


def test_of_a_translation_that_is_begun_the_links_so_far_are_known():
    (pair,) = held_out_pairs(1)
    whole = true_links(pair.english, (START, *pair.chinese))
    begun = true_links(pair.english, (START, *pair.chinese[:2]))
    assert begun == {(a, b) for a, b in whole if b <= 2}
    assert true_links(pair.english, (START,)) == frozenset()


def test_what_the_grammar_does_not_say_has_no_truth():
    assert true_links(("word", "salad"), (START, "x")) is None
    assert true_links((), (START,)) is None
    (pair,) = held_out_pairs(1)
    assert true_links(pair.english, (START, *reversed(pair.chinese))) is None


def test_one_link_a_word_is_not_always_enough():
    assert least_error(DIAGONAL, TARGET, may_be_silent=False) == 0
    double = DIAGONAL | {(3, 1)}  # the first word stands for two
    assert least_error(double, TARGET, may_be_silent=True) == pytest.approx(1 - 8 / 9)
    single = frozenset({(0, 1)})  # three words stand for nothing
    assert least_error(single, TARGET, may_be_silent=False) == pytest.approx(1 - 2 / 5)
    assert least_error(single, TARGET, may_be_silent=True) == 0


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3), min_size=5, max_size=5), LINKS)
def test_no_head_does_better_than_the_least_error(keys: list[int], links: frozenset):
    true = frozenset((a, b) for a, b in links if a < 4 and 1 <= b < 5)
    found = hard_links(keys, SOURCE, TARGET)
    assert score(found, true).error >= least_error(true, TARGET, may_be_silent=False) - 1e-9


def test_over_many_pairs_links_are_summed_and_not_rates():
    table = all_heads([attention(0, 1, 2, 3, 3)[None]], SOURCE, TARGET, DIAGONAL)
    wrong = all_heads([attention(3, 2, 1, 0, 0)[None]], SOURCE, TARGET, frozenset({(0, 1)}))
    both = summed(pd.concat([table, wrong])).set_index(["head", "row"])
    assert both.loc[(0, "writes"), ["n_found", "n_true", "n_right"]].tolist() == [8, 5, 4]
    assert both.loc[(0, "writes"), "error"] == pytest.approx(1 - 8 / 13)


@pytest.mark.parametrize("source", [Language.ENGLISH, Language.CHINESE])
def test_every_head_is_measured_on_every_pair(source: Language):
    pairs, words = held_out_pairs(3), tokenizer()
    sizes = {"n_layers": 1, "n_decoder_layers": 2, "max_seq_len": 32}
    config = toy(architecture="encoder-decoder", vocab_size=words.vocab_size, **sizes)
    found = over_pairs(build(config), pairs, source, words)
    assert len(found) == len(pairs) * 2 * (config.n_heads + 1) * len(Row)
    one = found[(found["layer"] == 1) & (found["head"] == 0) & (found["row"] == "writes")]
    assert one["n_true"].tolist() == [len(pair.links) for pair in pairs]
    assert summed(found)["error"].between(0, 1).all()

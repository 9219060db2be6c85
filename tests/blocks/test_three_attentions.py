"""Facts of two texts: what one head, one token and all heads of a real run show."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from toy import toy

from blocks.inspection import aligned_heads, encoder_output
from blocks.inspection import three_attentions as facts_of
from blocks.inspection.alignment import MEAN, Row
from blocks.inspection.three_attentions import Head, Pins
from blocks.inspection.two_texts import AttentionKind
from blocks.model.masks import MaskConfig
from blocks.observe.interventions import without_cross_attention
from blocks.observe.run import Input, PaddingSide, Run
from blocks.text.tokenizers import shipped_tokenizer

CONFIG = toy(architecture="encoder-decoder", n_layers=2, n_decoder_layers=3, vocab_size=11)
SOURCE = Input(tokens=("a", "b", "c"), token_ids=(3, 4, 5), n_padding=1)
TARGET = Input(tokens=("s", "x", "y"), token_ids=(1, 7, 8))
RUN = Run(config=CONFIG, input=SOURCE, target=TARGET, mask=MaskConfig(mask_kind="causal"), seed=4)
SEEN = RUN.record(RUN.build())
PINS = Pins(source=1, target=1)


def head_facts(kind: AttentionKind, pins: Pins = PINS):
    heads = facts_of.all_heads(RUN, SEEN, kind)
    return facts_of.head_facts(RUN, SEEN, heads, Head(kind, 1, 0), pins)


@pytest.mark.parametrize("kind", AttentionKind)
def test_a_head_is_its_weights_and_what_its_pinned_row_reads_most(kind: AttentionKind):
    facts = head_facts(kind)
    assert facts.weights.shape == (len(facts.queries), len(facts.keys))
    assert np.nansum(facts.weights, axis=1) == pytest.approx(1)
    row = np.nan_to_num(facts.weights[facts.query])
    assert facts.most_read[0] == (facts.keys[row.argmax()], pytest.approx(row.max()))
    assert facts.n_masked == np.isnan(facts.weights).sum() and facts.seed == 4
    assert facts.effective_tokens[0] == facts.heads["effective_tokens"].min()


def test_the_row_of_cross_attention_knows_what_it_writes():
    assert head_facts(AttentionKind.CROSS).written_next == "y"
    assert head_facts(AttentionKind.CROSS, Pins(1, 2)).written_next == ""
    assert head_facts(AttentionKind.DECODER).written_next == ""


def test_a_token_is_followed_where_it_reads_and_where_it_is_read():
    cross = head_facts(AttentionKind.CROSS).weights
    of_target, of_source = (
        facts_of.token_facts(RUN, SEEN, 1, 0, text, PINS) for text in ("target", "source")
    )
    np.testing.assert_array_equal(of_target.in_source, cross[1])
    np.testing.assert_array_equal(of_source.in_target, cross[:, 1])
    assert (of_target.token, of_source.token) == ("x", "b")
    assert of_source.total_of_target == pytest.approx(cross[:, 1].sum())
    assert "[PAD]" not in dict(of_source.most_in_source)
    padding = facts_of.token_facts(RUN, SEEN, 1, 0, "source", Pins(3, 1))
    assert padding.is_cut_off and not of_source.is_cut_off


def test_all_heads_of_one_attention_and_the_one_that_is_looked_at():
    kind, which = AttentionKind.CROSS, Head(AttentionKind.CROSS, 1, 1)
    heads = facts_of.all_heads(RUN, SEEN, kind)
    facts = facts_of.kind_facts(RUN, SEEN, heads, kind, which, PINS)
    assert len(facts.heads) == 3 * CONFIG.n_heads and facts.selected == CONFIG.n_heads + 1
    assert (facts.pinned, facts.pinned_key) == (0.5, 1.5 / 4)
    other = facts_of.kind_facts(RUN, SEEN, heads, AttentionKind.ENCODER, which, PINS)
    assert other.selected is None and other.pinned_key is None


def test_padding_that_moves_no_token_changes_next_to_nothing():
    alone = facts_of.without_padding(RUN)
    left = replace(RUN, input=replace(SOURCE, padding_side=PaddingSide.LEFT))
    seen = [each.record(each.build()) for each in (alone, left)]
    right = facts_of.padding_facts(RUN, SEEN, seen[0])
    moved = facts_of.padding_facts(left, seen[1], seen[0])
    assert right.most < 1e-5 < moved.most


def test_what_is_switched_off_is_read_in_vain():
    off = replace(RUN, interventions=without_cross_attention(CONFIG))
    assert facts_of.reads_in_vain(off) and not facts_of.reads_in_vain(RUN)


@pytest.mark.parametrize(("token", "shown"), [(0, (0, 4)), (5, (3, 7)), (9, (6, 10))])
def test_a_long_text_is_cut_around_a_token(token: int, shown: tuple[int, int]):
    assert facts_of.around(token, 10, 4) == slice(*shown)
    assert facts_of.around(token, 3, 4) == slice(0, 3)


def test_links_of_a_head_are_those_of_its_largest_weights():
    texts = aligned_heads.texts_facts(RUN, shipped_tokenizer())
    assert texts.truth is aligned_heads.Truth.NO_GRAMMAR and texts.target == (None, "x", "y")
    for head in (0, MEAN):
        facts = aligned_heads.links_facts(RUN, SEEN, texts, 1, head, Row.WRITES, PINS)
        strongest = np.nan_to_num(facts.weights).argmax(axis=1)
        assert facts.found == {(int(strongest[place - 1]), place) for place in (1, 2)}
        assert [to for to, _word in facts.pairs] == ["x", "y"] and facts.score is None


def test_the_best_head_is_best_on_validation_sentences_before_this_one():
    table = pd.DataFrame({"layer": [0, 0], "head": [0, MEAN], "error": [0.1, 0.9]})
    facts = aligned_heads.HeadsFacts(table, 0)
    assert facts.measures == ("error",) and facts.best(Row.WRITES) == (0, 0, 0.1)
    assert facts.best_by(Row.READS) is None
    more = aligned_heads.HeadsFacts(table.assign(held_out=[0.5, 0.25], recall=[0.5, 1.0]), 8)
    assert more.best(Row.WRITES) == (0, MEAN, 0.25)
    assert more.sorted_by("recall")["head"].tolist() == [MEAN, 0]
    assert more.sorted_by("layer")["head"].tolist() == [0, MEAN]


def test_what_is_handed_over_is_averaged_without_padding():
    facts = encoder_output.source_facts(RUN, SEEN, 0)
    alone = facts_of.without_padding(RUN)
    bare = encoder_output.source_facts(alone, alone.record(alone.build()), 0)
    assert facts.before.shape == (4, 4) and len(facts.changes) == 3
    assert math.isclose(facts.mean_after, bare.mean_after, rel_tol=1e-4)
    assert facts.most_changed[0] == bare.most_changed[0]
    assert facts.lengths.longest == bare.lengths.longest != "[PAD]"
    assert facts.drift == facts.mean_after - facts.mean_before and not facts.is_alone

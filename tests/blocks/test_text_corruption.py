"""Spoilt sentences: what is asked, what can be mended, and how much of it."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.text.bpe import MASK
from blocks.text.corruption import masked_tokens, next_token, random_spans, span_corruption

lengths, seeds = st.integers(2, 60), st.integers(0, 10**6)
shares, means = st.floats(0.05, 0.6), st.floats(1, 5)
OTHERS = ("other", "another")


def words(n: int) -> tuple[str, ...]:
    return tuple(f"w{i}" for i in range(n))


@settings(max_examples=30)
@given(lengths, shares, means, seeds)
def test_spans_hold_the_share_and_never_touch(n, share, mean_len, seed):
    spans = random_spans(n, share=share, mean_len=mean_len, seed=seed)
    assert sum(end - start for start, end in spans) == min(max(round(n * share), 1), n - 1)
    before = 0
    for start, end in spans:
        assert before < start < end <= n
        before = end
    assert spans == random_spans(n, share=share, mean_len=mean_len, seed=seed)


@settings(max_examples=30)
@given(lengths, shares, means, seeds)
def test_the_target_of_span_corruption_mends_its_input(n, share, mean_len, seed):
    found = span_corruption(words(n), share=share, mean_len=mean_len, seed=seed)
    pieces, name = {}, ""
    for token in found.asked:
        if token.startswith("<extra_id_"):
            name = token
            pieces[name] = []
        else:
            pieces[name].append(token)
    mended = [w for token in found.reads for w in pieces.get(token, [token])]
    assert tuple(mended) == words(n)
    assert pieces[found.asked[-1]] == []
    assert {found.reads[i] for i in found.spoilt} == {*pieces} - {found.asked[-1]}


@settings(max_examples=30)
@given(st.integers(1, 60), shares, seeds)
def test_masked_tokens_ask_for_what_stood_there(n, share, seed):
    found = masked_tokens(words(n), OTHERS, share=share, seed=seed)
    asked = [i for i, token in enumerate(found.asked) if token is not None]
    assert len(asked) == max(1, round(share * n))
    assert all(found.asked[i] == words(n)[i] for i in asked)
    changed = {i for i in range(n) if found.reads[i] != words(n)[i]}
    assert changed == set(found.spoilt) <= set(asked)


def test_of_those_asked_for_eighty_percent_are_hidden_ten_replaced_ten_kept():
    fates = Counter()
    for seed in range(200):
        found = masked_tokens(words(40), OTHERS, share=0.5, seed=seed)
        for read, asked in zip(found.reads, found.asked, strict=True):
            if asked is not None:
                fates["hidden" if read == MASK else "replaced" if read in OTHERS else "kept"] += 1
    total = fates.total()
    assert abs(fates["hidden"] / total - 0.8) < 0.03
    assert abs(fates["replaced"] / total - 0.1) < 0.02


def test_the_next_token_is_asked_everywhere():
    found = next_token(words(4))
    assert found.reads == ("w0", "w1", "w2") and found.asked == ("w1", "w2", "w3")


def test_the_paper_example_has_the_shape_of_the_paper():
    text = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week"]
    found = span_corruption(text, share=0.3, mean_len=2, seed=1)
    assert len(found.reads) < len(text)
    assert found.asked[0] == "<extra_id_0>"
    assert random_spans(1, share=0.15, mean_len=3, seed=0) == ()

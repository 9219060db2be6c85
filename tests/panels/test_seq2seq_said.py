"""What the panels of an encoder–decoder say: facts filled in by hand, each case read."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from said_in import in_both

from blocks.inspection.aligned_heads import HeadsFacts, LinksFacts, Truth
from blocks.inspection.alignment import Row, Score
from blocks.inspection.encoder_output import Across, SourceFacts
from blocks.inspection.three_attentions import Head, HeadFacts, PaddingFacts, Pins, TokenFacts
from blocks.inspection.two_texts import AttentionKind
from blocks.observe.run import PaddingSide
from pages.panels.seq2seq import alignment, attention, memory

SOURCE, TARGET = ("I", "like", "`milk`"), ("[BEGIN]", "我", "喜欢", "牛奶")
NAN = np.nan
WEIGHTS = np.array(
    [[0.9, 0.06, 0.04], [0.2, 0.5, 0.3], [NAN, NAN, NAN], [1, 0, NAN]], dtype=np.float32
)
SHARPNESS = pd.DataFrame(
    {"layer": [0, 1], "head": [0, 1], "entropy_bits": [2.0, 0.5], "effective_tokens": [4.0, 1.4]}
)
HEAD = HeadFacts(
    Head(AttentionKind.CROSS, 1, 1), TARGET, SOURCE, WEIGHTS, SHARPNESS, Pins(2, 0), "我", seed=3
)
TOKEN = TokenFacts(
    layer=1,
    head=1,
    text="target",
    pins=Pins(source=2, target=1),
    source=SOURCE,
    target=TARGET,
    in_source=WEIGHTS[1],
    in_target=np.array([0.25, 0.75, NAN, NAN]),
    is_source=np.array([True, True, False]),
)
LINKS = LinksFacts(
    layer=1,
    head=-1,
    row=Row.WRITES,
    source=SOURCE,
    target=TARGET,
    weights=WEIGHTS,
    found=frozenset({(0, 1), (1, 2)}),
    true=frozenset({(0, 1)}),
    truth=Truth.KNOWN,
    score=Score(0.25, 0.5, 1.0, n_found=2, n_true=1, n_right=1),
    least_error=0.125,
    pins=Pins(0, 1),
    seed=None,
)
HEADS = HeadsFacts(
    pd.DataFrame(
        {"layer": [0, 0], "head": [0, -1], "held_out": [0.5, 0.25], "held_out_reads": [0.125, 0.75]}
    ),
    n_pairs=64,
)
VECTORS = SourceFacts(
    labels=SOURCE,
    is_token=np.array([True, True, False]),
    tokens=pd.DataFrame({"norm": [2.0, 3.0, 9.0], "cosine": [0.5, 0.25, 1.0]}),
    before=np.eye(3, dtype=np.float32),
    after=np.eye(3, dtype=np.float32),
    mean_before=0.125,
    mean_after=0.5,
    changes=np.array([[1, 2, 50], [0.5, 0.5, 0.5]], dtype=np.float32),
    n_layers=1,
    pinned=0,
    seed=None,
)
UNKNOWN = replace(LINKS, true=None, truth=Truth.OTHER_TARGET, score=None)
CASES = [
    (attention.says_head, HEAD, "effectively attends to 1.4 tokens (in layer 2, head 2) to 4.0."),
    (attention.says_head, HEAD, "`[BEGIN]` attends to `I` (90%), `like` (6.0%) in the source"),
    (attention.says_head, HEAD, "The token it writes next is “`我`”. A query"),
    (attention.says_head, replace(HEAD, pins=Pins(2, 2)), "its row is all zeros."),
    (attention.says_head, replace(HEAD, seed=None), "The weights are trained."),
    (attention.says_map, HEAD, "Hatched cells are masked: 4 of 12."),
    (attention.says_map, replace(HEAD, weights=np.full((4, 3), 0.01)), "No weight exceeds 1.0%"),
    (attention.says_token, TOKEN, "attends in the source to `like` (50%), `ˋmilkˋ` (30%)"),
    (
        attention.says_token,
        replace(TOKEN, text="source"),
        "in the target and from `like` (50%), `I` (20%) in the source; all target tokens "
        "together give it 1.00 of 4.",
    ),
    (attention.says_token, replace(TOKEN, in_source=WEIGHTS[2]), "cannot attend to the source."),
    (attention.says_padding, PaddingFacts(0.0, PaddingSide.LEFT), "same with and without padding"),
    (attention.says_padding, PaddingFacts(0.5, PaddingSide.LEFT), "moved to a later position."),
    (attention.says_padding, PaddingFacts(0.5, PaddingSide.RIGHT), "padding included."),
    (
        alignment.says_links,
        LINKS,
        "Cross-attention of layer 2, mean of heads finds 1 of 1 true links with 2 links: "
        "alignment error rate 0.25, precision 50%, recall 100%. With one link per target word the "
        "error rate cannot go below 0.12 here",
    ),
    (alignment.says_links, replace(LINKS, least_error=0.0), "it could reach 0."),
    (alignment.says_links, UNKNOWN, "mean of heads: `我` ← `I`, `喜欢` ← `like`."),
    (alignment.says_links, replace(UNKNOWN, found=frozenset()), "heads predicts no link."),
    (alignment.says_links, replace(LINKS, seed=3), "(seed 3), so this is chance."),
    (
        alignment.says_heads,
        HEADS,
        "Over 64 validation sentences layer 1, mean of heads aligns best (error rate 0.25); by "
        "the query one row later it would be layer 1, head 1 (0.12).",
    ),
    (memory.says_source, VECTORS, "0.12 before the first layer and of 0.50 at the encoder's"),
    (memory.says_source, VECTORS, "Layer 1 changes them most, on average by 1.50"),
    (memory.says_source, replace(VECTORS, is_token=np.array([1, 0, 0]) > 0), "one source token"),
    (memory.says_lengths, VECTORS, "Longest is `like` (3.00), shortest `I` (2.00). `I` has kept"),
    (memory.says_across, Across(0.25, 0.5, 0.125, 40), "Its layers bring them closer."),
    (memory.says_across, Across(0.5, 0.5, 0.125, 40), "bring them no closer"),
]


@pytest.mark.parametrize(("says", "facts", "part"), CASES)
def test_each_case_is_said_in_both_languages(monkeypatch, says, facts, part: str):
    said = in_both(monkeypatch, says, facts)
    assert part in said["en"]
    assert said["zh"] != said["en"]

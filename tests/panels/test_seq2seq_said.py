"""What the panels of an encoder–decoder say: facts filled in by hand, each case read."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from said_in import in_both

from blocks.inspection.aligned_heads import HeadsFacts, LinksFacts, Truth
from blocks.inspection.alignment import Row, Score
from blocks.inspection.architectures import TaskFacts
from blocks.inspection.encoder_output import Across, SourceFacts
from blocks.inspection.missing_source import HiddenFacts, Missing, WaysFacts
from blocks.inspection.search import AgainstGreedy, CandidateFacts, SearchFacts
from blocks.inspection.three_attentions import Head, HeadFacts, PaddingFacts, Pins, TokenFacts
from blocks.inspection.two_texts import AttentionKind
from blocks.observe.run import PaddingSide
from blocks.text.beam import BeamConfig
from pages.panels.seq2seq import alignment, architectures, attention, decoding, memory, missing

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
NODES = pd.DataFrame(
    [
        (None, 1, 5, "我", np.log(0.25), np.log(0.25), np.log(0.25), None, "kept"),
        (None, 1, 6, "`他`", np.log(0.5), np.log(0.5), np.log(0.5), None, "dropped"),
        (0, 2, 9, "[END]", np.log(0.5), np.log(0.125), -1.5, 1, "finished"),
    ],
    columns=[
        *("parent", "step", "token_id", "label", "token_log_prob", "log_prob", "score"),
        *("rank", "fate"),
    ],
).astype({"parent": "Int64", "rank": "Int64"})
SEARCH = SearchFacts(
    how=BeamConfig(start_id=1, stop_id=9, beam_width=1, max_new_tokens=8),
    nodes=NODES,
    n=2,
    step=2,
    place=2,
    n_steps=8,
    n_forced=0,
    start="[BEGIN]",
    text="我",
    results=(),
)
FULL = replace(SEARCH, place=0, step=2, n_steps=2)
LIKELY = pd.DataFrame({"token_id": [5], "label": ["我"], "probability": [0.75]})
CANDIDATES = CandidateFacts(LIKELY, "[BEGIN]", None, smoothing=0.0)
WAYS = WaysFacts(
    (Missing.CROSS_OFF, Missing.HIDDEN),
    np.array([[0.05, 3.0, 0.25], [9, 9, 9]], dtype=np.float32),
    ("我", "`他`", "[END]"),
    pinned=0,
    seed=None,
)
HIDDEN = HiddenFacts(SOURCE, np.array([[0.5, 2.0], [0.1, 0.3]]), ("我", "他"), 0, 0)
COSTS = pd.DataFrame(
    {
        "architecture": ["encoder", "gpt", "encoder-decoder"],
        "parameters": [100, 100, 200],
        "reading": [5, 5, 5],
        "writing": [0, 5, 7],
    }
)
CASES = [
    (
        architectures.says_task,
        TaskFacts(COSTS, 3, 4, 8),
        "At d_model 8, the encoder–decoder has 2.00 times the parameters of the decoder-only "
        "model; with a source of length 3 and a target of length 4 it takes 1.20 times its FLOPs.",
    ),
    (
        decoding.says_target,
        SEARCH,
        "After 2 of 2 steps, the target has a log-probability of −2.08 nats (probability 13%, the "
        "product over its tokens). The target is complete (`[END]`). The model was least "
        "confident about `我` at step 1: 25%.",
    ),
    (decoding.says_target, replace(SEARCH, place=None), "There is only the start token"),
    (
        partial(decoding.says_smoothing, coming=replace(CANDIDATES, smoothing=0.1)),
        SEARCH,
        "training aims for a probability of 90% for the correct token",
    ),
    (decoding.says_target, replace(SEARCH, place=1), "The search pruned this hypothesis"),
    (
        decoding.says_target,
        replace(SEARCH, n_forced=1),
        "Of its own choices, the model was least confident about `[END]` at step 2: 50%.",
    ),
    (decoding.says_target, FULL, "The target was cut off: max_seq_len limits it to 2 tokens."),
    (
        decoding.says_target,
        replace(FULL, how=BeamConfig(start_id=1, stop_id=9, max_new_tokens=2)),
        "The target was cut off: max_new_tokens limits",
    ),
    (
        decoding.says_target,
        replace(FULL, how=BeamConfig(start_id=0, stop_id=-1)),
        "With random weights, the generated text does not end by itself, so it is cut off at a",
    ),
    (
        decoding.says_tree,
        SEARCH,
        "The search explored 3 hypotheses, pruned 1 and finished 1. Greedy search",
    ),
    (decoding.says_against_greedy, AgainstGreedy(-1.5, -2.5, False), "−2.5 (beam search: −1.5)"),
    (decoding.says_against_greedy, AgainstGreedy(-1.5, -1.5, True), "finds the same target"),
    (decoding.says_steps, replace(SEARCH, n=60, step=30), "Steps 18 to 41 of 60"),
    (decoding.says_candidates, CANDIDATES, "top prediction is `我` (75%)"),
    (decoding.says_candidates, replace(CANDIDATES, smoothing=0.1), "label smoothing 0.1, so"),
    (
        missing.says_ways,
        WAYS,
        "changes by 1.10 bits (KL) on average; it changes most at `ˋ他ˋ` (3.0 bits) and least at "
        "`我` (0.05 bits). For 1 of 3 tokens, the prediction hardly needs the source",
    ),
    (missing.says_ways, replace(WAYS, seed=3), "(seed 3); how to use the source"),
    (
        missing.says_ways,
        replace(WAYS, bits=WAYS.bits + 1),
        "Every token's prediction depends on the source.",
    ),
    (missing.says_hidden, HIDDEN, "effects on the prediction (bits): `他` ← `I` (2.0)."),
    (
        missing.says_hidden,
        replace(HIDDEN, bits=HIDDEN.bits / 9),
        "by more than 1 bit (KL) when a single source token is hidden.",
    ),
    (missing.says_blind, ("the cat 猫",), "mixes the two."),
    (attention.says_head, HEAD, "effectively attends to 1.4–4.0 tokens, depending on the head."),
    (attention.says_head, HEAD, "`[BEGIN]` attends to `I` (90%), `like` (6.0%) in the source"),
    (attention.says_head, HEAD, "The decoder writes “`我`” next. In cross-attention, a query"),
    (attention.says_head, replace(HEAD, pins=Pins(2, 2)), "its row is all zeros."),
    (attention.says_head, HEAD, "The weights are random (seed"),
    (attention.says_map, HEAD, "Hatched cells are masked: 4 of 12."),
    (attention.says_map, replace(HEAD, weights=np.full((4, 3), 0.01)), "No weight exceeds 1.0%"),
    (
        attention.says_token,
        TOKEN,
        "In the source, `我` attends most to `like` (50%), `ˋmilkˋ` (30%)",
    ),
    (
        attention.says_token,
        replace(TOKEN, text="source"),
        "in the target and from `like` (50%), `I` (20%) in the source; together, "
        "the target tokens give it 1.00 of a total weight of 4.",
    ),
    (attention.says_token, replace(TOKEN, in_source=WEIGHTS[2]), "cannot attend to the source."),
    (attention.says_padding, PaddingFacts(0.0, PaddingSide.LEFT), "same with and without padding"),
    (attention.says_padding, PaddingFacts(0.5, PaddingSide.LEFT), "moved to a later position."),
    (attention.says_padding, PaddingFacts(0.5, PaddingSide.RIGHT), "padding included."),
    (
        alignment.says_links,
        LINKS,
        "Cross-attention of layer 2 (mean of heads) predicts 2 links and finds 1 of the 1 true "
        "ones: alignment error rate 0.25, precision 50%, recall 100%. With one link per target "
        "word, the error rate cannot go below 0.12 here",
    ),
    (alignment.says_links, replace(LINKS, least_error=0.0), "the error rate could reach 0."),
    (alignment.says_links, UNKNOWN, "(mean of heads): `我` ← `I`, `喜欢` ← `like`."),
    (alignment.says_links, replace(UNKNOWN, found=frozenset()), "heads) predicts no links."),
    (alignment.says_links, replace(LINKS, seed=3), "(seed 3), so these links are due to chance."),
    (alignment.says_links, LINKS, "The outlined word `我` is linked to `I`; this link is correct."),
    (
        alignment.says_links,
        replace(LINKS, pins=Pins(0, 2)),
        "The outlined word `喜欢`, which has no true link, is linked to `like`.",
    ),
    (
        alignment.says_links,
        replace(LINKS, pins=Pins(0, 2), true=frozenset({(0, 1), (0, 2)})),
        "The outlined word `喜欢` is linked to `like`, but should be linked to `I`.",
    ),
    (alignment.says_links, UNKNOWN, "The outlined word `我` is linked to `I`."),
    (
        alignment.says_heads,
        HEADS,
        "Over 64 validation sentences, layer 1 (mean of heads) aligns best (error rate 0.25); "
        "with the query taken from the next row, where the word itself is read, layer 1, head 1 "
        "would align best (0.12).",
    ),
    (memory.says_source, VECTORS, "0.12 before the first layer and of 0.50 at the encoder's"),
    (memory.says_source, VECTORS, "Layer 1 changes the vectors most: by 1.50"),
    (memory.says_source, replace(VECTORS, is_token=np.array([1, 0, 0]) > 0), "one source token"),
    (
        memory.says_lengths,
        VECTORS,
        "The longest vector is `like` (3.00), the shortest `I` (2.00). `I` has changed",
    ),
    (memory.says_across, Across(0.25, 0.5, 0.125, 40), "The layers bring the languages closer."),
    (memory.says_across, Across(0.5, 0.5, 0.125, 40), "The layers bring the languages no closer"),
]


@pytest.mark.parametrize(("says", "facts", "part"), CASES)
def test_each_case_is_said_in_both_languages(monkeypatch, says, facts, part: str):
    said = in_both(monkeypatch, says, facts)
    assert part in said["en"]
    assert said["zh"] != said["en"]

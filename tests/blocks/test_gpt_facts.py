"""Facts of a GPT: the next token, new tokens, cache, lens and surprise."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from toy import toy

from blocks.inspection.cache_growth import CacheTimes, cache_facts
from blocks.inspection.lens import LensFacts, lens_table, logit_lens
from blocks.inspection.new_tokens import NewTokens
from blocks.inspection.next_token import NextFacts, vocabulary
from blocks.inspection.predictions import surprise_facts
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.run import Input, PaddingSide, Run
from blocks.text.sampling import SamplingConfig
from blocks.text.written import Written

WORDS = ("a", "b", "c", "a", "b")
LABELS = [f"⟨{i}⟩" for i in range(64)]


def gpt(n_padding: int = 0, side: PaddingSide = PaddingSide.LEFT, **changes) -> Run:
    ids = tuple("abc".index(word) for word in WORDS)
    given = Input(tokens=WORDS, token_ids=ids, n_padding=n_padding, padding_side=side)
    config = toy(architecture="gpt", n_layers=2, vocab_size=64, **changes)
    return Run(config=config, input=given, mask=MaskConfig(mask_kind=MaskKind.CAUSAL), seed=3)


def test_where_the_text_stands_among_padding():
    assert gpt().input.text == slice(0, 5)
    assert gpt(3).input.text == slice(3, 8)
    assert gpt(3, PaddingSide.RIGHT).input.text == slice(0, 5)


def next_facts(logits: torch.Tensor, **sampling) -> NextFacts:
    chosen = SamplingConfig(**sampling)
    return NextFacts(gpt(), 1, chosen, vocabulary(logits, chosen), LABELS.__getitem__)


def test_the_next_token():
    logits = torch.arange(64.0).flip(0) / 8
    facts, probs = next_facts(logits, top_k=4), logits.softmax(-1)
    assert facts.after == "b" and facts.n_others == 52
    assert facts.likeliest["label"].tolist() == LABELS[:12]
    assert facts.probability == pytest.approx((probs[0] / probs[:4].sum()).item())
    assert facts.n_kept == 4 and facts.dropped == pytest.approx(probs[4:].sum().item())
    assert facts.of_others("model_probability") == pytest.approx(probs[12:].sum().item())
    assert facts.of_others("probability") == 0
    drawn = torch.distributions.Categorical(probs=probs[:4]).entropy().item()
    assert facts.bits == pytest.approx(drawn / math.log(2))
    assert facts.n_alike == pytest.approx(math.exp(drawn))
    assert next_facts(logits, temperature=0).bits == 0
    assert next_facts(logits[:3]).n_others == 0


def written(n: int, opened: int = -1) -> NewTokens:
    """New tokens 9, 10, …, whose heads read four tokens."""
    reads = np.zeros((2, 4, 4), np.float16)
    reads[1, 2, 3] = 0.5
    found = [Written(9 + i, 0.5, 0.25, reads, i, 64 * (i + 5)) for i in range(n)]
    return NewTokens(gpt(), tuple(found), opened % n, LABELS.__getitem__)


def test_what_was_read_to_make_a_new_token():
    facts = written(3)
    assert facts.labels == ("⟨9⟩", "⟨10⟩", "⟨11⟩")
    assert facts.keys == ("a", "b", "⟨9⟩", "⟨10⟩") and facts.first_key == 3
    assert facts.sharpest == (1, 2, 3, 0.5, False)
    reads = np.zeros((2, 4, 4), np.float16)
    reads[..., 0], reads[1, 2] = 1, (0.25, 0, 0.75, 0)
    resting = replace(facts, found=(replace(facts.found[0], reads=reads),), opened=0)
    assert resting.sharpest[2:] == (0, 1.0, False)
    text = resting.first_key  # the first token that the heads still see
    assert replace(resting, apart=(text,)).sharpest == (1, 2, 2, 0.75, True)
    assert replace(resting, apart=(text - 1,)).sharpest[2:] == (0, 1.0, False)
    assert written(3, 0).keys == ("b", "c", "a", "b")
    assert facts.table()["context_start"].tolist() == [0, 1, 2]


def test_the_cache_of_a_text():
    run = gpt(n_kv_heads=2)
    facts = cache_facts(run, written(2).found, None)
    assert facts.itemsize == 4 and facts.bytes_per_token == 2 * 2 * 2 * 4 * 4
    assert facts.times_saved == 2 and facts.last["n_read"] == 6
    assert facts.is_shifted and not cache_facts(run, written(1).found, None).is_shifted


def test_the_medians_leave_the_first_token_out():
    steps = {"with_cache": [99.0, 1, 2, 3], "without": [99.0, 4, 6, 8]}
    facts = CacheTimes(pd.DataFrame(steps), "here")
    assert (facts.n, facts.with_cache, facts.without, facts.ratio) == (3, 2, 6, 3)


def test_the_lens():
    run = gpt()
    model = run.build()
    seen = run.record(model)
    lens = logit_lens(model, seen)
    facts = LensFacts(run, lens, 2, LABELS.__getitem__)
    assert facts.answer == LABELS[seen.output[0, 2].argmax()]
    is_first = lens.rank[:, 2] == 1
    assert is_first[facts.decided :].all()
    assert facts.decided == 0 or not is_first[facts.decided - 1]
    assert facts.rank_before == lens.rank[0, 2]
    assert facts.layers == [0, 1, 2] and facts.drawn.is_whole
    assert facts.cells(lens.rank).tolist() == lens.rank.T.tolist()
    table = lens_table(run, lens, LABELS.__getitem__)
    assert len(table) == 3 * 5 and table["token"][7] == "c"


def deep_lens(rank: np.ndarray, pinned: int = 2) -> LensFacts:
    return LensFacts(gpt(), type("", (), {"rank": rank})(), pinned, LABELS.__getitem__)


def test_of_many_layers_the_last_have_room_and_the_one_that_decides():
    lens = deep_lens(np.ones((49, 5), int))
    assert len(lens.layers) == 13 and lens.layers[0] == 0 and lens.layers[-7:] == [*range(42, 49)]
    assert lens.cells(lens.lens.rank).shape == (5, 13) and lens.decided == 0


@pytest.mark.parametrize("decided", [*range(31)])
def test_the_layer_that_decides_has_a_column(decided: int):
    rank = np.ones((31, 5), int)
    rank[:decided] = 9
    lens = deep_lens(rank)
    assert lens.decided == decided and decided in lens.layers
    assert lens.layers == sorted({*lens.layers}) and len(lens.layers) == 13
    assert {0, 30} <= {*lens.layers}


def test_of_a_long_text_only_what_is_drawn_is_read():
    run = replace(gpt(), input=Input(tokens=("a",) * 40, token_ids=(1,) * 40))
    drawn = LensFacts.drawn_of(run, 20)
    assert (drawn.first, drawn.end, drawn.n) == (12, 28, 40)
    rank = np.arange(3 * 16).reshape(3, 16)
    lens = LensFacts(run, type("", (), {"rank": rank})(), 20, LABELS.__getitem__)
    assert lens.drawn == drawn and lens.rank_before == 8
    assert lens.of_pinned(rank).tolist() == [8, 24, 40]


@pytest.mark.parametrize("n_padding", [0, 2])
def test_the_surprise_is_the_loss(n_padding: int):
    run = gpt(n_padding)
    logits = run.record(run.build()).output[0]
    facts = surprise_facts(run, logits, pinned=1)
    text = run.input.text
    loss = torch.nn.functional.cross_entropy(logits[text][:-1], run.values()[0, text][1:]).item()
    assert facts.nats == pytest.approx(loss) and facts.perplexity == pytest.approx(math.exp(loss))
    assert facts.guess_bits == 6
    assert facts.tokens["position"].tolist() == [n_padding + i for i in range(1, 5)]
    assert facts.table()["label"].tolist() == list(WORDS[1:])
    assert facts.most["bits"] == facts.tokens["bits"].max()

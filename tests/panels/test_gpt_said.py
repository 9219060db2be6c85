"""What the panels of a GPT say: facts filled in by hand, each case read."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from said_in import in_both

from blocks import ModelConfig
from blocks.inspection.cache_growth import CacheFacts, CacheTimes
from blocks.inspection.drafts import DraftFacts, Token
from blocks.inspection.leave_one_out import LeftOut, Without
from blocks.inspection.lens import Lens, LensFacts
from blocks.inspection.logit_difference import AnswerFacts, Direct
from blocks.inspection.new_tokens import NewTokens
from blocks.inspection.next_token import NextFacts
from blocks.inspection.predictions import SurpriseFacts
from blocks.model.masks import MaskConfig, MaskKind
from blocks.observe.interventions import Intervention
from blocks.observe.run import Input, Run
from blocks.text.sampling import SamplingConfig
from blocks.text.speculation import Pass
from blocks.text.written import Written
from pages.panels import home, home_answer
from pages.panels.gpt import (
    drafts,
    kv_cache,
    leave_one_out,
    logit_lens,
    next_token,
    surprise,
    two_answers,
    writing,
)
from pages.panels.gpt.leave_one_out_picture import Answer
from pages.words import chips

SIZES = {"architecture": "gpt", "n_layers": 2, "d_model": 8, "n_heads": 4, "vocab_size": 64}
CONFIG = ModelConfig.from_flat({**SIZES, "n_kv_heads": 2, "max_seq_len": 8})
CAUSAL = MaskConfig(mask_kind=MaskKind.CAUSAL)
GIVEN = Input(tokens=("an", "owl", "an"), token_ids=(1, 2, 1))
RUN = Run(config=CONFIG, input=GIVEN, mask=CAUSAL, seed=3)
TRAINED = replace(RUN, weights="x")
LABELS = ("the", "`it`", "a")


def in_english(monkeypatch: pytest.MonkeyPatch, says, *facts) -> str:
    return in_both(monkeypatch, says, *facts)["en"]


def following(n_kept: int = 2, **sampling) -> NextFacts:
    kept = [i < n_kept for i in range(3)]
    columns = {"token_id": range(3), "kept": kept, "model_probability": [0.5, 0.25, 0.25]}
    drawn = [1 / n_kept if each else 0.0 for each in kept]
    table = pd.DataFrame({**columns, "probability": drawn})
    return NextFacts(RUN, 1, SamplingConfig(**sampling), table, LABELS.__getitem__)


def test_what_comes_next(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, next_token.says_next, following())
    assert said["en"] == (
        "After `owl` the top prediction is `the`. Its sampling probability is 50%. 2 of 3 "
        "tokens can be sampled; the entropy is 1.00 bits, equivalent to a choice among 2.0 "
        "equally likely tokens. The excluded tokens had a total probability of 25%. The "
        "weights are random (seed 3), so no token is much more probable than another."
    )
    assert "25%" in said["zh"]
    everyone = in_english(monkeypatch, next_token.says_next, replace(following(3), run=TRAINED))
    assert "excluded" not in everyone and "random" not in everyone
    assert "greedy" in in_english(monkeypatch, next_token.says_next, following(1, temperature=0))
    for is_last, click in (
        (True, "“Next word” appends the first one"),
        (False, "Click a word to replace everything after `owl` with it."),
    ):
        says = partial(home.says_openness, is_last=is_last)
        said = in_english(monkeypatch, says, following())
        assert "among 2.0 equally likely tokens" in said and click in said
    monkeypatch.setattr(home, "ALMOST_ONE", 2.5)
    assert in_english(monkeypatch, says, following()).startswith("The model is almost certain.")


def new_token(context_start: int = 0, run: Run = RUN) -> NewTokens:
    reads = np.zeros((2, 4, 3), np.float16)
    reads[1, 2, 0] = 0.75
    token = Written(1, 0.5, 0.25, reads, context_start, 64)
    return NewTokens(run, (token, token), 1, LABELS.__getitem__)


def test_a_new_token(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, writing.says_token, new_token())
    assert said["en"] == (
        "New token 2, `ˋitˋ`, was sampled with probability 50% (the model's own probability: "
        "25%). The sharpest attention is in layer 2, head 3: 75% of its weight is on `owl` "
        "(position 2). The weights are random, so every head attends almost uniformly."
    )
    assert "`owl`" in said["zh"]
    reads = np.zeros((2, 4, 3), np.float16)
    reads[..., 0], reads[1, 2] = 1, (0.25, 0, 0.75)
    resting = replace(new_token(), found=(replace(new_token().token, reads=reads),), opened=0)
    resting = replace(resting, apart=(resting.first_key,))
    beyond = in_both(monkeypatch, writing.says_token, resting)
    assert (
        "Apart from sinks, the sharpest attention is in layer 2, head 3: 75% of its weight is on "
        "`an`" in beyond["en"]
    )
    assert "注意力汇" in beyond["zh"]
    shifted = in_english(monkeypatch, writing.says_token, new_token(4, TRAINED))
    assert "full (max_seq_len 8)" in shifted and "first 4 tokens" in shifted
    assert "random" not in shifted


def test_a_text_grows_causally(monkeypatch: pytest.MonkeyPatch):
    assert in_english(monkeypatch, writing.says_mask, RUN) == ""
    open_to_all = replace(RUN, mask=MaskConfig(mask_kind=MaskKind.NONE))
    assert "autoregressive" in in_english(monkeypatch, writing.says_mask, open_to_all)
    patched = replace(RUN, interventions=(Intervention(part="head_out", layer=0, head=0, token=1),))
    assert "other changes do not carry over" in in_english(monkeypatch, writing.says_mask, patched)


def cache(n_kept: int = 4, window_size: int | None = None, run: Run = RUN) -> CacheFacts:
    steps = pd.DataFrame({"n_read": [4], "n_kept": [n_kept], "measured": [256]})
    return CacheFacts(run, steps, window_size)


def test_the_cache(monkeypatch: pytest.MonkeyPatch):
    says = kv_cache.says_cache
    said = in_both(monkeypatch, says, cache())
    assert said["en"] == (
        "After 4 tokens the cache holds 4 of them in 256 bytes (measured). With keys and values "
        "for each of the 4 query heads it would be 2 times as large. Every new token adds the same "
        "amount: the cache grows linearly."
    )
    assert "256" in said["zh"]
    assert "the cache fills again" in in_english(monkeypatch, says, cache(2))
    assert "With a window of 3 tokens" in in_english(monkeypatch, says, cache(3, 3))
    alone = replace(RUN, config=CONFIG.replace(n_kv_heads=4))
    assert "times as large" not in in_english(monkeypatch, says, cache(run=alone))
    formula = in_english(monkeypatch, kv_cache.says_formula, cache())
    assert "= 2 · 2 · 2 · 2 · 4 = **64** (float32)" in formula


def test_what_the_cache_saves(monkeypatch: pytest.MonkeyPatch):
    steps = pd.DataFrame({"with_cache": [9.0, 1, 1], "without": [9.0, 3, 3]})
    said = in_english(monkeypatch, kv_cache.says_times, CacheTimes(steps, "this CPU"))
    assert said.startswith("Measured on this CPU: 1.00 ms per token with the cache, 3.00 ms")
    assert "(3.0 times as long), medians over 2 tokens" in said


def test_what_an_answer_hangs_on_in_few_words(monkeypatch: pytest.MonkeyPatch):
    without = (Without(-4.0, 1), Without(-0.95, 0))
    facts = LeftOut(RUN, 2, 0, -1.0, (0, 1), without)
    said = in_both(monkeypatch, home_answer.says_hanging, Answer("␣owl", facts))
    assert said["en"] == (
        "Hiding `an₁` from the other tokens lowers the probability of `owl` from 50% to 6.2%; each "
        "bit is a factor of two."
    )
    assert "6.2%" in said["zh"]
    little = replace(facts, places=(1,), without=without[1:])
    assert in_english(monkeypatch, home_answer.says_hanging, Answer("owl", little)) == (
        "Hiding any single earlier token lowers the probability of `owl` (50%) by at most 0.1 "
        "bits. Of the 2 earlier tokens, only the nearest 1 were tested in this way."
    )


def test_the_lens(monkeypatch: pytest.MonkeyPatch):
    rank = np.array([[7, 7, 7], [2, 2, 2], [1, 1, 1]])
    facts = LensFacts(RUN, Lens(np.zeros((3, 3), int), rank / 9, rank), 2, LABELS.__getitem__)
    said = in_both(monkeypatch, logit_lens.says_decided, facts)
    assert said["en"] == (
        "At the pinned token `an₂`, the answer `the` ranks first only at the end. Before "
        "the first layer it was at rank 7 of 64. It rises most in layer 1, from rank 7 to 2."
    )
    assert "`an₂`" in said["zh"]
    level = replace(facts, lens=replace(facts.lens, rank=np.ones((3, 3), int)))
    assert "rises" not in in_english(monkeypatch, logit_lens.says_decided, level)
    assert "#1 means it already ranks first." in in_english(
        monkeypatch, logit_lens.says_cells, facts
    )
    deep, long = np.ones((49, 16), int), Input(tokens=("a",) * 40, token_ids=(1,) * 40)
    many = replace(facts, run=replace(RUN, input=long), lens=Lens(deep, deep, deep))
    said = in_english(monkeypatch, logit_lens.says_grid, many)
    assert "Positions 1 to 16 of 40 are shown" in said
    cells = in_english(monkeypatch, logit_lens.says_cells, many)
    assert cells.endswith("ranks first. 13 of 49 layers are shown.")
    narrow = in_english(monkeypatch, logit_lens.says_grid, replace(many, is_narrow=True))
    assert "The darker a cell" in narrow


def test_the_surprise(monkeypatch: pytest.MonkeyPatch):
    tokens = {"position": [1, 2], "bits": [1.0, 3.0], "probability": [0.5, 0.125], "rank": [1, 4]}
    said = in_both(monkeypatch, surprise.says_loss, SurpriseFacts(RUN, pd.DataFrame(tokens), 0))
    assert said["en"] == (
        "The mean loss is 1.39 nats (2.00 bits) per token, a perplexity of 4.0: the model is "
        "as uncertain as if it chose among 4.0 equally likely tokens. A uniform guess over "
        "all 64 would cost 6.00 bits. The most surprising token is `an₂` at position 3: 3.00 "
        "bits, probability 12%, rank 4."
    )
    assert "`an₂`" in said["zh"]
    first = {**tokens, "bits": [5.0, 3.0]}
    said = in_both(monkeypatch, surprise.says_loss, SurpriseFacts(RUN, pd.DataFrame(first), 0))
    assert "made from a single token; the others cost 3.00 bits on average." in said["en"]


def test_a_surprise_beyond_a_guess_is_no_choice_among_more_tokens_than_there_are(
    monkeypatch: pytest.MonkeyPatch,
):
    tokens = {"position": [1], "bits": [7.0], "probability": [0.0078], "rank": [60]}
    said = in_english(monkeypatch, surprise.says_loss, SurpriseFacts(RUN, pd.DataFrame(tokens), 0))
    assert (
        "perplexity of 128.0. This is worse than a uniform guess over all 64 tokens, which would"
        in said
    )
    assert "choosing among" not in said


def drafted(run: Run) -> DraftFacts:
    ahead = replace(run, config=run.config.replace(n_mtp_modules=2))
    passes = (Pass((), (0,)), Pass((1, 2), (1, 0, 2)), Pass((0, 1), (2, 1, 0)))
    return DraftFacts(ahead, passes, LABELS.__getitem__)


def test_the_drafts(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, drafts.says_drafts, drafted(TRAINED))
    assert said["en"] == (
        "In 3 forward passes the model generated 4 tokens, 1.33 per pass. The text is the same as"
        " when generated token by token; the MTP modules drafted 1 of its tokens. Acceptance "
        "rate: 50% for module 1 (1 of 2), 0% for module 2 (0 of 2)."
    )
    assert "1.33" in said["zh"]
    assert "by chance" in in_english(monkeypatch, drafts.says_drafts, drafted(RUN))
    plain = DraftFacts(TRAINED, (Pass((), (0,)), Pass((), (1,))), LABELS.__getitem__)
    assert "Acceptance" not in in_english(monkeypatch, drafts.says_drafts, plain)


def test_a_rejected_draft_stands_beside_what_was_written():
    tokens = drafted(RUN).tokens
    assert tokens[1:] == (Token(1, True, None), Token(0, False, 2), Token(2, False, 0))
    chips = drafts.text_chips(drafted(RUN))
    assert [chip.note for chip in chips[-2:]] == ["≠ a", "≠ the"]


def test_a_text_that_came_to_its_end_and_goes_on_is_said(monkeypatch):
    ended = replace(new_token(run=TRAINED), label=("[END]", "owl").__getitem__)
    token = ended.found[0]
    found = (replace(token, token_id=0), replace(token, token_id=1))
    said = in_english(monkeypatch, writing.says_token, replace(ended, found=found))
    assert "New token 1 is `[END]`, the end-of-text token; what follows is a new text." in said
    assert "[END]" not in in_english(monkeypatch, writing.says_token, new_token(run=TRAINED))


@pytest.mark.parametrize(
    ("without", "english"),
    [
        (
            (Without(-4.0, 9), Without(-0.5, 7)),
            "depends most on `a`: hiding this token from the others lowers the probability to "
            "6.2%, a drop of 3.0 bits in log-probability. `⟨9⟩` would then rank first. Without "
            "`b`, the prediction would be more likely: 71%.",
        ),
        ((Without(-3.0, 7), Without(-1.0, 7)), "a drop of 2.0 bits in log-probability."),
        (
            (Without(-1.0, 7), Without(-1.0, 7)),
            "No single earlier token raises its log-probability",
        ),
    ],
)
def test_which_token_a_prediction_hangs_on(monkeypatch, without, english: str):
    monkeypatch.setattr(leave_one_out.tokens, "label", lambda _run, token_id: f"⟨{token_id}⟩")
    run = replace(RUN, input=Input(tokens=("a", "b", "c"), token_ids=(1, 2, 3)))
    facts = LeftOut(run, 2, 7, -1.0, (0, 1), without)
    said = in_both(monkeypatch, leave_one_out.says_left_out, facts)
    assert said["en"].startswith("After `c` the top prediction is `⟨7⟩` (50%). ")
    assert english in said["en"] and ("would then rank first" in said["en"]) is ("⟨9⟩" in english)
    assert said["zh"] != said["en"]


@pytest.mark.parametrize(
    ("without", "english"),
    [
        (
            Without(-1.0, 7),
            "None of the 1 nearest earlier tokens (out of 2) raises its log-probability",
        ),
        (
            Without(-3.0, 7),
            "Of the 1 nearest earlier tokens (out of 2), the prediction depends most on `b`",
        ),
    ],
)
def test_what_was_not_tried_is_not_spoken_of(monkeypatch, without, english: str):
    monkeypatch.setattr(leave_one_out.tokens, "label", lambda _run, token_id: f"⟨{token_id}⟩")
    run = replace(RUN, input=Input(tokens=("a", "b", "c"), token_ids=(1, 2, 3)))
    facts = LeftOut(run, 2, 7, -1.0, (1,), (without,))
    said = in_both(monkeypatch, leave_one_out.says_left_out, facts)
    assert english in said["en"] and said["zh"] != said["en"]


def test_the_table_of_hidden_tokens_holds_what_is_left_without_each(monkeypatch):
    monkeypatch.setattr(leave_one_out.tokens, "label", lambda _run, token_id: f"⟨{token_id}⟩")
    facts = LeftOut(RUN, 2, 7, -1.0, (1, 0), (Without(-4.0, 9), Without(-0.5, 7)))
    assert in_english(monkeypatch, leave_one_out.table, facts).to_dict("list") == {
        "position": [2, 1],
        "hidden token": ["owl", "an₁"],
        "effect (bits)": [3.0, -0.5],
        "new probability": ["6.2%", "71%"],
        "new top token": ["⟨9⟩", "⟨7⟩"],
    }


def test_what_decides_between_two_answers(monkeypatch: pytest.MonkeyPatch):
    config = ModelConfig.from_flat({"architecture": "gpt", "n_heads": 2, "d_model": 4})
    run = Run(config=config, input=Input(tokens=("to",), token_ids=(1,)), mask=MaskConfig())
    direct = Direct(np.array([[0.5, 0.0, 0.0, 0.5], [0.0, 0.25, 0.0, 0.0]]), 0.0, 0.0, 2.0)
    answers = np.array([[-0.08, 0.2, 1.0, 0.25], [-1.58, 0.7, 0.0, 0.0]])
    facts = AnswerFacts(
        *(run, 0, ("Mary", "John"), (3.0, 1.0), (0.75, 0.1), "ablation"), *(answers, direct, None)
    )
    said = in_both(monkeypatch, two_answers.says_answers, facts)
    assert said["en"] == (
        "After `to`: `Mary` 75%, `John` 10%. The logit of `Mary` is 2.00 above that of "
        "`John`. Of all heads, layer 1, head 1 matters most for the difference: with it "
        "switched off, the difference falls from 2.00 to 0.50 (by 1.50). Including its effect"
        " through later parts, the head lowers the logit of `John` by 1.58 and "
        "leaves the logit of `Mary` "
        "almost unchanged (-0.08). This head adds 0.50 to the difference directly, but later parts "
        "read its output too, so the difference falls by more than that. Of all heads, layer 1, "
        "head 2 favors `John` over `Mary` most (-0.50). Including its effect through later parts, "
        "the head raises the logit of `John` by 0.70 and raises the logit of `Mary` by 0.20. "
        "The mean over the vocabulary has "
        "been subtracted from each logit here."
    )
    assert "从 2.00 降到 0.50（下降 1.50）" in said["zh"]
    assert list(two_answers.table(facts))[-2:] == ["A: Mary", "B: John"]
    patched = replace(facts, method="patching", other=-2.0, answers=answers[:, :2])
    said = in_both(monkeypatch, two_answers.says_answers, patched)["en"]
    assert "In the other text the difference is -2.00" in said
    assert "Parts tried so far: 2 of 4" in said
    directly = replace(facts, method="direct", answers=direct.answers)
    said = in_both(monkeypatch, two_answers.says_answers, directly)["en"]
    assert (
        "layer 1, head 1 adds most to the difference: 0.50. This head raises the logit of "
        "`Mary` by 0.50" in said
    )


def test_a_digit_that_is_a_token_stands_out_from_the_number_beside_it():
    said = chips.as_markdown([chips.Chip("8", "88%", "written"), chips.Chip("8", "", "written")])
    token, number = (chips.literally(text) for text in ("8", "88%"))
    assert said == f":violet-badge[**{token}** :gray[:small[{number}]]] :violet-badge[{token}]"

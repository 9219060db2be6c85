"""The test chart: its counts, its controls, and what is known of the models that it asks about."""

from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import torch

from blocks.known.cells import INSTRUMENTS, Cell
from blocks.known.chart import ChartFacts, chart_facts, measured
from blocks.known.example import example
from blocks.known.models import programs
from blocks.known.scores import wilson
from blocks.known.scoring import LOTS, labelled, ranked
from blocks.known.subjects import PLANTED, Subject, subject
from blocks.observe.recording import record

RECOMPUTED = ("induction", "planted-first-token", "random-count")


def test_ties_share_the_places_that_are_left():
    """As many are found as on average over all orders in which those that tie can stand."""
    scores, true = np.array([3.0, 1.0, 1.0, 0.0, 1.0]), [0, 2]
    falling = [
        order
        for order in permutations(range(5))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    ]
    found = np.mean([len({*order[:2]} & {*true}) for order in falling])
    assert ranked(scores, true) == (found, 2, 0.8)
    assert ranked(np.ones(5), true)[:2] == (0.0, 0)


def test_places_that_tie_for_what_is_left_are_named_together():
    found = example("attention", "induction")
    assert found is not None
    assert [row.place for row in found.named_rows] == [(10,)]
    assert [row.place for row in found.tied_rows] == [(0,), (8,)]


def test_an_interval_that_is_shown_to_begin_at_chance_is_not_above_it():
    found = chart_facts().scores["attention"]
    for above, is_above in ((0.004, False), (0.006, True)):
        low = replace(found, chance=0.19, mean_ends=(0.19 + above, 0.5))
        assert low.is_above_chance is is_above


def test_names_are_found_where_they_are_the_same():
    assert labelled(["a", "", "b", "b"], ["a", "a", "", "b"]) == (2, 3, 3, (1 * 2 + 2 * 1) / 4)


def test_the_interval_is_wilsons():
    """Table of Newcombe 1998, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    published = {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0.0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }
    for (n_right, n), ends in published.items():
        assert np.allclose(wilson(n_right, n), ends, atol=1e-4)


def test_what_is_recorded_is_measured_again():
    """Of some models and one seed: the same counts."""
    recorded = {(c.instrument, c.question, c.subject): c.by_seed[0] for c in chart_facts().cells}
    again = measured((0,), RECOMPUTED)
    assert {c.subject for c in again} == {*RECOMPUTED}
    for cell in again:
        key = (cell.instrument, cell.question, cell.subject)
        assert np.allclose(cell.by_seed[0], recorded[key]), key


def test_controls_score_at_chance_and_instruments_do_not_depend_on_the_seed():
    facts = chart_facts()
    assert not facts.too_good
    assert {each.instrument for each in facts.scores.values()} == {*INSTRUMENTS}
    assert len(facts.subjects) >= 12
    for score in facts.scores.values():
        assert score.spread <= 0.1, score
        assert score.mean_ends[0] < score.mean_ends[1], score
        assert 0 <= score.ends[0] <= score.n_right / score.n <= score.ends[1] <= 1


def test_a_control_that_knows_makes_the_chart_red():
    def knowing(cell: Cell) -> Cell:
        is_lots = (cell.instrument, cell.question) == (LOTS, "tokens")
        told = tuple((float(true), true, true, chance) for _f, _n, true, chance in cell.by_seed)
        return replace(cell, by_seed=told) if is_lots else cell

    facts = ChartFacts(tuple(map(knowing, chart_facts().cells)))
    assert [each.instrument for each in facts.too_good] == [LOTS]


def answers(known: Subject, text: str) -> str:
    ids = torch.tensor([known.file.tokenizer.encode(text)])
    with torch.no_grad():
        return known.file.tokenizer.decode(known.model(ids)[0].argmax(-1).tolist())


def test_a_planted_model_gives_the_same_answers():
    for name in PLANTED:
        known, program = subject(f"planted-{name}"), programs()[name]
        for asked in known.texts(1):
            said = program.answer(asked.text)[asked.position]
            assert answers(known, asked.text)[asked.position] == said


def test_a_planted_feature_is_one_direction_without_which_nothing_carries_it():
    """Its vowels write one direction, at right angles to others; without it each answer is -."""
    known = subject("planted-feature")
    letters = known.file.tokenizer.decode(range(known.file.config.vocab_size))
    written = known.file.tensors["layers.0.feed_forward.down_proj.weight"].T
    vowel, same, other = (written[letters.index(each)] for each in "aeb")
    assert torch.equal(vowel, same) and abs(float(vowel @ other)) < 1e-6 * float(vowel @ vowel)

    def without(stream: torch.Tensor) -> torch.Tensor:
        return stream - (stream @ vowel)[..., None] * vowel / (vowel @ vowel)

    for asked in known.texts(1):
        ids, at = torch.tensor([known.file.tokenizer.encode(asked.text)]), asked.position
        said = [
            letters[record(known.model, ids, replace=changed, keep=()).output[0, at].argmax()]
            for changed in ({}, {"layers.0.resid_post": without})
        ]
        assert said == ["+", "-"]


def test_the_trained_heads_are_those_that_are_said():
    """With the exact pattern of an induction head in the place of its own, and all others of its
    layer spread evenly, each head of the second layer tells a third of the repeats and more, of
    64 tokens."""
    known = subject("learned-induction")
    asked = known.texts(0, 24)
    n_heads, right = known.file.config.n_heads, np.zeros(known.file.config.n_heads)
    for each in asked:
        ids = torch.tensor([known.file.tokenizer.encode(each.text)])
        at, after = each.position, max(each.reads or ())
        for head in range(n_heads):

            def only(pattern: torch.Tensor, head: int = head, at: int = at, to: int = after):
                new = (
                    torch.ones_like(pattern).tril()
                    / torch.arange(1, pattern.shape[-1] + 1)[:, None]
                )
                new[0, head, at] = torch.eye(pattern.shape[-1])[to]
                return new

            output = record(known.model, ids, replace={"layers.1.pattern": only}, keep=()).output
            right[head] += int(output[0, at].argmax()) == int(ids[0, after])
    assert (right / len(asked) > 1 / 3).all()

"""The one head of the shipped story model that knows whether a name is hers or his."""

from functools import cache

import numpy as np
import pytest

from blocks.inspection.known_names import STORIES, NameFacts, knower, name_facts
from blocks.model.masks import MaskConfig
from blocks.observe.run import Input, Run
from blocks.weights.model_file import trained
from blocks.weights.pocket import pocket

FILE = pocket("stories-en-zh")
HERS = 6  # of twelve names in either language, the first ones


def run_about(name: str, language: str, **changes) -> Run:
    ids = tuple(FILE.tokenizer.encode(STORIES[language].begins.format(name=name)))
    text = Input(tokens=tuple(map(str, ids)), token_ids=ids)
    mask = MaskConfig(mask_kind="causal")
    return Run(config=FILE.config, weights="stories-en-zh", input=text, mask=mask, **changes)


def ids_of(language: str) -> list[list[int]]:
    story = STORIES[language]
    return [[FILE.tokenizer.encode(word)[0] for word in each] for each in (story.she, story.he)]


@cache
def facts_of(language: str) -> list[NameFacts]:
    model = trained(FILE.config, FILE.tensors)
    found = []
    for name in STORIES[language].names:
        run = run_about(name, language)
        found.append(name_facts(name, run, model, run.record(model), *ids_of(language)))
    return found


@pytest.mark.parametrize("language", STORIES)
def test_words_for_her_and_him_are_one_token_each(language: str):
    story = STORIES[language]
    assert all(len(FILE.tokenizer.encode(word)) == 1 for word in (*story.she, *story.he))
    assert story.first in story.names


@pytest.mark.parametrize("language", STORIES)
def test_every_name_of_the_stories_is_told_as_hers_or_his(language: str):
    for i, facts in enumerate(facts_of(language)):
        right, wrong = facts.whole if i < HERS else facts.whole[::-1]
        assert right > 0.98 and wrong < 0.02, facts.name


@pytest.mark.parametrize("language", STORIES)
def test_one_head_knows_and_no_other_comes_near(language: str):
    found = knower(facts_of(language))
    assert found.moves > 0.25
    assert found.moves > 8 * found.next_most
    assert found.each.shape == (FILE.config.n_layers, FILE.config.n_heads)
    assert found.each[found.part.layer, found.part.head] == found.moves == found.each.max()
    moved = [facts.changes[found.head] for facts in facts_of(language)]
    assert min(moved) > 0.25  # of every name, not of some alone


@pytest.mark.parametrize("language", STORIES)
def test_a_head_that_is_off_is_one_whose_output_is_replaced_in_a_whole_pass(language: str):
    facts, found = facts_of(language)[0], knower(facts_of(language))
    run = run_about(facts.name, language, interventions=(found.part,))
    probs = run.record(trained(FILE.config, FILE.tensors)).output[0, -1].double().softmax(-1)
    expected = [float(probs[ids].sum()) for ids in ids_of(language)]
    np.testing.assert_allclose(facts.without[found.head], expected, rtol=1e-3)

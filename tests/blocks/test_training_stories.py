"""Stories: told by the grammar, read by it, and held together from the first word to the last."""

import random
import re
from collections.abc import Callable

import pytest

from blocks.corpora.grammar import Grammar, sentences
from blocks.corpora.stories import (
    GRAMMARS,
    TONGUES,
    Language,
    grammatical_share,
    is_coherent,
    is_grammatical,
    stories,
    story,
)

N = 500
ENGLISH = (
    "Mia was a brave fox who lived in the forest. She had a red kite. One day, she lost the kite. "
    "Tom the bear came to help her. He found the red kite under the bridge. "
    "Mia thanked Tom and they ate honey together."
)
CHINESE = (
    "从前，森林里住着一只勇敢的小狐狸，名叫朵朵。她有一只红色的风筝。一天早上，她的风筝不见了。"
    "小熊小明来帮她找风筝。他在桥下找到了那只红色的风筝。朵朵谢谢小明，请他吃了蜂蜜。"
)
WRITTEN = {Language.ENGLISH: ENGLISH, Language.CHINESE: CHINESE}
UNGRAMMATICAL = {
    Language.ENGLISH: [
        "She had an red kite.",
        "He loved her red kite.",
        "She had a kite.",
        "She had a kite red.",
        "she had a red kite.",
        "She had a red kite",
        "Mia thanked Mia and they ate honey together.",
        "",
    ],
    Language.CHINESE: [
        "她有一把红色的风筝。",
        "她有一只风筝红色的。",
        "她最喜欢他的红色风筝。",
        "朵朵谢谢朵朵，请她吃了蜂蜜。",
        "朵朵谢谢小明，请她吃了蜂蜜。",
        "她有一只红色的风筝",
        "",
    ],
}
CONTRADICTIONS = {
    "another colour": (Language.ENGLISH, "found the red kite", "found the blue kite"),
    "another thing": (Language.ENGLISH, "lost the kite", "lost the hat"),
    "the wrong pronoun": (Language.ENGLISH, "One day, she", "One day, he"),
    "the friend's pronoun": (Language.ENGLISH, "He found", "She found"),
    "another friend": (Language.ENGLISH, "thanked Tom", "thanked Leo"),
    "a friend of oneself": (Language.ENGLISH, "Tom the", "Mia the"),
    "a sentence twice": (Language.ENGLISH, "She had a red kite.", "She had a red kite. " * 2),
    "a sentence missing": (Language.ENGLISH, "One day, she lost the kite. ", ""),
    "another colour in Chinese": (Language.CHINESE, "到了那只红色", "到了那只蓝色"),
    "the wrong pronoun in Chinese": (Language.CHINESE, "早上，她的", "早上，他的"),
    "another friend in Chinese": (Language.CHINESE, "谢谢小明", "谢谢乐乐"),
}


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("held_out", [False, True])
def test_every_story_is_grammatical_and_coherent(language: Language, held_out: bool):
    for told in stories(language, N, held_out=held_out):
        found = sentences(told)
        assert 4 <= len(found) <= 7
        assert all(is_grammatical(sentence, language) for sentence in found)
        assert is_coherent(told, language)


@pytest.mark.parametrize("language", TONGUES)
def test_a_story_written_by_hand_is_read(language: Language):
    assert WRITTEN[language] not in stories(language, N)
    assert is_coherent(WRITTEN[language], language)
    assert grammatical_share([WRITTEN[language]], language) == 1


@pytest.mark.parametrize(
    ("language", "sentence"),
    [(language, sentence) for language, found in UNGRAMMATICAL.items() for sentence in found],
)
def test_what_breaks_agreement_in_a_sentence_is_not_read(language: Language, sentence: str):
    assert not is_grammatical(sentence, language)


@pytest.mark.parametrize(
    ("language", "before", "after"), CONTRADICTIONS.values(), ids=CONTRADICTIONS
)
def test_sentences_that_contradict_each_other_make_no_story(
    language: Language, before: str, after: str
):
    told = WRITTEN[language].replace(before, after)
    assert told != WRITTEN[language]
    assert grammatical_share([told], language) == 1
    assert not is_coherent(told, language)


def shuffled(text: str) -> str:
    found = sentences(text)
    random.Random(0).shuffle(found)
    return " ".join(found)


@pytest.mark.parametrize(
    "spoil", [shuffled, str.lower, lambda text: text[:-1], lambda text: f"{text} {text}"]
)
def test_a_spoilt_story_is_no_story(spoil: Callable[[str], str]):
    assert not is_coherent(spoil(ENGLISH), Language.ENGLISH)


@pytest.mark.parametrize("language", Language)
def test_held_out_pairs_of_hero_and_thing_never_occur_in_training(language: Language):
    pairs = [
        {pair for told in stories(language, 1_000, held_out=side) for pair in read_pairs(told)}
        for side in (False, True)
    ]
    assert pairs[0] and pairs[1] and not pairs[0] & pairs[1]
    for member in (0, 1):  # every hero and every thing is known to both sides
        assert {pair[member] for pair in pairs[0]} == {pair[member] for pair in pairs[1]}


def read_pairs(told: str) -> set[tuple[str, str]]:
    """Hero and thing, by looking for their names only."""
    for (grammar,) in map(GRAMMARS.get, TONGUES):
        words = grammar.words
        names = [word[""] for word in words["person"] if word[""] in sentences(told)[0]]
        things = [word[""] for word in words["thing"] if word[""] in "".join(sentences(told)[1:-1])]
        if names and things:
            return {(name, thing) for name in names for thing in things}
    raise AssertionError(told)


@pytest.mark.usefixtures("process_state_kept")
@pytest.mark.parametrize("language", Language)
def test_seed_and_index_decide_the_story(language: Language):
    assert stories(language, 20) == [story(language, index=index) for index in range(20)]
    assert story(language, seed=1) != story(language, seed=2)
    assert len(set(stories(language, N))) > 0.99 * N


def test_a_vocabulary_is_small_enough_to_learn_and_large_enough_to_say_something():
    english = set(re.findall(r"\w+", " ".join(stories(Language.ENGLISH, 3_000))))
    chinese = set("".join(stories(Language.CHINESE, 3_000)))
    assert 150 <= len(english) <= 250
    assert 150 <= len(chinese) <= 250


@pytest.mark.parametrize("grammar", GRAMMARS[Language.BOTH], ids=TONGUES)
def test_words_of_a_category_differ(grammar: Grammar):
    for words in grammar.words.values():
        assert len({word[""] for word in words}) == len(words)


def test_the_share_counts_complete_sentences_only():
    texts = ["She had a red kite. She had an red kite. She", "He had a red kite. He"]
    assert grammatical_share(texts, Language.ENGLISH) == 2 / 3
    assert grammatical_share(["She had"], Language.ENGLISH) == 0

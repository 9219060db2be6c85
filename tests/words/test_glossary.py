"""Every word of the glossary has one plain sentence in each language, and is met somewhere."""

import re

import pytest

from pages.show.explain import TITLES, n_words
from pages.words.glossary import GLOSSARY, glossary, in_bold, is_about, used_in
from pages.words.language import LANGUAGES, TEXT


def test_there_is_a_glossary_for_each_language_with_the_same_words():
    assert {path.stem for path in GLOSSARY.iterdir()} == LANGUAGES.keys()
    names = [list(glossary(lang)) for lang in LANGUAGES]
    assert names[0] == names[1]
    assert len(names[0]) >= 60


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_word_has_one_sentence_without_formulas(lang: str):
    for name, word in glossary(lang).items():
        assert re.fullmatch(r"[^.!?。！？$`*=_]+[.。]", word.says), name
        assert n_words(word.says) <= 36, name
        assert in_bold(word).count("**") == 2, name


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_word_is_met_in_some_explanation(lang: str):
    texts = [(TEXT / lang / f"{concept}.md").read_text(encoding="utf-8") for concept in TITLES]
    met = {word.word for text in texts for word in used_in((text,), lang)}
    assert {word.word for word in glossary(lang).values()} - met == set()


def test_words_are_found_in_the_order_of_the_text_and_not_inside_others_or_in_code():
    found = used_in(("Tokenwise: `head` $head$ and keyboards. The heads read **tokens**.",), "en")
    assert [word.word for word in found] == ["head", "token"]
    assert [word.word for word in used_in(("关键在于：每个词元有多个头。",), "zh")] == [
        "词元",
        "头",
    ]
    told = ("The weight norm and a key frequency, not a norm.",)
    assert [word.word for word in used_in(told, "en")] == ["weight norm", "key frequency", "norm"]
    assert [word.word for word in used_in(("keys and values",), "en")] == ["value vector", "key"]
    assert [word.word for word in used_in(("稀疏自编码器",), "zh")] == ["稀疏自编码器"]
    told = "A token.\n\n#### What to look for\n- a mask\n\n#### The formula\n- a norm"
    assert [word.word for word in used_in((told, "a GPT"), "en")] == ["token", "mask", "GPT"]


def test_a_word_is_looked_up_by_what_it_is_called_or_says():
    words = glossary("en")
    found = {name for name, word in words.items() if is_about(word, " Grok")}
    assert found == {"grokking"}
    assert is_about(words["grokking"], "by heart")
    assert all(is_about(word, "") for word in words.values())


def test_words_of_the_interface_are_found():
    labels = {
        "nats": "nat",
        "logits": "logit",
        "GQA": "gqa",
        "MHA": "gqa",
        "MQA": "gqa",
        "validation": "held-out",
        "warm-up": "warm-up",
        "d_model": "width",
        "d_ff": "feed-forward",
    }
    for label, name in labels.items():
        assert is_about(glossary("en")[name], label), label
        assert is_about(glossary("zh")[name], "验证" if label == "validation" else label), label

"""Sentences that are joined stand in Chinese without a space, in English with one."""

import pytest

from pages.words.language import closed_up, literal, sentences
from tests.panels.said_in import in_both


@pytest.mark.parametrize(
    ("joined", "shown"),
    [
        ("One. Two, three.", "One. Two, three."),
        ("一。 二！ **三**：`a b`。", "一。二！**三**：`a b`。"),
        ("一（二。） 三，`四, 五； 六`, 七; 八", "一（二。）三，`四, 五； 六`, 七；八"),
        ("一是 二，`三 四` 是 A 五。", "一是二，`三 四` 是 A 五。"),
        ("**A**：一。\n\n**B**：二。  \n三。", "**A**：一。\n\n**B**：二。  \n三。"),
    ],
)
def test_no_space_follows_a_chinese_stop(joined: str, shown: str):
    assert closed_up(joined) == shown


def test_a_sentence_that_is_empty_leaves_no_gap():
    assert sentences("One.", "", "Two.") == "One. Two."
    assert sentences("一。", "", "二。") == "一。二。"


def test_chinese_within_chinese_is_quoted(monkeypatch: pytest.MonkeyPatch):
    said = in_both(monkeypatch, lambda: (literal("的"), literal("a")))
    assert said == {"en": ("`的`", "`a`"), "zh": ("“`的`”", "`a`")}

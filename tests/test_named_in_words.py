"""What one text calls another: a panel or a button, by the words that stand on it."""

import re

import pytest
from babel.messages.pofile import read_po
from source_walk import ROOT

pytestmark = pytest.mark.xdist_group("sources")

CHINESE = ROOT / "assets/locale/zh/LC_MESSAGES/blockscope.po"
QUOTED = re.compile("“([^”{}]+)”")
# Labels whose English was once that of another thing, and what they are in Chinese.
TOLD_APART = {
    "new total": "改动后总数",
    "variant": "变体",
    "stage": "阶段",
    "status": "状态",
    "pinned": "选定",
    "Tokenization": "分词方式",
    "weights masked to zero": "掩码剪枝",
    "per-token": "按词元",
    "per-channel": "按通道",
}


def catalogue() -> dict[str, str]:
    """English and Chinese of all that is not counted."""
    with CHINESE.open("rb") as file:
        return {each.id: each.string for each in read_po(file) if isinstance(each.id, str)}


def test_what_is_quoted_stands_on_the_screen():
    known = catalogue()
    quoted = {(text, name) for text in known for name in QUOTED.findall(text)}
    assert len(quoted) > 5
    assert {(text, name) for text, name in quoted if name not in known} == set()


def test_a_question_is_put_in_where_another_text_names_it():
    """Typed inside a text it would stay behind when the panel gets another title."""
    assert [
        text for text in catalogue() if any(q.endswith("?") for q in QUOTED.findall(text))
    ] == []


def test_chinese_names_what_it_calls_by_its_own_words():
    known = catalogue()
    for text, said in known.items():
        wanted = {known[each] for each in QUOTED.findall(text) if each in known}
        assert wanted <= {*QUOTED.findall(said)}, text


def test_what_english_once_called_alike_has_words_of_its_own():
    known = catalogue()
    assert {label: known.get(label) for label in TOLD_APART} == TOLD_APART
    assert not {"after", "chosen", "in the other mode"} & known.keys()

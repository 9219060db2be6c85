"""On the screen everything counts from 1; links, files and code count from 0."""

import re

import pytest
from opened import BLOCK, PAGES, control, labels, move, opened, said, settings, words_in_pictures
from streamlit.testing.v1 import AppTest

TRAINED = [(page, {"preset": "stories-en-zh"}) for page in PAGES if page != "pages/seq2seq.py"]
CASES = (
    *TRAINED,
    ("pages/seq2seq.py", {"preset": "translator"}),
    ("pages/attention.py", {"n_kv_heads": 2, "n_heads": 4}),
    ("pages/feed_forward.py", {"n_experts": 4, "expert": 0, "unit": 0}),
    ("pages/positions.py", {"shown_position": "alibi"}),
)
FROM_0 = re.compile(
    r"\b(?:head|expert|unit|layer) 0(?!\.)\b|(?<![\d.,])0 号|(?:专家|单元|头) 0(?![\d.])|第 0 层"
    r"|^<b>0</b>|\bkv 0\b|^0·<b>|^\d+·(?:<b>)?0(?!\d)",
    re.IGNORECASE,
)
HOVER = re.compile(r'"hovertext":\s*\[(.*?)\]')
COUNTED = ("Head", "头", "Layer", "层", "Expert", "专家", "head", "of layer", "所在层")


@pytest.mark.parametrize("locale", ["en", "zh"])
@pytest.mark.parametrize(("page", "query"), CASES, ids=[page for page, _query in CASES])
def test_nothing_on_the_screen_counts_from_0(page: str, query: dict[str, object], locale: str):
    at = opened(page, locale, head=0, layer=0, **query)
    shown = "\n".join([said(at), words_in_pictures(at), *labels(at), *hovers(at)])
    assert [line for line in shown.splitlines() if FROM_0.search(line)] == []
    assert [choice.options[0] for choice in choices(at) if choice.options[0] != "1"] == []


def hovers(at: AppTest) -> list[str]:
    """What is said under the cursor."""
    found = [HOVER.findall(chart.proto.spec) for chart in at.get("plotly_chart")]
    return [text for each in found for texts in each for text in texts.strip('"').split('", "')]


def choices(at: AppTest) -> list[object]:
    """Controls that choose a layer, a head or an expert by number."""
    return [each for each in (*at.button_group, *at.selectbox) if each.label in COUNTED]


@pytest.mark.parametrize(
    ("page", "query", "name", "last"),
    [
        (BLOCK, {"d_model": 64, "n_heads": 64}, "head", 64),
        ("pages/positions.py", {"shown_position": "alibi"}, "position_pair", 8),
        ("pages/feed_forward.py", {"d_model": 32, "d_ff": 64}, "unit", 64),
    ],
)
def test_a_number_is_shown_from_1_and_stands_in_the_link_from_0(
    page: str, query: dict[str, object], name: str, last: int
):
    at = opened(page, **query, **{name: 0})
    assert control(at, name).value == 1
    move(at, name, last)
    assert settings(at)[name] == str(last - 1)
    assert re.search(rf"(Head|Unit) {last}\b", said(at))

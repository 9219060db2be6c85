"""Pages opened without a browser, and what is read on them."""

import pickle
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from streamlit.testing.v1 import AppTest

from blocks.observe.run import Run
from pages.lessons.check import rerun as run
from pages.page import frame

ROOT = Path(__file__).parent.parent.parent
HOME, BLOCK = "app.py", "pages/block.py"
PAGES = [HOME, *sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "pages").glob("*.py"))]
# About models of their own, none of which the reader sets.
OF_OTHER_MODELS = ["pages/instruments.py", "pages/phases.py", "pages/scaling.py"]
OF_THE_READER = [page for page in PAGES if page not in OF_OTHER_MODELS]
START = {"preset": "course", "panel": "all"}
CHINESE, WORD = re.compile(r"[\u4e00-\u9fff]"), re.compile(r"(?<!\w)(?!\w*_)\w*[a-z]{3}")
"""A word, other than the name of a setting, which stays what it is in every language."""
SAME_IN_CHINESE = ("Dropout", "config.json", "English")
# Sentences joined as in English, and its narrow marks between Chinese words.
LOOSE = re.compile(
    r"[\w”）*]{2}[。！？；：，] +[^ \n·]|[\u4e00-\u9fff）”]([,;] ?[\u4e00-\u9fff（“]|\.(\W|$))"
)
FROM_0 = re.compile(
    r"\b(?:head|expert|unit|layer) 0(?!\.)\b|(?<![\d.,])0 号|(?:专家|单元|头) 0(?![\d.])|第 0 层"
    r"|^<b>0</b>|\bkv 0\b|^0·<b>|^\d+·(?:<b>)?0(?!\d)",
    re.IGNORECASE,
)
# One of what is said as of many: a sentence that should have asked `ngettext`.
ONE_AS_MANY = re.compile(
    r"(?<![\d.,·×/–-])\b1 (?:[a-z-]+ )?(?:layers|heads|tokens|steps|updates|experts|units|keys"
    r"|queries|cells|pairs|characters|bytes|words|parts|texts|rows|models|weights|times|matrices"
    r"|positions|examples|seeds|sublayers|guesses|learners)\b"
)
WRITTEN = ("text", "ticktext", "name")  # in the specification of a picture
HOVER = re.compile(r'"hovertext":\s*\[(.*?)\]')
COUNTED = ("Head", "头", "Layer", "层", "Expert", "专家", "head", "in layer", "所在层")
QUOTED = re.compile("`[^`\n]*`")
IN_SMALL = re.compile(r" :small\[.*")  # a space apart from what it stands behind
SAYING = ("title", "subheader", "markdown", "caption", "info", "warning", "error")
HEADINGS = ("title", "header", "subheader")
NO_NUMBER = re.compile(r"(?<![A-Za-z])(nan|inf|Infinity|None(?! of )|null|undefined)(?![A-Za-z])")


def opened(
    page: str = BLOCK, locale: str = "en", pressed: Iterable[str] = (), **query: object
) -> AppTest:
    """A page as a new reader finds it who opens a link, or one who has `pressed` some controls."""
    at = AppTest.from_file(ROOT / HOME, default_timeout=150)
    at.context["locale"] = locale
    at.session_state["set_here"] = {*pressed}
    return visit(at.switch_page(page), **query)


def noted_runs(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """The runs that pages will show, the newest last."""
    runs, find = [], frame.current_run
    monkeypatch.setattr(frame, "current_run", lambda kind: runs.append(find(kind)) or runs[-1])
    return runs


def visit(at: AppTest, **query: object) -> AppTest:
    """The same reader opens another link to the page.

    It starts from the block of courses, with random weights, unless the link names a preset
    (None: the one that the page shows first); and with all panels, unless it names one.
    """
    query = {**START, **query}
    at.query_params = {name: as_text(value) for name, value in query.items() if value is not None}
    return run(at)


def settings(at: AppTest) -> dict[str, str]:
    """What the address bar says beyond that start."""
    return {name: text for name, text in at.query_params.items() if START.get(name) != text}


def press(at: AppTest, key: str) -> AppTest:
    """The reader presses a button."""
    at.button(key=key).click()
    return run(at)


def move(at: AppTest, key: str, value: object) -> AppTest:
    """The reader moves a control."""
    control(at, key).set_value(value)
    run(at)
    assert_works(at)
    return at


def titles(at: AppTest) -> list[str]:
    """The questions of the page that stand side by side; none where one is shown alone."""
    return [title for each in _questions(at) for title in each.options]


def open_title(at: AppTest) -> str:
    """The question of the panel that is open; empty where a page has no other."""
    return next((asked.options[asked.indices[0]] for asked in _questions(at)), "")


def _questions(at: AppTest) -> list[Any]:
    return [each for each in at.button_group if each.key.partition("__")[0] == "panel"]


def as_text(value: object) -> str:
    """A value as a link carries it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def figure(at: AppTest, key: str) -> dict[str, Any]:
    """The figure of a chart: data and layout."""
    return orjson.loads(_chart(at, key).spec)


def _chart(at: AppTest, key: str) -> Any:
    return next(c.proto for c in at.get("plotly_chart") if c.proto.id.endswith(f"-{key}"))


def control(at: AppTest, name: str) -> Any:
    """The widget of a field, whatever kind it is and whatever options it has."""
    kinds = (at.select_slider, at.slider, at.button_group, at.selectbox, at.toggle, at.number_input)
    widgets = (widget for kind in kinds for widget in kind)
    return next(widget for widget in widgets if widget.key.partition("__")[0] == name)


def said(at: AppTest) -> str:
    """All sentences on the page, those at a question mark among them; not the explanations."""
    found = _by_kind(at)
    more = (each.help for kind in ("caption", "markdown") for each in found[kind])
    texts = (str(each.value) for kind in SAYING for each in found[kind])
    return "\n".join([*(text for text in texts if text not in _explanations()), *more])


def _by_kind(at: AppTest) -> dict[str, list[Any]]:
    """All that stands on the page, in one walk over it."""
    found: dict[str, list[Any]] = defaultdict(list)
    for each in at:
        found[each.type].append(each)
    return found


@cache
def _explanations() -> frozenset[str]:
    return frozenset(path.read_text().strip() for path in Path("assets/text").glob("*/*.md"))


def words_in_pictures(at: AppTest) -> str:
    """All that is written in the pictures, and what they say to those who cannot see them."""
    charts = [chart.proto for chart in at.get("plotly_chart")]
    return "\n".join(
        [*(chart.alt for chart in charts), *_texts([orjson.loads(c.spec) for c in charts])]
    )


def _texts(node: Any, name: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield from _texts(child, key)
    elif isinstance(node, list):
        if name in WRITTEN or not (node and isinstance(node[0], float | int)):
            for child in node:
                yield from _texts(child, name)
    elif isinstance(node, str) and name in WRITTEN:
        yield node


def labels(at: AppTest) -> list[str]:
    """What stands on or beside all widgets; what a file is called that is saved is no word."""
    shown = [each for each in (*at.main, *at.sidebar) if each.type != "download_button"]
    popovers = [each.proto.popover.label for each in shown if each.type == "popover"]
    return [*popovers, *(text for each in shown if isinstance(text := _label(each), str))]


def _label(element: Any) -> object:
    return getattr(element, "label", None)


def assert_described(at: AppTest) -> None:
    """Every picture is there for those who cannot see it, in the reader's language."""
    found = _by_kind(at)
    alts = {chart.proto.id: chart.proto.alt for chart in found["plotly_chart"]}
    assert [key for key, alt in alts.items() if not alt.strip()] == []
    if at.session_state.get("language") == "zh":
        headings = [each.value for kind in HEADINGS for each in found[kind]]
        texts = {*alts.values(), *headings, *labels(at)} - {*SAME_IN_CHINESE}
        ours = (QUOTED.sub("", each) for each in texts)
        assert [each for each in ours if WORD.search(each) and not CHINESE.search(each)] == []


def is_ours(key: str, value: object) -> bool:
    """Not what Streamlit keeps there itself: its own notes, and a view of a component's state."""
    return "INTERNAL" not in key and "streamlit" not in type(value).__module__


def assert_works(at: AppTest, *, warnings: int | None = 0) -> None:
    """No exception, no refusal, no number that is none; and the state can be kept."""
    found = _by_kind(at)
    assert [(error.message, error.stack_trace) for error in found["exception"]] == []
    assert [error.value for error in found["error"]] == []
    warned = [each.value for each in found["warning"]]
    assert warnings is None or len(warned) == warnings, warned
    assert_described(at)
    is_chinese = at.session_state.get("language") == "zh"
    for text in (said(at), words_in_pictures(at)):
        assert [line for line in text.splitlines() if NO_NUMBER.search(line)] == []
        ours = IN_SMALL.sub("", QUOTED.sub("`", text)).splitlines() if is_chinese else []
        assert [line for line in ours if LOOSE.search(line)] == []
    for table in [each.value for each in (*at.dataframe, *at.table)]:
        assert np.isfinite(table.select_dtypes("number").to_numpy(float)).all()
        words = table.select_dtypes(exclude="number").to_numpy(object).ravel()
        assert not {*map(str, words)} & {"nan", "inf", "-inf", "None", "<NA>", "NaT"}
    pickle.dumps({key: value for key, value in at.session_state.items() if is_ours(key, value)})


def assert_one_is_one(at: AppTest) -> None:
    """No count of one is said as of many."""
    lines = (line for text in (said(at), words_in_pictures(at)) for line in text.splitlines())
    assert [line for line in lines if ONE_AS_MANY.search(line)] == []


def assert_counts_from_1(at: AppTest) -> None:
    """Heads, experts, units and layers are counted from 1 in all that is read on the screen."""
    shown = "\n".join([said(at), words_in_pictures(at), *labels(at), *_hovers(at)])
    assert [line for line in shown.splitlines() if FROM_0.search(line)] == []
    chosen = [each for each in (*at.button_group, *at.selectbox) if each.label in COUNTED]
    assert [each.options[0] for each in chosen if each.options[0] != "1"] == []


def _hovers(at: AppTest) -> list[str]:
    found = [HOVER.findall(chart.proto.spec) for chart in at.get("plotly_chart")]
    return [text for each in found for texts in each for text in texts.strip('"').split('", "')]

"""Links that nobody hopes for, on every page: no error box, no exception, bounded memory.

A few of all that can be generated are tried here; `BLOCKSCOPE_HARD_LINKS=all` tries everything.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import hard_links
import pytest
from hard_links import GARBAGE, Link, beside, legal
from opened import PAGES, assert_works, opened, run, said, settings

from pages.show import steps

pytestmark = pytest.mark.usefixtures("shallow")

MIB = 2**20
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
IS_WHOLE = os.environ.get("BLOCKSCOPE_HARD_LINKS") == "all"
SEEDS = 12
# With these a page builds or writes for seconds: they are tried where all is.
TAKES_LONG = {"hide_each", "spread_of_weights", "n_new_tokens", "n_layers", "max_new_tokens"}


def kinds() -> list[Link]:
    """One link of each kind that the pages have in common."""
    return [
        *(hard_links.garbage(name) for name in GARBAGE),
        *(hard_links.at_the_end(end) for end in ("least", "most")),
        *hard_links.texts(),
        *hard_links.trained_and_not(),
    ]


def tries() -> list[tuple[str, Link]]:
    """Every kind of link on every page, and drawn ones; or of each page a few."""
    if IS_WHOLE:
        drawn = [(i, s) for i in range(len(PAGES)) for s in range(SEEDS)]
        some = [(PAGES[i], make(100 * i + s)) for i, s in drawn for make in (legal, beside)]
        return [(page, link) for page in PAGES for link in kinds()] + some
    each = [(page, link) for page in OF_A_MODEL for link in hard_links.trained_and_not()]
    garbage = [
        (page, hard_links.garbage(name)) for page, name in zip(PAGES, cycle(TELLING), strict=False)
    ]
    return [*each, *garbage, *((page, legal(i)) for i, page in enumerate(PAGES))]


# Kinds that have led to an error on some page, or that differ most from each other.
TELLING = (
    *("html", "400 digits", "10,000 characters", "400 digits", "0", "path", "nan", "template"),
    *("emoji", "right to left", "1e308", "-1", "a query", "2", "javascript", "html"),
)
OF_A_MODEL = ("pages/block.py", "pages/encoder.py", "pages/positions.py")
TRIES = tries()
# How a refusal begins to say what to use instead.
MEND = {"en": "use ", "zh": "：请用|请改用|请把"}


@pytest.fixture(autouse=True)
def small_and_brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long asks at once before it goes on; what is large is refused."""
    monkeypatch.setattr(steps, "A_WHILE", 0.2)
    monkeypatch.setenv("BLOCKSCOPE_MEMORY_GIB", "0.25")


@contextmanager
def at_most(n_bytes: int) -> Iterator[None]:
    """What is done here raises the peak of memory by no more; Linux counts it anew when asked."""
    if not CLEAR.exists():
        yield
        return
    CLEAR.write_text("5")
    before = _in_use("VmRSS")
    yield
    assert _in_use("VmHWM") - before < n_bytes


def _in_use(what: str) -> int:
    return 1024 * int(re.search(rf"{what}:\s+(\d+)", STATUS.read_text())[1])


@pytest.mark.parametrize(("page", "link"), TRIES, ids=[f"{p}-{link.kind}" for p, link in TRIES])
@pytest.mark.thinned
def test_any_link_is_shown_or_refused(page: str, link: Link):
    left_out = set() if IS_WHOLE else TAKES_LONG
    query = {name: text for name, text in link.query.items() if name not in left_out}
    with at_most(1024 * MIB):
        at = opened(page, **{"preset": None, **query})
    assert [(error.message, error.stack_trace) for error in at.exception] == []
    for error in at.error:  # a refusal, with what to use instead
        assert re.search(MEND[at.session_state["language"]], error.value)


def test_of_a_name_that_stands_twice_in_a_link_the_last_counts():
    at = opened()
    at.query_params = {"preset": "course", "d_model": ["64", "128"], "text": ["a", "b c d"]}
    for _ in range(2):
        assert_works(run(at))
        assert "3 tokens × 128 features" in said(at)


def test_what_a_link_cannot_say_leaves_the_address_bar():
    at = opened(**{name: "javascript:alert(1)" for name in ("d_model", "norm_placement", "nobody")})
    assert len(at.warning) == 3
    assert settings(at) == {}

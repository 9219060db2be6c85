"""A page as its reader goes through it, panel by panel."""

from collections.abc import Iterator

from opened import open_title, press
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Element

from pages.show.explain import AT_A_GLANCE, n_words

MOST_WORDS = 150
SAYING = ("title", "subheader", "markdown", "caption", "info")


def next_panel(at: AppTest) -> str | None:
    """The key of the button that leads to the panel after this one."""
    ways = [button.key for button in at.button if (button.key or "").startswith("to_")]
    return next((key for key in ways if key != "to_all"), None)


def panels(at: AppTest) -> Iterator[str]:
    """The question of each panel while it is open: from the one that is, by the button to the
    next, to the last."""
    yield open_title(at)
    while key := next_panel(at):
        press(at, key)
        assert at.query_params["panel"] == key.removeprefix("to_")
        yield open_title(at)


def unfolded(block: Block) -> Iterator[Element]:
    """All that stands on the page without a click."""
    for node in block.children.values():
        if not isinstance(node, Block):
            yield node
        elif node.type not in ("popover", "expander", "expandable"):
            yield from unfolded(node)


def assert_short(at: AppTest) -> None:
    """A panel says what it says in few words; more stands one click away."""
    shown = [each for each in unfolded(at.main) if each.type in SAYING]
    captions = [each.value for each in shown if each.type == "caption"]
    assert [text for text in captions if n_words(text) > AT_A_GLANCE] == []
    texts = [str(each.value) for each in shown]
    assert sum(map(n_words, texts)) <= MOST_WORDS, texts

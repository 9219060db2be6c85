"""What is drawn, said or kept gets its values: it asks neither link, session nor browser."""

import ast
from collections.abc import Iterator

import pytest
from source_walk import (
    Function,
    calls,
    functions,
    is_kept,
    modules,
    name_called,
    named,
    reaching,
    resolved,
    sources,
    uses,
)

pytestmark = pytest.mark.xdist_group("sources")

ASKED = ("session_state", "query_params", "theme")
SHOWING = ("show", "drawn", "say", "Say", "Note", "Text", "Shown", "Table", "Html")
DRAWN_BY_NAME = ("facts", "alt")
LANGUAGE = "pages.words.language"  # what is kept of words is kept by language: test_words_on_screen
# Those that still ask; none is to be added.
STILL_ASKING = {"pages.panels.training.watch.draw_curves", "pages.panels.training.watch.draw_state"}


def asks(node: ast.AST) -> bool:
    """Whether it reads link, session or browser; a slot of the session is `NAME.get()`."""
    match node:
        case ast.Attribute(attr=name):
            return name in ASKED
        case ast.Call(func=ast.Attribute(value=of, attr="get" | "take"), args=[], keywords=[]):
            return ast.unparse(of).rpartition(".")[2].isupper()
    return False


def asking(trees: dict[str, ast.Module]) -> set[Function]:
    """The functions that read link, session or browser, or use one that does."""
    direct = {key for key, node in functions(trees).items() if any(map(asks, ast.walk(node)))}
    of = {key: found for key, found in uses(trees).items() if key[0] != LANGUAGE}
    return reaching(of, {key for key in direct if key[0] != LANGUAGE})


def given_to_be_shown(trees: dict[str, ast.Module]) -> Iterator[Function]:
    """The functions that draw, say, describe or measure for `show`, `drawn` and `say`."""
    names = {module: named(tree) for module, tree in modules(trees).items()}
    for module, call in calls(trees):
        if name_called(call) not in SHOWING:
            continue
        given = [*call.args[:1], *(k.value for k in call.keywords if k.arg in DRAWN_BY_NAME)]
        yield from filter(None, (resolved(node, module, names[module]) for node in given))


def pulling(trees: dict[str, ast.Module]) -> set[str]:
    """What is drawn, said or kept and yet asks."""
    found = {key for key, node in functions(trees).items() if is_kept(node)}
    found |= set(given_to_be_shown(trees))
    found |= {key for key in functions(trees) if key[1].startswith(("draw_", "says"))}
    return {f"{module}.{name}" for module, name in found & asking(trees)}


def test_what_is_drawn_said_or_kept_is_given_its_values():
    assert pulling(sources()) == STILL_ASKING


def calculates(node: ast.AST) -> bool:
    """Whether it multiplies, divides, subtracts or sums up; adding 1, to count from 1, is free."""
    match node:
        case ast.BinOp(op=ast.Mult() | ast.Div() | ast.Sub() | ast.Pow()):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in ("sum", "mean", "median", "min", "max", "std", "argmax", "softmax")
    return False


def calculating(trees: dict[str, ast.Module]) -> set[Function]:
    """Sentences (`says…`) that calculate."""
    said = {key: node for key, node in functions(trees).items() if key[1].startswith("says")}
    return {key for key, node in said.items() if any(map(calculates, ast.walk(node)))}


def test_a_sentence_is_filled_from_facts_and_calculates_nothing():
    assert len(functions(sources())) > 1000 and calculating(sources()) == set()


@pytest.mark.parametrize("found", ["a / b", "table['n'].max()", "sum(rows)", "1 - share"])
def test_a_sentence_that_calculates_is_found(found: str):
    trees = {"pages/x.py": ast.parse(f"def says(facts):\n    return str({found})")}
    assert len(calculating(trees)) == 1


LINK = "def value(name): return st.session_state[name]"


@pytest.mark.parametrize(
    "source",
    [
        "@lru_cache\ndef facts(run): return link.value('head')",
        "def map(run): return link.value('head')\ndef panel(run): show(map, run, key='map')",
        "def map(run): return _head()\ndef _head(): return link.value('head')\ndrawn(map)",
        "def facts(run): return st.query_params\nshow(picture, facts=facts)",
        "def says(facts): return link.value('head')",
        "def says(facts): return shared.FILE.get().name",
        "@lru_cache\ndef drawn(run): return INK[st.context.theme.type]",
    ],
)
def test_what_asks_is_found(source: str):
    trees = {
        "pages/panels/x.py": ast.parse("from pages.stage import link\n" + source),
        "pages/stage/link.py": ast.parse(LINK),
    }
    assert len(pulling(trees)) == 1


def test_who_asks_for_what_is_shown_may_do_so():
    source = "def panel(run): show(draw, run, link.value('head'))\ndef draw(run, head): return head"
    trees = {
        "pages/panels/x.py": ast.parse("from pages.stage import link\n" + source),
        "pages/stage/link.py": ast.parse(LINK),
    }
    assert pulling(trees) == set()

"""A link says what its own page reads, and no setting of another page's panels."""

import ast
from collections.abc import Iterator

import pytest
import streamlit as st
from source_walk import (
    ROOT,
    Function,
    Uses,
    functions,
    modules,
    name_called,
    named,
    resolved,
    sources,
    uses,
)
from test_second_session import another_value

from pages.stage import link
from pages.state.fields import CONFIG, OF_PAGES, OF_PANELS, RUN, VIEW

pytestmark = [pytest.mark.xdist_group("sources"), pytest.mark.usefixtures("session")]

NORMS, GPT, TRANSLATOR = "normalization", "gpt", "seq2seq"
# What asks the link for a field, or makes a control of it.
ASKING = {
    *("value", "view", "hidden_view", "live_view"),
    *("choose", "choose_one", "pick", "slide", "slider", "switch", "enter", "measure_button"),
    *("typed", "slide_or_type", "slider_or_type"),
}


def path_of(page: str) -> str:
    return "app.py" if page == "app" else f"pages/{page}.py"


def go(page: str) -> None:
    """Follow the menu, drawn in full, to a page."""
    menu = link.menu(map(path_of, OF_PAGES))
    st.query_params.from_dict(menu[path_of(page)])
    link.sync(page)


@pytest.fixture(scope="module")
def used() -> Uses:
    """Which function uses which, read once."""
    return uses(sources())


def named_in(tree: ast.AST, module: str) -> Iterator[Function]:
    """The functions that a part of a module names."""
    names = named(modules(sources())[module])
    yield from filter(None, (resolved(node, module, names) for node in ast.walk(tree)))


def declared(tree: ast.AST, module: str) -> Iterator[tuple[ast.AST, str]]:
    """The values that a part of a module leads to, as panels are, each with its module."""
    known = modules(sources())
    own = {name: ("", name) for each in known[module].body for name in targets(each)}
    names = own | named(known[module])
    for node in ast.walk(tree):
        home, name = resolved(node, module, names) or ("", "")
        for each in known[home].body if home in known else ():
            if name in targets(each):
                yield each.value, home
                yield from declared(each.value, home)


def targets(node: ast.stmt) -> list[str]:
    """The names that a statement sets."""
    return [ast.unparse(each) for each in node.targets] if isinstance(node, ast.Assign) else []


def reached(page: str, of: Uses) -> list[ast.AST]:
    """The page, and every function that it leads to."""
    trees = sources()
    module = path_of(page).removesuffix(".py").replace("/", ".")
    tree = modules(trees)[module]
    values = declared(tree, module)
    new = set(named_in(tree, module)).union(*(named_in(*each) for each in values))
    found = set()
    while new := new - found:
        found |= new
        new = {other for each in new for other in of.get(each, ())}
    known = functions(trees)
    return [tree, *(known[each] for each in found if each in known)]


def strings(tree: ast.AST) -> set[str]:
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str)}


def read_of_the_state(tree: ast.AST) -> set[str]:
    """What a part of a module reads as `state.n_layers`, of a state by any name."""
    read = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {
        node.attr for node in read if isinstance(node.value, ast.Name) and "state" in node.value.id
    }


def test_every_page_has_a_row_and_no_setting_of_a_panel_is_the_models():
    pages = {path.stem for path in (ROOT / "app.py", *(ROOT / "pages").glob("*.py"))}
    assert OF_PAGES.keys() == pages
    assert not OF_PANELS.keys() & (CONFIG.keys() | RUN.keys() | VIEW.keys())


@pytest.mark.parametrize("page", OF_PAGES)
def test_what_the_link_of_a_page_carries_is_what_its_panels_read(page: str, used: Uses):
    trees = reached(page, used)
    read = set().union(*map(read_of_the_state, trees))
    named_there = set().union(*map(strings, trees)) | read
    assert OF_PAGES[page].keys() - named_there == set()
    asking = (
        node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and name_called(node) in ASKING
    )
    asked = set().union(*(strings(each) for call in asking for each in call.args))
    assert ((asked | read) & OF_PANELS.keys()) - OF_PAGES[page].keys() == set()


def test_no_link_carries_a_setting_that_no_panel_of_its_page_reads():
    link.sync(GPT)
    for name in OF_PANELS:
        link.change(name, another_value(name))
    link.change("token", 2)
    for page in OF_PAGES:
        link.sync(page)
        for query in (st.query_params.to_dict(), link.menu([path_of(page)])[path_of(page)]):
            assert query["token"] == "2"
            assert query.keys() & OF_PANELS.keys() == link.state().keys() & OF_PAGES[page].keys()


def test_a_reader_who_comes_back_finds_what_was_set():
    link.sync(NORMS)
    link.change("race_depth", 4)
    link.sync(NORMS)
    assert st.query_params["race_depth"] == "4"
    go(GPT)
    assert "race_depth" not in st.query_params
    link.change("temperature", 0.5)
    link.sync(GPT)
    go(NORMS)
    assert st.query_params.to_dict() == {"race_depth": "4"}
    go(GPT)
    assert link.value("temperature") == 0.5


def test_home_keeps_its_own_model_and_sentence():
    """A question leads to a page with a model of its own; what is typed there goes along."""
    mine = {"preset": "induction", "text": "1 2 3"}
    st.query_params.from_dict(mine)
    link.sync("app")
    st.query_params.from_dict({"lang": "zh", "preset": "course"})  # as a question does
    link.sync(GPT)
    link.change("preset", "llama-3.1-8b")
    link.sync(GPT)
    go("app")
    assert st.query_params.to_dict() == {"lang": "zh", **mine}
    go(GPT)
    link.change("text", "the robot")
    link.sync(GPT)
    go("app")
    assert link.value("text") == "the robot"


def test_back_undoes_what_the_link_says_and_nothing_else():
    link.sync(NORMS)
    link.change("race_depth", 4)
    link.sync(NORMS)
    go(GPT)
    before = st.query_params.to_dict()
    link.change("temperature", 0.5)
    link.change("token", 2)
    link.sync(GPT)
    st.session_state["written_before"] = (None, 0.0)  # a reader takes longer than a moment
    st.query_params.from_dict(before)
    link.sync(GPT)
    assert (link.value("temperature"), link.value("token")) == (1.0, None)
    assert link.value("race_depth") == 4


def test_an_old_link_with_settings_of_other_pages_opens_what_it_meant():
    st.query_params.from_dict({"race_depth": "4", "temperature": "0.5"})
    assert link.sync(GPT) == ()
    assert st.query_params.to_dict() == {"temperature": "0.5"}
    assert link.elsewhere(path_of(NORMS)) == {"race_depth": "4"}


def test_what_follows_a_text_does_not_outlive_it():
    link.sync(TRANSLATOR)
    link.change("forced_ids", "5.17")
    link.sync(TRANSLATOR)
    go(GPT)
    st.query_params.from_dict({"text": "the robot"})
    link.sync(GPT)
    assert link.value("forced_ids") == ""


def test_a_lesson_that_leads_over_several_pages_says_all_and_begins_as_it_says():
    link.sync(NORMS)
    link.change("race_depth", 4)
    link.sync(NORMS)
    st.query_params.from_dict({"lesson": "a", "temperature": "0.5"})
    link.sync(NORMS)
    assert link.value("race_depth") == 12
    assert st.query_params.to_dict() == {"lesson": "a", "temperature": "0.5"}

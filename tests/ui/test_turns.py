"""Runs of pages wait for each other, but for none that takes long."""

import ast
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from pages.ui.turns import Turns, one_at_a_time, turns

PAGES = [Path("app.py"), *sorted(Path("pages").glob("*.py"))]
SHARED = {"show_page": "pages/ui/frame.py", "show_model_page": "pages/panels/model_page.py"}
LONG = 1000.0


def come(line: Turns, names: str, went: list[str]) -> list[threading.Thread]:
    """One thread a name, each in the line before the next one comes; a capital can wait."""
    threads = []
    for name in names:
        threads.append(threading.Thread(target=goes, args=(line, name, went)))
        threads[-1].start()
        while line.n_waiting < len(threads):
            threading.Event().wait(1e-3)
    return threads


def goes(line: Turns, name: str, went: list[str]) -> None:
    with line.one(can_wait=name.isupper()):
        went.append(name)


def went_after(line: Turns, names: str) -> str:
    """In which order they go who come in this one while somebody else has the turn."""
    went = list[str]()
    with line.one():
        threads = come(line, names, went)
        assert went == []
    for thread in threads:
        thread.join()
    return "".join(went)


def test_who_came_first_goes_first():
    assert went_after(Turns(LONG), "abcdef") == "abcdef"


def test_a_moved_control_goes_before_who_opens_a_page():
    assert went_after(Turns(LONG, patience=LONG), "ABcDe") == "ceABD"


def test_who_has_waited_long_to_open_a_page_goes_first_all_the_same():
    assert went_after(Turns(LONG, patience=0.0), "aBcDe") == "BDace"


def test_who_takes_long_keeps_nobody_waiting():
    line, went = Turns(0.0), list[str]()
    with line.one():
        for thread in [threading.Thread(target=goes, args=(line, n, went)) for n in "ab"]:
            thread.start()
            thread.join()
        assert went == [*"ab"]


def test_who_took_too_long_ends_the_turn_of_no_other():
    line, went = Turns(0.0), list[str]()
    with ExitStack() as late:
        late.enter_context(line.one())
        line.longest = LONG
        holds, may_end = threading.Event(), threading.Event()

        def hold() -> None:
            with line.one():
                holds.set()
                may_end.wait()

        holder = threading.Thread(target=hold)
        holder.start()
        holds.wait()
    (waiting,) = come(line, "a", went)
    assert went == []
    may_end.set()
    for thread in (holder, waiting):
        thread.join()
    assert went == ["a"]


def test_a_section_within_a_page_is_of_its_turn_and_a_fault_ends_it():
    drawn = list[str]()

    @one_at_a_time
    def section() -> None:
        drawn.append("section")

    @one_at_a_time
    def page() -> None:
        section()
        raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError):
            page()
    assert drawn == ["section", "section"]
    assert not turns().n_waiting and turns()._until == 0.0


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_waits_for_its_turn(path: Path):
    tree = ast.parse(path.read_text())
    while "one_at_a_time" not in "".join(map(ast.unparse, decorators(tree.body[-1]))):
        shown = called_last(tree.body[-1])
        functions = ast.parse(Path(SHARED[shown]).read_text()).body
        tree.body = [each for each in functions if getattr(each, "name", "") == shown]


def called_last(node: ast.stmt) -> str:
    """What a statement calls, or the last one of a function."""
    last = node.body[-1] if isinstance(node, ast.FunctionDef) else node
    assert isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
    return ast.unparse(last.value.func)


def decorators(node: ast.stmt) -> list[ast.expr]:
    """What a function is wrapped in."""
    return node.decorator_list if isinstance(node, ast.FunctionDef) else []

"""Runs of pages wait for each other, but for none that takes long."""

import ast
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from pages.ui.turns import Turns, one_at_a_time, turns

PAGES = [Path("app.py"), *sorted(Path("pages").glob("*.py"))]
SHARED = Path("pages/panels/model_page.py")
LONG = 1000.0


def come(line: Turns, names: str, went: list[str]) -> list[threading.Thread]:
    """One thread a name, each in the line before the next one comes."""
    threads = []
    for name in names:
        threads.append(threading.Thread(target=goes, args=(line, name, went)))
        threads[-1].start()
        while len(line._line) < len(threads):
            threading.Event().wait(1e-3)
    return threads


def goes(line: Turns, name: str, went: list[str]) -> None:
    with line.one():
        went.append(name)


def test_who_came_first_goes_first():
    line, went = Turns(LONG), list[str]()
    with line.one():
        threads = come(line, "abcdef", went)
        assert went == []
    for thread in threads:
        thread.join()
    assert went == [*"abcdef"]


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
    assert not turns()._line and turns()._until == 0.0


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_waits_for_its_turn(path: Path):
    called = {name: where for where in (path, SHARED) for name in waiting(where)}
    last = ast.parse(path.read_text()).body[-1]
    assert isinstance(last, ast.Expr) and isinstance(last.value, ast.Call)
    assert ast.unparse(last.value.func) in called


def waiting(path: Path) -> list[str]:
    """The functions of a file that take turns."""
    functions = (each for each in ast.parse(path.read_text()).body if hasattr(each, "args"))
    return [f.name for f in functions if "one_at_a_time" in map(ast.unparse, f.decorator_list)]

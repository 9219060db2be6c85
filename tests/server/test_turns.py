"""Runs of pages wait for each other, but for none that takes long, or for memory."""

import ast
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from pages.server.shelf import Shelf, Shelves
from pages.server.turns import NotTogetherError, Turns, one_at_a_time, turns

PAGES = [Path("app.py"), *sorted(Path("pages").glob("*.py"))]
SHARED = {"show_page": "pages/page/frame.py", "show_model_page": "pages/panels/model_page.py"}
LONG, GIB = 1000.0, 2**30


class Kept(list[int]):
    """What a shelf keeps: it can be held, and has a size."""


def kept_of(n_bytes: int) -> Kept:
    return Kept([0] * n_bytes)


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
    assert went_after(Turns(LONG, patience=0.0), "aBc") == "Bac"


def test_of_many_who_open_pages_a_moved_control_waits_for_one():
    assert went_after(Turns(LONG, patience=0.0), "ABCDEFGx") == "AxBCDEFG"
    assert went_after(Turns(LONG, patience=0.0), "ABCxyz") == "AxByCz"


def test_who_takes_long_keeps_nobody_waiting():
    line, went = Turns(0.0), list[str]()
    with line.one():
        for thread in [threading.Thread(target=goes, args=(line, n, went)) for n in "ab"]:
            thread.start()
            thread.join()
        assert went == [*"ab"]


def test_pages_are_opened_one_by_one_while_moved_controls_pass():
    line, went = Turns(0.0, patience=0.0, longest_opening=LONG), list[str]()
    with line.one(can_wait=True):
        (opens,) = come(line, "A", went)
        moves = threading.Thread(target=goes, args=(line, "b", went))
        moves.start()
        moves.join()
        assert went == ["b"]
    opens.join()
    assert went == ["b", "A"]


def test_who_waits_for_memory_keeps_nobody_from_opening_a_page():
    line = Turns(LONG, longest_opening=LONG, most_bytes=lambda: GIB)
    first = Reader(line, GIB)
    assert first.holds.wait(60)
    first.line._until = 0.0  # as a long one
    waits = Reader(line, GIB, can_wait=True)
    assert waits.waits.wait(60)
    Reader(line, can_wait=True).draw()
    for each in (first, waits):
        each.draw()


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


def line_of(most_bytes: int = 2 * GIB, shrink_to: Callable[[int], None] | None = None) -> Turns:
    """Nobody waits for a turn in it, but for memory."""
    return Turns(0.0, most_bytes=lambda: most_bytes, shrink_to=shrink_to or (lambda _left: None))


class Reader(threading.Thread):
    """Draws something that takes so many bytes, until it is told that it is drawn."""

    def __init__(self, line: Turns, *n_bytes: int, can_wait: bool = False, gone: bool = False):
        super().__init__()
        self.line, self.needs, self.can_wait, self.gone = line, n_bytes, can_wait, gone
        self.told = list[int]()
        self.holds, self.is_drawn, self.waits = (threading.Event() for _ in range(3))
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            with self.line.one(can_wait=self.can_wait):
                for n_bytes in self.needs:
                    self.line.take(lambda n=n_bytes: n, self.tell)
                self.holds.set()
                assert self.is_drawn.wait(60)
        except Exception as error:
            self.error = error

    def tell(self, n_before: int) -> None:
        self.told.append(n_before)
        self.waits.set()
        if self.gone:
            raise InterruptedError

    def draw(self) -> None:
        """It has what it needs, and is done."""
        assert self.holds.wait(60)
        self.is_drawn.set()
        self.join()


@pytest.fixture(autouse=True)
def told_at_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pages.server.turns.BETWEEN_LOOKS", 0.01)


def test_of_sixty_large_runs_no_more_at_once_than_fit_and_who_waits_is_told():
    line, most = line_of(), list[int]()
    readers = [Reader(line, GIB) for _ in range(60)]
    while not all(each.holds.is_set() or each.waits.is_set() for each in readers):
        threading.Event().wait(1e-3)
    while readers:
        most.append(line.n_bytes)
        ready = [each for each in readers if each.holds.is_set()]
        for each in ready:
            each.draw()
            readers.remove(each)
    assert max(most) == 2 * GIB and line.n_bytes == 0  # never more


def test_a_small_run_waits_for_no_large_one():
    line = line_of()
    large, small = Reader(line, 2 * GIB), Reader(line, GIB // 100)
    small.draw()
    assert small.told == []
    large.draw()


def test_a_large_run_waits_for_no_small_one():
    line = line_of()
    small = [Reader(line, GIB // 100) for _ in range(9)]
    large = Reader(line, 2 * GIB)
    for each in (large, *small):
        each.draw()


def test_a_moved_control_gets_memory_before_who_opens_a_page():
    line = line_of()
    first = Reader(line, 2 * GIB)
    assert first.holds.wait(60)
    opens = Reader(line, GIB, can_wait=True)
    assert opens.waits.wait(60)
    moves = Reader(line, 2 * GIB)
    assert moves.waits.wait(60)
    while 1 not in opens.told:
        threading.Event().wait(1e-3)
    first.draw()
    moves.draw()
    opens.draw()
    assert opens.told[0] == 0 and {*moves.told} == {0}


def test_who_is_gone_stops_waiting_and_holds_nothing():
    line = line_of()
    first, gone = Reader(line, 2 * GIB), Reader(line, GIB, gone=True)
    gone.join()
    assert isinstance(gone.error, InterruptedError) and line.n_bytes == 2 * GIB
    first.draw()
    Reader(line, 2 * GIB).draw()


def test_two_who_hold_much_and_want_more_do_not_wait_for_each_other():
    line = line_of()
    holds = Reader(line, GIB)
    assert holds.holds.wait(60)
    wants = Reader(line, GIB, 2 * GIB)
    wants.join()
    assert isinstance(wants.error, NotTogetherError) and wants.error.n_bytes == 2 * GIB
    assert line.n_bytes == GIB
    holds.draw()


def test_who_is_alone_may_have_more_than_it_began_with_and_all_that_there_is():
    line = line_of()
    Reader(line, GIB, 2 * GIB).draw()
    Reader(line, 3 * GIB).draw()
    assert line.n_bytes == 0


def test_what_is_of_use_but_not_needed_is_held_only_where_there_is_room_for_it_now():
    line = line_of()
    with line.one():
        line.take(lambda: GIB, lambda _n_before: None)
        other = Reader(line, GIB // 2)
        assert other.holds.wait(60)
        assert not line.take_more(GIB) and line.n_bytes == 3 * GIB // 2
        assert line.take_more(GIB // 2) and line.n_bytes == 2 * GIB
    other.draw()
    assert line.n_bytes == 0


def test_what_a_large_run_leaves_behind_is_weighed_before_another_takes_its_room():
    kept, line = Shelves(), line_of(1000, lambda left: lefts.append((left, kept.n_bytes)))
    shelf, lefts = Shelf(kept_of, len, 10**9, among=kept), list[tuple[int, int]]()
    with line.one():
        line.take(lambda: 800, lambda _n_before: None)
        line.look_at(shelf, 500, shelf.get(500))
        shelf.clear()
    assert lefts == [(200, 0), (1000, 500)]


def test_too_many_who_wait_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pages.server.turns.MOST_WAITING", 1)
    line = line_of()
    first = Reader(line, 2 * GIB)
    assert first.holds.wait(60)
    second = Reader(line, GIB)
    assert second.waits.wait(60)
    third = Reader(line, GIB)
    third.join()
    assert "1 large models are already waiting" in str(third.error)
    for each in (first, second):
        each.draw()


def test_what_others_have_made_meanwhile_is_not_waited_for_any_more():
    line, needs = line_of(), iter([2 * GIB, 2 * GIB, 0, 0])
    first = Reader(line, GIB)
    assert first.holds.wait(60)
    with line.one():
        line.take(lambda: next(needs), lambda _n_before: None)
        assert line.n_bytes == GIB
    first.draw()


def test_what_is_kept_makes_room_for_large_runs_but_stays_with_who_looks_at_it():
    kept = Shelves()
    shelf = Shelf(kept_of, len, 10**9, among=kept)
    line = line_of(1000, kept.shrink_to)
    for key in (300, 301, 302):
        shelf.get(key)
    assert kept.n_bytes == 903
    with line.one():
        line.take(lambda: 600, lambda _n_before: None)
        assert kept.n_bytes == 302
        line.look_at(shelf, 500, mine := shelf.get(500))
        Reader(line, 400).draw()
        assert kept.n_bytes <= 400
        assert shelf.get(500) is mine
    assert kept.n_bytes == 500

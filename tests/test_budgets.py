"""How large each room may be: the numbers of `budgets.toml`, which only fall."""

import ast
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
from source_walk import ROOT, tree_of

pytestmark = pytest.mark.xdist_group("sources")

BUDGETS = tomllib.loads((ROOT / "tests/budgets.toml").read_text("utf-8"))
LONG, SLACK = 300, 500  # lines of a file; lines that a room may stay below its number


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def n_lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def n_imports(path: Path) -> int:
    return sum(isinstance(node, ast.Import | ast.ImportFrom) for node in tree_of(path).body)


def test_no_room_grows():
    found = {room: sum(map(n_lines, files(room))) for room in BUDGETS["lines"]}
    grown = {room: n for room, n in found.items() if n > BUDGETS["lines"][room]}
    assert not grown, f"more lines than tests/budgets.toml allows: {grown}"
    fallen = {room: n for room, n in found.items() if n < BUDGETS["lines"][room] - SLACK}
    assert not fallen, f"lower their numbers in tests/budgets.toml: {fallen}"


def test_every_room_has_its_number():
    rooms = {f"blocks/{path.parent.name}" for path in ROOT.glob("blocks/*/__init__.py")}
    rooms |= {f"pages/{path.parent.name}" for path in ROOT.glob("pages/*/*.py")}
    rooms |= {f"pages/{path.parent.parent.name}" for path in ROOT.glob("pages/*/*/*.py")}
    assert rooms | {"tests"} == {*BUDGETS["lines"]}


def n_words(word: str, folders: Iterable[str]) -> int:
    return sum(path.read_text("utf-8").count(word) for folder in folders for path in files(folder))


def test_panels_are_handed_what_is_set_and_the_session_is_asked_in_one_room():
    rooms = {room for room in BUDGETS["lines"] if room[:6] == "pages/"}
    assert n_words("link.value(", ["pages/panels"]) <= BUDGETS["asks"]["link_value_in_panels"]
    assert n_words("st.session_state", rooms - {"pages/session"}) == 0


def test_files_stay_short_and_panels_import_little():
    everything = [path for room in BUDGETS["lines"] for path in files(room)]
    n_long = sum(n_lines(path) > LONG for path in everything)
    assert n_long <= BUDGETS["files"]["over_300_lines"]
    most = max(map(n_imports, files("pages/panels")))
    assert most <= BUDGETS["files"]["imports_of_a_panel"]

"""Who may import whom: the table of rooms, held by reading the imports."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from source_walk import tree_of

pytestmark = pytest.mark.xdist_group("sources")

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Room:
    """Files, what they never import, and what they import only for type names."""

    files: str
    never: tuple[str, ...]
    for_types_only: tuple[str, ...] = ()


FRONT_DOORS = ["__init__.py", "__main__.py", "launch.py"]  # of a notebook, and of command lines
# Inside blocks/ each room imports those before it only.
BLOCKS_ROOMS = [
    "model",
    "work",
    "observe",
    "text",
    "cost",
    "corpora",
    "weights",
    "training",
    "sweep",
    "scaling",
    "efficiency",
    "inspection",
    "known",
    "phases",
    "export",
    "lessons",
]
# What all pages share, in the same order: a panel stands above all but the page around it.
PAGES_ROOMS = ["session", "words", "server", "state", "stage", "show", "lessons", "page"]
SHARED = tuple(f"pages.{name}" for name in PAGES_ROOMS)
# In `pages/state` values are handed over: no session is asked, nothing is drawn. Only fewer.
STILL_ASKING = {"pages.state.fields"}
ROOMS = (
    *(
        Room(
            f"blocks/{name}/*.py", never=tuple(f"blocks.{later}" for later in BLOCKS_ROOMS[i + 1 :])
        )
        for i, name in enumerate(BLOCKS_ROOMS)
    ),
    Room("blocks/**/*.py", never=("streamlit", "plotly", "pages", "app")),
    Room("pages/figures/**/*.py", never=("streamlit", "torch", "pages.panels", *SHARED)),
    *(
        Room(f"pages/{name}/**/*.py", never=("plotly", "pages.panels"), for_types_only=("torch",))
        for name in PAGES_ROOMS
    ),
    Room("pages/panels/**/*_picture.py", never=("streamlit", "torch", *SHARED)),
    Room("pages/panels/**/*.py", never=("plotly",), for_types_only=("torch",)),
    Room("pages/*.py", never=("torch", "plotly")),
    Room("app.py", never=("torch", "plotly")),
)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imported(node: ast.AST, package: str, *, at_runtime: bool) -> Iterator[str]:
    """Every module that the source below a node imports, by its full name."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
        base = ".".join([*(parents if node.level else []), *filter(None, [node.module])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)
    for name, children in ast.iter_fields(node):
        if at_runtime and is_type_checking(node) and name == "body":
            continue
        for child in children if isinstance(children, list) else [children]:
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                yield from imported(child, package, at_runtime=at_runtime)


def violations(tree: ast.Module, room: Room, package: str) -> list[str]:
    rules = ((room.never, False), (room.for_types_only, True))
    return [
        name
        for forbidden, at_runtime in rules
        if forbidden
        for name in imported(tree, package, at_runtime=at_runtime)
        if any(f"{name}.".startswith(f"{other}.") for other in forbidden)
    ]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.files)
def test_a_room_imports_only_what_it_knows(room: Room):
    files = {path.relative_to(ROOT): tree_of(path) for path in ROOT.glob(room.files)}
    packages = {path: ".".join(path.parent.parts) for path in files}
    found = {path: violations(files[path], room, packages[path]) for path in files}
    assert files and not any(found.values()), found


def room_of(module: str) -> int:
    """Where the room of a module stands in the order; -1 where it is none of pages."""
    folder, _dot, name = f"{module}.".partition(".")
    room = name.partition(".")[0]
    return PAGES_ROOMS.index(room) if folder == "pages" and room in PAGES_ROOMS else -1


def test_a_room_of_pages_imports_those_before_it():
    of_rooms = modules(*(f"pages/{name}" for name in PAGES_ROOMS))
    found = {
        name: {*imported(tree_of(path), "", at_runtime=False)} for name, path in of_rooms.items()
    }
    upward = {
        (name, other)
        for name, names in found.items()
        for other in names & of_rooms.keys()
        if room_of(other) > room_of(name)
    }
    assert not upward
    in_state = {name for name in of_rooms if name.startswith("pages.state.")}
    assert not any("streamlit" in found[name] for name in in_state)
    assert {name for name in in_state if "pages.session.slot" in found[name]} == STILL_ASKING


def test_what_every_page_loads_of_the_test_chart_is_its_words_and_counts():
    """Instruments and models stand behind it: a page that shows a score waits for none of them."""
    names = {
        name
        for path in modules(*(f"pages/{name}" for name in PAGES_ROOMS)).values()
        for node in tree_of(path).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in imported(node, "", at_runtime=True)
        if name.startswith("blocks.known.")
    }
    assert {name.split(".")[2] for name in names} == {"cells", "words"}


def test_every_room_of_blocks_has_its_place_in_the_order():
    rooms = {path.parent.name for path in ROOT.glob("blocks/*/__init__.py")}
    assert rooms == set(BLOCKS_ROOMS)
    assert [path.name for path in sorted(ROOT.glob("blocks/*.py"))] == FRONT_DOORS


@pytest.mark.parametrize("room", BLOCKS_ROOMS)
def test_what_a_room_exports_hides_none_of_its_modules(room: str):
    exported = importlib.import_module(f"blocks.{room}").__all__
    assert not {path.stem for path in ROOT.glob(f"blocks/{room}/*.py")} & {*exported}


MODEL, OBSERVE = ROOMS[:2]
BLOCKS, FIGURES, WORDS, *_OTHERS, PICTURES, PANELS, PAGES, APP = ROOMS[len(BLOCKS_ROOMS) :]


@pytest.mark.parametrize(
    ("room", "source"),
    [
        (BLOCKS, "import streamlit as st"),
        (BLOCKS, "def show():\n    from plotly import graph_objects"),
        (BLOCKS, "try:\n    import numpy, pages.words\nexcept ImportError:\n    pass"),
        (BLOCKS, "if TYPE_CHECKING:\n    import plotly"),
        (MODEL, "from blocks import observe"),
        (MODEL, "from ..cost.parameters import count_parameters"),
        (OBSERVE, "from blocks.cost import memory"),
        (FIGURES, "import torch.nn"),
        (FIGURES, "from pages import stage"),
        (FIGURES, "from ..page import frame"),
        (FIGURES, "from .. import show"),
        (WORDS, "import torch"),
        (WORDS, "if TYPE_CHECKING:\n    pass\nelse:\n    import torch"),
        (WORDS, "if TYPE_CHECKING:\n    import plotly.express"),
        (PICTURES, "import streamlit"),
        (PANELS, "import torch"),
        (PANELS, "import plotly.graph_objects"),
        (PAGES, "class A:\n    import torch"),
        (PAGES, "import numpy\nif True:\n    from torch import Tensor"),
        (APP, "import plotly.graph_objects as go"),
    ],
)
def test_a_planted_violation_is_caught(room: Room, source: str):
    package = ".".join(Path(room.files.split("/*")[0]).parts)
    assert violations(ast.parse(source), room, package)


@pytest.mark.parametrize(
    ("room", "source"),
    [
        (BLOCKS, "import torch, streamlit_like\nfrom blocks import config"),
        (BLOCKS, "from . import flow\nfrom ..pages_of_a_book import page"),
        (
            FIGURES,
            "import plotly.graph_objects as go\nfrom pages.figures import theme\nimport pages",
        ),
        (FIGURES, "from . import matrix\nfrom .theme import QUERY"),
        (WORDS, "import streamlit\nif TYPE_CHECKING:\n    import torch"),
        (WORDS, "import typing\nif typing.TYPE_CHECKING:\n    from torch import Tensor"),
        (PAGES, "import streamlit\nfrom pages.figures import matrix\nfrom pages.page import frame"),
    ],
)
def test_what_a_room_knows_is_no_violation(room: Room, source: str):
    package = ".".join(Path(room.files.split("/*")[0]).parts)
    assert violations(ast.parse(source), room, package) == []


def modules(*folders: str) -> dict[str, Path]:
    """Every module below these folders, by its full name."""
    paths = [path for folder in folders for path in ROOT.glob(f"{folder}/**/*.py")]
    names = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths}
    return {name: path for path, name in names.items() if path.name != "__init__.py"}


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """What each module of the app imports."""
    everyone = {**modules("pages"), "app": ROOT / "app.py"}
    return {
        name: set(imported(tree_of(path), name.rpartition(".")[0], at_runtime=False))
        for name, path in everyone.items()
    }


def test_no_module_imports_itself_through_others(imports: dict[str, set[str]]):
    sorter = TopologicalSorter({name: found & imports.keys() for name, found in imports.items()})
    sorter.prepare()


# Pictures and their sizes that what all pages share alone shows: it never draws, nor knows Plotly.
DRAWN_FOR_ALL = {f"pages.figures.{name}" for name in ("class_guesses", "drawn_chart", "guess")}


def home_of(user: str) -> str:
    """The folder of a module; of a page that of its panels; of what all pages share their rooms."""
    if room_of(user) >= 0:
        return "rooms"
    folder, _dot, name = user.rpartition(".")
    return f"pages.panels.{name}" if folder == "pages" else folder or user


def test_what_one_page_alone_uses_lies_beside_it(imports: dict[str, set[str]]):
    homes = {
        name: {home_of(user) for user, found in imports.items() if name in found}
        for name in modules("pages/figures", *(f"pages/{name}" for name in PAGES_ROOMS))
        if not name.endswith("__main__")
    }
    astray = {n for n, h in homes.items() if len(h) < 2 and not home_of(n).startswith(tuple(h))}
    assert astray == DRAWN_FOR_ALL


def test_blocks_load_neither_streamlit_nor_plotly():
    code = """
import importlib, pkgutil, sys
import blocks
for module in pkgutil.walk_packages(blocks.__path__, "blocks."):
    importlib.import_module(module.name)
print(sorted({"streamlit", "plotly", "pages"} & sys.modules.keys()))
"""
    fresh = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert fresh.stdout.strip() == "[]"

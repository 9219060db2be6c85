"""Examples of README and guides run, their links lead somewhere; what is installed is told."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from blocks.weights.config_families import FAMILIES

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "assets" / "docs"
TEXTS = (*ROOT.glob("*.md"), *DOCS.glob("*.md"))
N_THINGS = 30


def code_in(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def things() -> dict[str, str]:
    """The code of each thing of the gallery, by its title; first what all begin with."""
    parts = (DOCS / "gallery.md").read_text("utf-8").split("\n## ")
    return {part.partition("\n")[0]: "".join(code_in(part)) for part in parts}


@cache
def beginning() -> dict[str, Any]:
    """The names that the first lines of the gallery make."""
    names: dict[str, Any] = {"__name__": "example"}
    exec(next(iter(things().values())), names)
    return names


NUMBERED = {title: code for title, code in things().items() if title[0].isdigit()}


def test_the_gallery_is_whole():
    assert [title.split()[0] for title in NUMBERED] == [str(i + 1) for i in range(N_THINGS)]
    assert all(NUMBERED.values())


@pytest.mark.parametrize("title", NUMBERED)
def test_a_thing_of_the_gallery_runs(title: str):
    exec(compile(NUMBERED[title], title, "exec"), dict(beginning()))


@pytest.mark.parametrize("file", [ROOT / "README.md", DOCS / "transformerlens.md"], ids=str)
def test_the_examples_of_a_page_run_one_after_the_other(file: Path):
    code = "".join(code_in(file.read_text("utf-8")))
    assert code
    exec(compile(code, file.name, "exec"), {"__name__": "example"})


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: file.name)
def test_a_link_to_a_file_or_heading_is_right(file: Path):
    for path, anchor in re.findall(r"\]\((?!http)([^)#]*)#?([^)]*)\)", file.read_text("utf-8")):
        found = file.parent / path if path else file
        assert found.exists(), path
        assert not anchor or anchor in anchors(found), anchor


def anchors(file: Path) -> set[str]:
    """Of the headings of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_as_many_families_are_named_as_there_are():
    text = "".join(file.read_text("utf-8") for file in DOCS.glob("*.md"))
    assert {*re.findall(r" of (\d+) families", text)} == {str(len(FAMILIES))}


def test_every_room_is_installed():
    folders = (path.parent.relative_to(ROOT) for path in ROOT.glob("blocks/*/**/__init__.py"))
    rooms = {".".join(folder.parts) for folder in folders}
    packages = PROJECT["tool"]["setuptools"]["packages"]
    assert {"blocks", "blockscope", *rooms} == set(packages)

"""The examples of the README run, and so does what it says of installing."""

import re
import tomllib
from pathlib import Path

import pytest

from blocks.weights.config_json import FAMILIES

ROOT = Path(__file__).parent.parent
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_examples_are_found():
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs(example: str):
    exec(compile(example, "README.md", "exec"), {"__name__": "example"})


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_as_many_families_are_named_as_there_are():
    named = re.findall(r" of (\d+) families", (ROOT / "README.md").read_text())
    assert named == [str(len(FAMILIES))] * 2


def test_every_room_is_installed():
    folders = (path.parent.relative_to(ROOT) for path in ROOT.glob("blocks/*/**/__init__.py"))
    rooms = {".".join(folder.parts) for folder in folders}
    packages = PROJECT["tool"]["setuptools"]["packages"]
    assert {"blocks", "blockscope", *rooms} == set(packages)

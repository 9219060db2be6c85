"""What `pip install blockscope` brings: one wheel, and a command that needs no other file."""

import subprocess
import sys
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path
from shutil import copy2, copytree, ignore_patterns

import pytest
from packaging.requirements import Requirement
from playwright.sync_api import Browser, expect
from served import DESK, ROOT, Reader, started
from told import at

FOLDERS = ("blocks", "pages", "assets", ".streamlit")
FILES = ("app.py", "pyproject.toml", "requirements.txt", "README.md", "LICENSE")
STAYS = {"assets/readme.png", "assets/locale/babel.cfg"}  # and what serves a class
MEGABYTE = 1_000_000
PIP = [sys.executable, "-m", "pip", "--quiet", "--no-input"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, since setuptools would put what an earlier build left into it."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("built")
    for name in FOLDERS:
        copytree(ROOT / name, source / name, ignore=ignore_patterns("__pycache__"))
    for name in FILES:
        copy2(ROOT / name, source)
    offline = ["--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*PIP, "wheel", *offline, "--wheel-dir", built, source], check=True)
    (found,) = built.iterdir()
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel alone; what it depends on is here."""
    folder = tmp_path_factory.mktemp("installed")
    offline = ["--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*PIP, "install", *offline, "--target", folder, wheel], check=True)
    return folder


def test_the_wheel_holds_app_and_library_and_is_small(wheel: Path):
    held = set(zipfile.ZipFile(wheel).namelist())
    paths = (path for name in FOLDERS for path in (ROOT / name).rglob("*") if path.is_file())
    named = {path.relative_to(ROOT).as_posix() for path in paths if path.suffix != ".pyc"}
    ours = {name for name in named - STAYS if not name.startswith("assets/serve/")}
    assert {name if name.startswith("blocks/") else f"blockscope/{name}" for name in ours} <= held
    assert {name.partition("/")[0].partition("-")[0] for name in held} == {"blocks", "blockscope"}
    assert wheel.stat().st_size <= 15 * MEGABYTE


def test_the_wheel_needs_what_the_requirements_name(installed: Path):
    (about,) = installed.glob("blockscope-*.dist-info")
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    required = {Requirement(line.partition(" #")[0]) for line in lines}
    needed = map(Requirement, PathDistribution(about).requires or ())
    assert {each for each in needed if each.marker is None or "extra" not in str(each.marker)} == (
        required
    )


@pytest.mark.exhaustive
def test_the_command_opens_home_in_an_empty_folder(
    installed: Path, tmp_path: Path, browser: Browser
):
    """In both languages, with theme, translations, a trained model and links to all pages."""
    command = [sys.executable, str(installed / "bin" / "blockscope")]
    paths = {"PYTHONPATH": str(installed), "HOME": str(tmp_path)}
    with started(command, tmp_path, **paths) as address, browser.new_context(**DESK) as context:
        reader = Reader(context, address)
        page = reader.load("/?lang=en")
        expect(page.locator("h1")).to_have_text("Watch a Transformer read your sentence")
        expect(at(page, "graph").locator(".js-plotly-plot")).to_be_visible()
        font = page.evaluate("getComputedStyle(document.querySelector('.stApp')).fontFamily")
        assert "Noto Sans CJK" in font
        reader.load("/?lang=zh")
        expect(page.locator("h1")).to_have_text("看 Transformer 怎样读你的句子")
    assert not reader.errors

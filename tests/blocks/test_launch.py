"""The command `blockscope`: the app with any flags of Streamlit, or a command of the library."""

import runpy
import sys
from pathlib import Path

import pytest

from blocks import launch


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What was started as modules, with which words."""
    found: list[list[str]] = []

    def run(name: str, run_name: str) -> None:
        assert run_name == "__main__"
        found.append([name, *sys.argv])
        raise SystemExit(0)

    monkeypatch.setattr(runpy, "run_module", run)
    monkeypatch.setattr(sys, "argv", ["blockscope"])
    return found


@pytest.mark.parametrize("flags", [[], ["--server.port", "8600"]])
def test_the_app_is_started_with_all_flags(started: list[list[str]], flags: list[str]):
    with pytest.raises(SystemExit):
        launch.main(flags)
    ((module, _name, run, app, *passed),) = started
    assert (module, run, passed) == ("streamlit", "run", flags)
    assert Path(app).is_absolute() and Path(app).is_file()


def test_a_command_of_the_library_is_done(started: list[list[str]], capsys):
    assert launch.main(["count", "gpt2-small", "--json"]) == 0
    assert "124439808" in capsys.readouterr().out
    assert not started


def test_lessons_are_checked(started: list[list[str]], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(SystemExit):
        launch.main(["lessons", "check", "own.en.md"])
    assert started == [["pages.lessons", "blockscope lessons", "check", "own.en.md"]]


def test_help_tells_both_ways(started: list[list[str]], capsys):
    with pytest.raises(SystemExit):
        launch.main(["--help"])
    said = capsys.readouterr().out
    assert "--server.port" in said and "python -m blocks count" in said
    assert not started

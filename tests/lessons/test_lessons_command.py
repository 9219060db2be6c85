"""The command that plays a teacher's own lesson and names its faults."""

from pathlib import Path

import pytest

from pages.lessons.__main__ import main

LESSON = """+++
title = "Twice as many heads"
minutes = 2
page = "{page}"
+++

## Heads
A block with 8 heads gets 16.

```step
set = "preset=course"
show = "{panel}"
withhold = true
ask = "How many parameters does it have then?"
options = [["As many", {least}, 1.01], ["Twice as many", 1.9, 2.1]]
truth = "parameters(n_heads=16) / parameters(n_heads=8)"
task = "Set n_heads to 16."
done = "n_heads == {wanted}"
solution = "n_heads={n}"
so_far = [["Heads", "{told}"]]
```

The heads share the hidden size.
"""
RIGHT = {
    "page": "block",
    "panel": "parameters",
    "least": 0.99,
    "wanted": 16,
    "n": 16,
    "told": "n_heads",
}


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCKSCOPE_LESSONS", "")
    monkeypatch.setattr("logging.disable", lambda _level: None)


def said(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> tuple[int, str]:
    file = tmp_path / "own.en.md"
    file.write_text(text)
    return main(["check", str(file)]), capsys.readouterr().out


def test_a_lesson_that_lies_anywhere_is_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert said(tmp_path, capsys, LESSON.format(**RIGHT)) == (
        0,
        f"{tmp_path}/own.en.md:\n  all is well\n",
    )


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ({"page": "blok"}, "there is no page blok"),
        ({"panel": "wheels"}, "there is no panel wheels"),
        ({"least": 1.005}, "no option holds for all seeds: measured 1, 1, 1, 1, 1"),
        ({"least": 0.999999}, "at the edge of its option"),
        ({"told": "n_wheels"}, "unknown name: n_wheels"),
        ({"wanted": 8}, "done before anything was done"),
        ({"wanted": 4}, "the solution does not do the task"),
        ({"n": "many"}, "n_heads=many is not valid"),
    ],
)
def test_each_fault_is_named_with_its_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: dict, fault: str
):
    code, out = said(tmp_path, capsys, LESSON.format(**{**RIGHT, **wrong}))
    assert code == 1 and f"Heads: {fault}" in out.replace("the task is ", "")


CELL = """+++
title = "The largest"
minutes = 2
page = "attention"
+++

## One cell
Which?

```step
set = "preset=course&mask_kind={mask}&text=a+b+c"
ask = "Which cell?"
kind = "cell"
truth = "{truth}"
```
"""


@pytest.mark.parametrize(
    ("mask", "truth", "fault"),
    [
        ("none", "weight_map()", "the cell depends on the seed"),
        ("none", "weight_map(n_heads=1, seed=0)", "another cell is nearly as large"),
        ("causal", "weights()", "is not a map"),
    ],
)
def test_a_cell_that_is_not_clear_is_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mask: str, truth: str, fault: str
):
    code, out = said(tmp_path, capsys, CELL.format(mask=mask, truth=truth))
    assert code == 1 and fault in out


def test_what_is_no_lesson_is_refused_and_nothing_said_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    code, out = said(tmp_path, capsys, "Hello")
    assert code == 1 and "begins with its title" in out
    assert main([]) == 2 and "check FILE" in capsys.readouterr().out

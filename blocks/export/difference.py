"""What a change of the configuration changes in the code: the most direct answer to that."""

import difflib
from dataclasses import dataclass

from blocks.export.code import as_code
from blocks.export.package import family
from blocks.model.config import ModelConfig


@dataclass(frozen=True)
class CodeFacts:
    """A model as code; `family`: the published one whose names its weights have, or empty."""

    text: str
    n_lines: int
    n_classes: int
    family: str


@dataclass(frozen=True)
class CodeChange:
    """A unified difference of two files, and how many lines go and come."""

    text: str
    n_gone: int
    n_new: int


def code_facts(config: ModelConfig, came_as: str = "") -> CodeFacts:
    """The file of a model, counted; `came_as`: the family of the files it came from."""
    text = as_code(config)
    lines = text.splitlines()
    n_classes = sum(line.startswith("class ") for line in lines)
    return CodeFacts(text, len(lines), n_classes, family(config, came_as))


def code_change(a: str, b: str) -> CodeChange:
    """From file `a` to file `b`, with three lines around each change."""
    lines = [*difflib.unified_diff(a.splitlines(), b.splitlines(), "A", "B", lineterm="")]
    return CodeChange(
        text="\n".join(lines),
        n_gone=sum(line.startswith("-") for line in lines[2:]),
        n_new=sum(line.startswith("+") for line in lines[2:]),
    )

"""A move as the renderer is told it."""

from typing import Any

from blocks.inspection.scene_matrix import Matrix
from blocks.inspection.scene_moves import Move
from blocks.observe.run import Run
from pages.figures.counting import from_one
from pages.panels.forward_pass import said
from pages.words.language import _, bracketed

N_ENDS = 8


def plain(move: Move) -> dict[str, Any]:
    """What it is, without words."""
    return {
        "path": move.path,
        "stage": move.stage,
        "kind": str(move.kind),
        "part": str(move.part),
        "reads": move.reads,
        "layer": move.layer,
        "stack": move.stack,
        "is_stream": move.is_stream,
    }


def named(run: Run, move: Move, made: Matrix | None) -> dict[str, str]:
    """A title, and a short name, which says which columns of what is made are drawn."""
    short = said.short_name(run, move)
    if made is not None and made.columns is None and made.codes.shape[-1] < made.of:
        first, last = from_one(made.first), made.first + made.codes.shape[-1]
        drawn = _("{first}–{last} of {of}").format(first=first, last=last, of=made.of)
        short = bracketed(short, drawn)
    return {"title": said.title(run, move), "short": short}

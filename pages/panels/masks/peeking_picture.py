"""Loss of a GPT with its mask and of one without: while it learns, and where it must write."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from blocks.training.peeking import N_UPDATES, Peeking
from pages.figures import marks, palette
from pages.figures.series import step_hover, training_losses
from pages.figures.theme import Picture, Translate

COLORS = {"masked": palette.ATTENTION, "peeking": palette.PINNED}


def losses(facts: Peeking, names: Mapping[str, str], *, _: Translate) -> Picture:
    """Loss over updates, two curves a model.

    Where it must write is measured at some updates only, and drawn dotted with a mark at each.
    """
    training = _lines(facts.curves, names, _("{model}, training"), "lines", "solid", _)
    writing = _lines(facts.writing, names, _("{model}, generating"), "lines+markers", "dot", _)
    return training_losses(
        [*training, *writing],
        title=_("Loss during training and generation"),
        n_updates=N_UPDATES,
        guess=facts.guess,
        _=_,
    )


def _lines(
    table: pd.DataFrame,
    names: Mapping[str, str],
    label: str,
    mode: str,
    dash: str,
    _: Translate,
) -> Iterator[dict[str, Any]]:
    for model, found in table.groupby("model", sort=False):
        name = label.format(model=names[str(model)])
        yield marks.line(
            found["update"],
            found["loss"],
            mode=mode,
            name=name,
            line={"color": COLORS[str(model)], "width": 2.5, "dash": dash},
            marker={"size": 8},
            hovertemplate=step_hover(name, _),
        )

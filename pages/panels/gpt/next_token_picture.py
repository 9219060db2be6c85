"""The likeliest next tokens: what the model says, and what sampling makes of it."""

import math
from typing import Any

import pandas as pd

from blocks.inspection.next_token import NextFacts
from pages.figures import marks, palette
from pages.figures.axes import room_under_legend, row_names
from pages.figures.counting import read_apart
from pages.figures.table_rows import each_row
from pages.figures.theme import Picture, Translate, figure, token_label, word_label
from pages.panels.gpt.few_bars_picture import few_bars

ROW, BOTTOM = 25, 44
LEAST, N_FEW = 0.001, 5


def bars(facts: NextFacts, *, _: Translate) -> Picture:
    """Two bars per token, the likeliest on top: before sampling, and the chance to be drawn.

    All that are not listed are in the last row, written and not drawn.
    """
    ranked = facts.likeliest
    names = [f"{row.rank} · {token_label(row.label)}" for row in each_row(ranked)]
    if facts.n_others:
        names.append(_("{n:,} others").format(n=facts.n_others))
    n = len(names)
    largest = float(ranked[["model_probability", "probability"]].max().max())
    digits = max(0, 1 - math.floor(math.log10(100 * largest)))  # of a percentage of this size
    kept, dropped = ranked[ranked["kept"]], ranked[~ranked["kept"]]
    return figure(
        [
            _before(kept, _("model probability"), "", _),
            _before(dropped, _("model probability (excluded tokens)"), "/", _),
            _drawn_from(kept, max(2, digits + 1), _),
            _in_words(facts, _),
        ],
        title=_("Prediction after {token}").format(token=token_label(facts.after)),
        **room_under_legend(ROW * n, BOTTOM),
        barmode="group",
        bargap=0.25,
        xaxis={"title": _("probability"), "tickformat": f".{digits}%", "range": [0, 1.2 * largest]},
        yaxis=row_names(names),
    )


def few(facts: NextFacts, *, _: Translate) -> Picture:
    """A bar for each of the likeliest tokens, with its probability; a click returns its id."""
    tokens = facts.likeliest[:N_FEW]
    shares = tokens["model_probability"].tolist()
    bars = marks.lying(
        shares,
        range(len(shares)),
        **marks.written(f"{x:.1%}" if x >= LEAST else f"< {LEAST:.1%}" for x in shares),
        marker={"color": palette.EMBEDDING},
        hoverinfo="skip",
    )
    return few_bars(
        bars,
        few_names(facts),
        [token_label(label, most=40) for label in tokens["label"]],
        tokens["token_id"].tolist(),
        title=_("Next token after “{token}”").format(token=word_label(facts.after)),
        reach=(0, 1.25 * max(shares)),
        tickformat=".1%",
    )


def few_names(facts: NextFacts) -> tuple[str, ...]:
    return read_apart(facts.likeliest["label"][:N_FEW].tolist())


def _share(share: float, digits: int) -> str:
    """A percentage; one that is not 0 is not said to be."""
    least = 10.0 ** -(digits + 2)
    return f"<{least:.{digits}%}" if 0 < share < least / 2 else f"{share:.{digits}%}"


def _before(rows: pd.DataFrame, name: str, pattern: str, _: Translate) -> dict[str, Any]:
    text = [_("excluded")] * len(rows) if pattern else None
    look = {"color": palette.BEFORE, "pattern": {"shape": pattern, "size": 5}}
    return {**_bar(rows, "model_probability", _), "name": name, "marker": look, "text": text}


def _drawn_from(rows: pd.DataFrame, digits: int, _: Translate) -> dict[str, Any]:
    text = [_share(share, digits) for share in rows["probability"]]
    bar = _bar(rows, "probability", _)
    return {
        **bar,
        "name": _("sampling probability"),
        "marker": {"color": palette.EMBEDDING},
        "text": text,
    }


def _in_words(facts: NextFacts, _: Translate) -> dict[str, Any]:
    """All others may be more than all that is listed: a bar would make the rest invisible."""
    before, drawn = map(facts.of_others, ("model_probability", "probability"))
    return marks.words(
        [0] if facts.n_others else [],
        [len(facts.likeliest)] if facts.n_others else [],
        [_chances(before, drawn, _)] if facts.n_others else [],
        textposition="middle right",
        showlegend=False,
    )


def _chances(before: float, drawn: float, _: Translate) -> str:
    return _("model {before:.3%} → sampling {drawn:.3%}").format(before=before, drawn=drawn)


def _bar(rows: pd.DataFrame, column: str, _: Translate) -> dict[str, Any]:
    return marks.lying(
        rows[column].tolist(),
        rows.index.tolist(),
        offsetgroup=column,
        textposition="outside",
        textfont={"size": 11},
        constraintext="none",
        cliponaxis=False,
        **marks.told(_hover(row, _) for row in each_row(rows)),
    )


def _hover(row: Any, _: Translate) -> str:
    text = _("{token} · rank {rank} · logit {logit:.3f} · ÷ temperature {scaled:.3f}")
    label = token_label(row.label, most=40)
    said = text.format(token=label, rank=row.rank, logit=row.logit, scaled=row.scaled)
    return f"{said}<br>{_chances(row.model_probability, row.probability, _)}"

"""The likeliest next tokens: what the model says, and what sampling makes of it."""

import math
from typing import Any

import pandas as pd

from pages.figures.theme import (
    BEFORE,
    EMBEDDING,
    HIDDEN_AXIS,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    figure,
    legend,
    token_label,
    word_label,
)

ROW, BOTTOM = 25, 44
LEAST = 0.001


def bars(tokens: pd.DataFrame, *, after: str, _: Translate) -> Picture:
    """Two bars a token, the likeliest on top: before sampling, and the chance to be drawn.

    `tokens`: label, rank, logit, scaled, kept, model_probability, probability; a row without a
    rank (NaN) stands for all that are not listed; it is written, not drawn. `after`: the token
    that these would follow.
    """
    n = len(tokens)
    ranked, others = tokens[tokens["rank"].notna()], tokens[tokens["rank"].isna()]
    largest = float(ranked[["model_probability", "probability"]].max().max())
    digits = _digits(largest)
    kept, dropped = ranked[ranked["kept"]], ranked[~ranked["kept"]]
    return figure(
        [
            _before(kept, _("the model's own"), "", _),
            _before(dropped, _("the model's own, excluded"), "/", _),
            _drawn_from(kept, max(2, digits + 1), _),
            _in_words(others),
        ],
        title=_("Prediction after {token}").format(token=token_label(after)),
        height=TITLE_AND_LEGEND + BOTTOM + ROW * n,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        barmode="group",
        bargap=0.25,
        **legend(),
        xaxis={
            "title": {"text": _("probability")},
            "tickformat": f".{digits}%",
            "range": [0, 1.2 * largest],
            "fixedrange": True,
        },
        yaxis={
            "tickvals": list(range(n)),
            "ticktext": [_name(row) for row in tokens.itertuples()],
            "range": [n - 0.5, -0.5],
            "fixedrange": True,
        },
    )


def few(tokens: pd.DataFrame, *, after: str, _: Translate) -> Picture:
    """A bar for each of the likeliest tokens, with its probability; a click returns its id.

    `tokens`: token_id, label, model_probability.
    """
    shares, unseen = tokens["model_probability"].tolist(), {"marker": {"opacity": 0}}
    whole_row = 1.25 * max(shares)
    lying = {"type": "bar", "orientation": "h", "y": list(range(len(tokens)))}
    seen = {
        **lying,
        "x": shares,
        "text": [f"{share:.1%}" if share >= LEAST else f"< {LEAST:.1%}" for share in shares],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": EMBEDDING},
        "hoverinfo": "skip",
    }
    targets = {
        **lying,
        "x": [whole_row] * len(tokens),
        "customdata": [[token_id] for token_id in tokens["token_id"].tolist()],
        "hovertext": [token_label(label, most=40) for label in tokens["label"]],
        "hoverinfo": "text",
        **unseen,
        "selected": unseen,
        "unselected": unseen,
    }
    names = {
        "tickvals": list(range(len(tokens))),
        "ticktext": [word_label(label) for label in tokens["label"]],
        "tickfont": {"size": 14},
        "ticks": "",
        "range": [len(tokens) - 0.5, -0.5],
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
    }
    return figure(
        [seen, targets],
        title=_("Next after {token}").format(token=word_label(after)),
        height=TITLE + 30 * len(tokens),
        margin=(TITLE, 0),
        barmode="overlay",
        bargap=0.25,
        xaxis={**HIDDEN_AXIS, "range": [0, whole_row]},
        yaxis=names,
    )


def _digits(largest: float) -> int:
    """How many a percentage of this size needs."""
    return max(0, 1 - math.floor(math.log10(100 * largest)))


def _name(row: Any) -> str:
    """Rank and token; the row of the rest has no rank."""
    return token_label(row.label, most=24) if pd.isna(row.rank) else _ranked(row)


def _ranked(row: Any) -> str:
    return f"{row.rank:.0f} · {token_label(row.label)}"


def _before(rows: pd.DataFrame, name: str, pattern: str, _: Translate) -> dict[str, Any]:
    """Hatched where top-k or top-p drop the token."""
    text = [_("excluded")] * len(rows) if pattern else None
    look = {"color": BEFORE, "pattern": {"shape": pattern, "size": 5}}
    return {**_bar(rows, "model_probability", _), "name": name, "marker": look, "text": text}


def _drawn_from(rows: pd.DataFrame, digits: int, _: Translate) -> dict[str, Any]:
    text = [f"{share:.{digits}%}" for share in rows["probability"]]
    bar = _bar(rows, "probability", _)
    return {**bar, "name": _("sampling probability"), "marker": {"color": EMBEDDING}, "text": text}


def _in_words(rows: pd.DataFrame) -> dict[str, Any]:
    """All others may be more than all that is listed: a bar would make the rest invisible."""
    return {
        "type": "scatter",
        "mode": "text",
        "x": [0] * len(rows),
        "y": rows.index.tolist(),
        "text": [_chances(row) for row in rows.itertuples()],
        "textposition": "middle right",
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _chances(row: Any) -> str:
    return f"{row.model_probability:.3%} → {row.probability:.3%}"


def _bar(rows: pd.DataFrame, column: str, _: Translate) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "offsetgroup": column,
        "x": rows[column].tolist(),
        "y": rows.index.tolist(),
        "textposition": "outside",
        "textfont": {"size": 11},
        "constraintext": "none",
        "cliponaxis": False,
        "hovertext": [_hover(row, _) for row in rows.itertuples()],
        "hoverinfo": "text",
    }


def _hover(row: Any, _: Translate) -> str:
    text = _("{token} · rank {rank} · logit {logit:.3f} · ÷ temperature {scaled:.3f}")
    label = token_label(row.label, most=40)
    said = text.format(token=label, rank=int(row.rank), logit=row.logit, scaled=row.scaled)
    return f"{said}<br>{_chances(row)}"

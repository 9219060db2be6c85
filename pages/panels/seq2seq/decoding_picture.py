"""What a search for the target looked at, step by step, and what could come next."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from blocks.inspection.search import CandidateFacts, SearchFacts
from pages.figures import marks, palette
from pages.figures.axes import plot_room, room_under_legend, row_names
from pages.figures.table_rows import each_row, row_at
from pages.figures.theme import EDGE, HIDDEN_AXIS, Picture, Translate, faint, figure, token_label

STEP, BOTTOM, FORK = 50, 52, 0.3
BELOW = 0.42  # where lines begin under a label
FEW, SOME = 4, 8
LOOKS = {
    "kept": ("circle", palette.ATTENTION),
    "finished": ("square", palette.NORM),
    "dropped": ("circle-open", palette.BEFORE),
}
CHOICE, NAMES = 27, 0.26  # pixels of a row; the share of the width that names have
ROOM = 1.6  # times the longest bar, for what stands beside it
BESIDE = {"xaxis": "x2"}
CLEAR = "\u2002"  # of the ring around what is chosen


def tree(facts: SearchFacts, *, _: Translate) -> Picture | None:
    """Every hypothesis: a row per step, the likeliest at the left; a click returns its place.

    One that ranks too low to be looked at unless it is put there has the last column, and its rank
    beside it. None where nothing was looked at.
    """
    if not facts.n:
        return None
    (first, last), path = facts.steps_drawn, {*facts.path_to_result}
    placed = _placed(facts.nodes[facts.nodes["step"].between(first, last)])
    columns = int(placed["x"].max()) + 1
    axis = {"showgrid": False, "zeroline": False}
    return figure(
        [
            _edges(placed, {*placed.index} - path, palette.BEFORE, 1.2, columns),
            _edges(placed, path, palette.EMBEDDING, 4, columns, name=_("path to the result")),
            *_nodes(placed, columns, _),
            _clickable(placed, _),
        ],
        title=_("Hypotheses explored by the search"),
        **room_under_legend(STEP * (last - first + 2), BOTTOM),
        xaxis={
            "title": _("rank at each step, most probable on the left"),
            "tickvals": list(range(columns)),
            "ticktext": _ranks(placed, columns),
            "range": [-0.5, columns - (0.1 if columns <= FEW else 0.5)],
            **axis,
        },
        yaxis={
            "title": _("step"),
            "tickvals": list(range(first, last + 1)),
            "range": [last + 0.7, first - 1 + (0 if columns <= FEW else BELOW) - 0.05],
            **axis,
        },
        shapes=[_ring(placed, place) for place in placed.index if place == facts.place],
    )


def _placed(nodes: pd.DataFrame) -> pd.DataFrame:
    """With x, the rank at its step from 0, and that of the parent (the middle at the start).

    `is_put`: it ranks lower, and stands there since it was put there.
    """
    rank = nodes.groupby("step")["log_prob"].rank(ascending=False, method="first") - 1
    table = nodes.assign(x=rank.astype(int))
    table["is_put"] = table["step_rank"] > table["x"] + 1
    above = [table["x"].get(parent, 0) if not pd.isna(parent) else 0 for parent in table["parent"]]
    return table.assign(from_x=above)


def _ranks(nodes: pd.DataFrame, columns: int) -> list[str]:
    """What the columns are called; in one of those that were put there each has its own rank."""
    put = {*nodes.loc[nodes["is_put"], "x"]}
    return [f"> {i}" if i in put else str(i + 1) for i in range(columns)]


def _edges(
    nodes: pd.DataFrame, places: set[int], color: str, width: float, columns: int, name: str = ""
) -> dict[str, Any]:
    """Lines from each of these to its parent, as one trace with gaps."""
    leave, arrive = (0, FORK) if columns <= FEW else (BELOW, FORK / 2)
    rows = [row for row in each_row(nodes) if row.Index in places]
    x: list[float | None] = []
    y: list[float | None] = []
    for row in rows:
        x += [row.from_x, row.from_x, row.x, row.x, None]
        above = row.step - 1
        y += [above + leave, above + leave + FORK / 3, row.step - arrive, row.step, None]
    return marks.line(
        x,
        y,
        name=name,
        showlegend=bool(name),
        line={"color": faint(color, 0.75), "width": width},
        hoverinfo="skip",
    )


def _nodes(nodes: pd.DataFrame, columns: int, _: Translate) -> Iterator[dict[str, Any]]:
    """One trace a fate, so that the legend says what the marks mean."""
    names = {"kept": _("kept"), "finished": _("finished"), "dropped": _("pruned")}
    for fate, (symbol, color) in LOOKS.items():
        rows = nodes[nodes["fate"] == fate]
        yield marks.line(
            rows["x"].tolist(),
            rows["step"].tolist(),
            mode="markers+text",
            name=names[fate],
            marker={"symbol": symbol, "size": 10, "color": color, "line": {"width": 2}},
            text=[_label(row, columns) for row in each_row(rows)],
            textposition="middle right" if columns <= FEW else "bottom center",
            textfont={"size": 12 if columns <= FEW else 10},
            cliponaxis=False,
            hoverinfo="skip",
        )


def _label(row: Any, columns: int) -> str:
    """The token, its rank where its column does not say it, its log-probability where it fits."""
    rank = f" #{row.step_rank}" if row.is_put else ""
    if columns <= FEW:
        return f"{CLEAR}{token_label(row.label)}{rank} {_short(row.token_log_prob)}"
    return token_label(row.label, 7 if columns <= SOME else 5) + rank


def _short(log_prob: float) -> str:
    """A log-probability in few signs; a true minus sign."""
    return f"{log_prob:.2f}".replace("-0.00", "0").replace("-", "−")


def _clickable(nodes: pd.DataFrame, _: Translate) -> dict[str, Any]:
    text = _(
        "{token}: ln p {token_log_prob} given the tokens above, {log_prob} in total, "
        "score {score}; rank {rank} at its step; {fate}"
    )
    fates = {"kept": _("kept"), "finished": _("finished"), "dropped": _("pruned")}
    return marks.targets(
        nodes["x"].tolist(),
        nodes["step"].tolist(),
        [[int(place)] for place in nodes.index],
        26,
        **marks.told(
            text.format(
                token=token_label(row.label),
                token_log_prob=f"{row.token_log_prob:.3f}",
                log_prob=f"{row.log_prob:.3f}",
                score=f"{row.score:.3f}",
                rank=row.step_rank,
                fate=_("your choice") if row.is_put else fates[row.fate],
            )
            for row in each_row(nodes)
        ),
        showlegend=False,
    )


def _ring(nodes: pd.DataFrame, chosen: int) -> dict[str, Any]:
    """What is looked at, outlined; in pixels, so that it stays round."""
    row = row_at(nodes, chosen)
    return {
        "type": "circle",
        "xsizemode": "pixel",
        "ysizemode": "pixel",
        "xanchor": float(row["x"]),
        "yanchor": float(row["step"]),
        "x0": -11,
        "x1": 11,
        "y0": -11,
        "y1": 11,
        "line": {"color": palette.PINNED, "width": 2.5},
    }


def choices(facts: CandidateFacts, *, _: Translate) -> Picture:
    """What could come next, the likeliest on top; a click returns the token's id."""
    found = facts.candidates
    n, most = len(found), float(found["probability"].max())
    bars = marks.lying(
        found["probability"].tolist(),
        range(n),
        **marks.written(_chance(share) for share in found["probability"]),
        marker={
            "color": [
                palette.EMBEDDING if token_id == facts.taken else faint(palette.BEFORE, 0.7)
                for token_id in found["token_id"]
            ]
        },
        **marks.steady(),
        hoverinfo="skip",
    )
    return figure(
        [bars, _targets(found, ROOM * most, _), _names(found), {**_targets(found, 1, _), **BESIDE}],
        title=_("Candidates after {token}").format(token=token_label(facts.after)),
        **plot_room(EDGE + CHOICE * n, BOTTOM),
        barmode="overlay",
        xaxis={
            "title": _("probability (ln p alongside)"),
            "tickformat": ".0%" if most > 0.02 else ".2%",
            "range": [0, ROOM * most],
            "domain": [NAMES, 1],
        },
        xaxis2={**HIDDEN_AXIS, "range": [0, 1], "domain": [0, NAMES]},
        yaxis=row_names([token_label(label) for label in found["label"]], showticklabels=False),
    )


def _names(candidates: pd.DataFrame) -> dict[str, Any]:
    """The tokens left of their bars: beside an axis they could not be clicked."""
    return marks.words(
        [0.95] * len(candidates),
        range(len(candidates)),
        [token_label(label) for label in candidates["label"]],
        textposition="middle left",
        **BESIDE,
    )


def _chance(share: float) -> str:
    log = f"{math.log(share):.2f}" if share > 0 else "−∞"
    shown = "< 0.1%" if share < 0.001 else f"{share:.1%}"
    return f"{shown} · {log}".replace("-0.00", "0").replace("-", "−")


def _targets(candidates: pd.DataFrame, width: float, _: Translate) -> dict[str, Any]:
    """An invisible bar over each row, so that even a tiny one can be clicked."""
    text = _("Force {token} here")
    return marks.lying(
        [width] * len(candidates),
        range(len(candidates)),
        customdata=[[int(token_id)] for token_id in candidates["token_id"]],
        **marks.told(text.format(token=token_label(label)) for label in candidates["label"]),
        **marks.unseen(),
    )

"""Positions as a table and as curves: one pair, all wavelengths, likeness by distance."""

from typing import Any

import numpy as np

from blocks.inspection.position_facts import (
    DEEP_BIAS,
    KindFacts,
    LikenessFacts,
    PairFacts,
    TableFacts,
    columns_of,
)
from blocks.model.kinds import PositionKind
from pages.figures import marks, palette
from pages.figures.counting import from_one
from pages.figures.theme import (
    EDGE,
    TITLE,
    TITLE_AND_LEGEND,
    Picture,
    Translate,
    faint,
    figure,
    legend,
)
from pages.panels.positions import position_matrix_picture
from pages.panels.positions.position_matrix_picture import Names

HEIGHT = 250
CURVE = {"color": palette.EMBEDDING, "width": 2}


def first_number(kind: PositionKind) -> int:
    """The number of the first column: heads count from 1, pairs and features as in the formula."""
    return from_one(0) if kind is PositionKind.ALIBI else 0


def table(facts: TableFacts, kind: str, *, _: Translate) -> Picture:
    """The table of a kind, which is called `kind`; a click returns [position, column]."""
    return position_matrix_picture.table(
        facts.values,
        facts.columns,
        _table_names(facts, kind, _),
        most=facts.most,
        pinned=facts.position,
        chosen=facts.chosen,
        first=first_number(facts.kind),
        tokens=facts.labels,
        _=_,
    )


def _table_names(facts: TableFacts, kind: str, _: Translate) -> Names:
    rows = _("position")
    match facts.kind:
        case PositionKind.ROPE:
            return Names(_("Cosine of each pair's angle"), rows, _("pair"), _("cosine"))
        case PositionKind.ALIBI:
            title = _("Bias added to the scores of the query at position {position}")
            title = title.format(position=facts.position)
            return Names(title, _("key position"), _("head"), _("bias"))
    title = _("Values added to the embedding ({kind})").format(kind=kind)
    columns = _("feature")
    if facts.kind is PositionKind.SINUSOIDAL:
        columns = _("feature: sines (even) and cosines (odd)")
        if facts.sines_first:
            columns = _("feature: sines, then cosines")
    return Names(title, rows, columns, _("value"))


def pair(facts: PairFacts, *, _: Translate) -> Picture:
    """One or two curves over the positions, with a mark at the pinned one."""
    title, y = _("Feature pair {pair} across positions").format(pair=facts.pair), _("value")
    names = [_("sine"), _("cosine")]
    if facts.kind is PositionKind.LEARNED:
        columns = columns_of(facts.kind, facts.pair)
        names = [_("feature {i}").format(i=column) for column in columns]
    if facts.kind is PositionKind.ALIBI:
        head = from_one(facts.pair)
        title, y = _("Bias of head {head} on each key").format(head=head), _("bias")
        names = [_("head {head}").format(head=head)]
    x, here = _("position"), facts.here
    curves = [
        marks.line(
            facts.curves["position"],
            facts.curves[column],
            line={**CURVE, "color": color},
            name=name,
            hovertemplate=f"{x} %{{x}}<br>{name} %{{y:.4f}}<extra></extra>",
        )
        for column, name, color, _here in zip(
            ("first", "second"), names, (palette.EMBEDDING, palette.ATTENTION), here, strict=False
        )
    ]
    dots = marks.dots(
        [facts.position] * len(here),
        here,
        marker={"color": palette.PINNED, "size": 9},
        hoverinfo="skip",
        showlegend=False,
    )
    pin = marks.upright(facts.position, line=marks.dashed(palette.PINNED, dash="dot"))
    return _picture([*curves, dots], title, x, y, shapes=[pin], **legend())


def scale(facts: KindFacts, chosen: int, *, _: Translate) -> Picture:
    """A length in positions for each pair or head, logarithmic; a click returns its number."""
    title, x, y = _("Wavelength of each pair"), _("pair"), _("positions per turn")
    if facts.kind is PositionKind.ALIBI:
        title, x = _("How far each head attends"), _("head")
        y = _("tokens until a weight halves")
    numbers = facts.lengths["number"].to_list()
    dots = marks.dots(
        [number + first_number(facts.kind) for number in numbers],
        facts.lengths["length"].to_list(),
        customdata=[[number] for number in numbers],
        marker={
            "opacity": 1,
            "size": [11 if number == chosen else 6 for number in numbers],
            "color": [
                palette.PINNED if number == chosen else palette.EMBEDDING for number in numbers
            ],
        },
        hovertemplate=f"{x} %{{x}}<br>%{{y:.3~s}} · {y}<extra></extra>",
        **marks.steady(),
    )
    name = _("{n} positions shown").format(n=facts.n)
    level = marks.level_name(float(np.log10(facts.n)), name)
    shapes = [marks.level(facts.n)]
    return _picture([dots], title, x, y, yaxis=_log(), shapes=shapes, annotations=[level])


def spectrum(facts: KindFacts, *, _: Translate) -> Picture:
    """Share of each wave in a learned table, and the share that noise would give each."""
    waves = facts.waves
    x, y = _("wavelength in positions"), _("share of variance")
    line = marks.line(
        waves["wavelength"],
        waves["share"],
        mode="lines+markers",
        line=CURVE,
        marker={"size": 4, "color": palette.EMBEDDING},
        hovertemplate=f"{x} %{{x:.1f}}<br>{y} %{{y:.1%}}<extra></extra>",
    )
    even = 1 / max(1, len(waves))
    return _picture(
        [line],
        _("Waves in the learned table"),
        x,
        y,
        xaxis=_log(),
        yaxis={"tickformat": ".0%", "rangemode": "tozero"},
        shapes=[marks.level(even)],
        annotations=[marks.level_name(even, _("dashed: noise"))],
    )


def likeness(facts: LikenessFacts, *, _: Translate) -> Picture:
    """The mean by distance within a band, and where there is a formula, that."""
    title, y = _("Similarity of two positions against distance"), _("cosine")
    mean, around = _("mean"), _("smallest to largest")
    if facts.kind is PositionKind.ROPE:
        title = _("Score of a vector with itself, by distance")
        y = _("score relative to distance 0")
        mean, around = _("mean of 256 vectors"), _("± std")
    found, x = facts.table, _("distance in positions")
    distance = found["distance"]
    traces = [
        marks.band(distance, found["least"], found["most"], palette.EMBEDDING, name=around),
        marks.line(
            distance,
            found["mean"],
            line=CURVE,
            name=mean,
            hovertemplate=f"{x} %{{x}}<br>{mean} %{{y:.3f}}<extra></extra>",
        ),
    ]
    if "expected" in found:
        dotted = {"line": marks.dashed(dash="dot"), "name": _("formula"), "hoverinfo": "skip"}
        traces.append(marks.line(distance, found["expected"], **dotted))
    return _picture(traces, title, x, y, **legend())


def biases(facts: LikenessFacts, chosen: int, *, _: Translate) -> Picture:
    """What ALiBi adds at each distance, a line for each head, the chosen one in colour."""
    x, y, far = _("distance in positions"), _("bias"), float(facts.farthest)
    others = [slope for head, slope in enumerate(facts.slopes) if head != chosen]
    lines = marks.line(
        [x for _slope in others for x in (0.0, far, None)],
        [y for slope in others for y in (0.0, -slope * far, None)],
        line={"color": faint(palette.BEFORE, 0.7), "width": 1},
        name=_("other heads"),
        hoverinfo="skip",
        showlegend=bool(others),
    )
    one = marks.line(
        range(facts.n),
        (-facts.slopes[chosen] * np.arange(facts.n)).tolist(),
        line=CURVE,
        name=_("head {head}").format(head=from_one(chosen)),
        hovertemplate=f"{x} %{{x}}<br>{y} %{{y:.3f}}<extra></extra>",
    )
    deepest = min(DEEP_BIAS, max(facts.slopes) * far) or 1.0
    title, bias = _("Bias by distance, every head"), {"range": [-1.03 * deepest, 0.4]}
    return _picture([lines, one], title, x, y, yaxis=bias, **legend())


def similarity(values: np.ndarray, pinned: int, *, _: Translate) -> Picture:
    """Cosine of every two positions."""
    position = _("position")
    names = Names(_("Similarity of all pairs of positions"), position, position, _("cosine"))
    return position_matrix_picture.square(values, names, pinned=pinned, _=_)


def _picture(traces: list[dict[str, Any]], title: str, x: str, y: str, **more: Any) -> Picture:
    top = TITLE_AND_LEGEND if more.get("showlegend") else TITLE + 12
    axis = {"zeroline": False}
    axes: dict[str, Any] = {
        "xaxis": {**axis, "title": x, **more.pop("xaxis", {})},
        "yaxis": {**axis, "title": y, **more.pop("yaxis", {})},
    }
    return figure(traces, title=title, height=HEIGHT + top, margin=(top, EDGE), **axes, **more)


def _log() -> dict[str, Any]:
    return {"type": "log", "exponentformat": "power", "dtick": 1}

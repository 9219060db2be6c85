"""Variants of a model on two axes: how many bytes their file has, how good they are."""

from math import log2, log10
from typing import Any

from blocks.cost.units import bytes_text
from blocks.efficiency.frontier import FrontColors, FrontierFacts, Method, Variant
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.axes import log_axis, room_for_legend
from pages.figures.names_apart import Name, names_apart
from pages.figures.theme import Picture, Translate, figure
from pages.figures.units import duration, quality_text

WIDTH, PLOT, ROOM = 270, 340, 0.06  # pixels between the axes on a phone; powers of ten
AWAY = 8, 14  # pixels from a dot to its name
SIDES = ("top left", "bottom right", "top right", "bottom left")
METHOD_NAMES = {
    Method.ORIGINAL: N_("original"),
    Method.QUANTIZED: N_("quantized"),
    Method.MASKED: N_("weights masked to zero"),
    Method.TAKEN_APART: N_("heads, units or layers removed"),
    Method.SEVERAL: N_("combined"),
}
TIME_NAMES = {
    FrontColors.TIME: N_("time per batch, × original"),
    FrontColors.TOKEN_TIME: N_("time per token, × original"),
}
QUICK_TO_SLOW = ((0.0, palette.ATTENTION), (0.5, palette.BEFORE), (1.0, palette.PINNED))
OWN = {"symbol": "circle-open", "size": 17, "color": palette.RESIDUAL, "line": {"width": 1.2}}
SHOWN = {"symbol": "circle-open", "size": 22, "color": palette.PINNED, "line": {"width": 2.5}}
LOOKS = {
    Method.ORIGINAL: (palette.PINNED, "star", 15),
    Method.QUANTIZED: (palette.ATTENTION, "circle", 10),
    Method.MASKED: (palette.EMBEDDING, "square", 9),
    Method.TAKEN_APART: (palette.FEED_FORWARD, "diamond", 11),
    Method.SEVERAL: (palette.NORM, "triangle-up", 11),
}


def front(facts: FrontierFacts, *, _: Translate) -> Picture:
    """A dot for each file; the line joins those that no other beats. A click returns the recipe."""
    best, sizes = facts.frontier, [each.n_bytes for each in facts.variants]
    kinds = [kind for kind in Method if any(each.method is kind for each in facts.variants)]
    line = marks.line(
        [each.n_bytes for each in best],
        [facts.quality(each) for each in best],
        name=_("Pareto front"),
        line={"color": palette.BEFORE, "width": 2, "shape": "hv"},
        hoverinfo="skip",
    )
    dots = [
        _dots([v for v in facts.variants if v.method is kind], kind, facts, _) for kind in kinds
    ]
    own = [each for each in facts.variants if each.name in facts.own]
    shown = [each for each in facts.variants if each.name and each.name == facts.shown]
    rings = [
        *_rings(own, facts, OWN, _("made by you")),
        *_rings(shown, facts, SHOWN, _("shown on all pages")),
    ]
    return figure(
        [line, *dots, *rings],
        title=_("Quality against file size"),
        annotations=_labels(facts, _),
        **room_for_legend(PLOT, 1 + len(kinds) + len(rings)),
        xaxis={
            "title": _("file size, bytes (logarithmic)"),
            **log_axis(min(sizes), max(sizes), room=ROOM, said=bytes_text),
        },
        yaxis={**_score(facts, _), "range": _heights(facts)},
    )


def _dots(
    variants: list[Variant], kind: Method, facts: FrontierFacts, _: Translate
) -> dict[str, Any]:
    color, symbol, size = LOOKS[kind]
    look = {"color": color, "symbol": symbol, "size": size}
    if facts.is_of_time:
        ratios = [facts.time_ratio(each) for each in variants]
        look |= {"color": [log2(each) if each else palette.BEFORE for each in ratios]}
        look |= {**_time_scale(facts, _), "showscale": kind is Method.ORIGINAL}
        color = palette.BEFORE  # of the bars of error, whose colour says nothing else
    return marks.dots(
        [each.n_bytes for each in variants],
        [facts.quality(each) for each in variants],
        error_y={
            "type": "data",
            "array": [each.spread if facts.is_share else 0 for each in variants],
            "color": color,
            "thickness": 1.2,
        },
        name=_(METHOD_NAMES[kind]),
        customdata=[[each.name] for each in variants],
        marker=look,
        **marks.steady(),
        **marks.told(_hover(each, facts, _) for each in variants),
    )


def variant_name(variant: Variant, _: Translate) -> str:
    return variant.name or _("original")


def _rings(
    variants: list[Variant], facts: FrontierFacts, look: dict[str, Any], name: str
) -> list[dict[str, Any]]:
    """Around these; nothing where there are none."""
    if not variants:
        return []
    heights = [facts.quality(each) for each in variants]
    sizes = [each.n_bytes for each in variants]
    ring = marks.line(sizes, heights, mode="markers", name=name, marker=look, hoverinfo="skip")
    return [ring]


def _time_scale(facts: FrontierFacts, _: Translate) -> dict[str, Any]:
    """Blue is quicker than the original, orange slower: half as long is as far as twice as long."""
    ratios = filter(None, map(facts.time_ratio, facts.variants))
    reach = max(abs(log2(ratio)) for ratio in ratios) or 0.1
    marked = (-reach, -reach / 2, 0.0, reach / 2, reach)
    bar = {
        "title": {"text": _(TIME_NAMES[facts.colors]), "side": "right"},
        "tickvals": marked,
        "ticktext": [f"{2**each:.2g}" for each in marked],
        "thickness": 10,
        "outlinewidth": 0,
    }
    return {"cmin": -reach, "cmax": reach, "colorscale": QUICK_TO_SLOW, "colorbar": bar}


def _hover(variant: Variant, facts: FrontierFacts, _: Translate) -> str:
    text = _("{name}: {size}, {score} ± {spread}, loss {loss:.3f}, {time} per batch")
    if variant.token_seconds:
        text = _(
            "{name}: {size}, {score} ± {spread}, loss {loss:.3f}, {time} per batch, "
            "{token} per token"
        )
    return text.format(
        name=variant_name(variant, _),
        size=bytes_text(variant.n_bytes),
        score=quality_text(variant.score, is_share=facts.is_share),
        spread=quality_text(variant.spread, is_share=facts.is_share),
        loss=variant.held_out_loss,
        time=duration(variant.seconds),
        token=duration(variant.token_seconds or 0.0),
    )


def _labels(facts: FrontierFacts, _: Translate) -> list[dict[str, Any]]:
    """The names of those on the front, each tied to its dot, and over no other on a phone."""
    best = facts.frontier
    (low, high), (bottom, top) = _reach(facts), _heights(facts)
    dots = [
        Name(
            variant_name(each, _),
            WIDTH * (log10(each.n_bytes) - low) / (high - low),
            PLOT * (facts.quality(each) - bottom) / (top - bottom),
            SIDES,
        )
        for each in best
    ]
    return [
        _label(each, facts.quality(each), dot.text, side)
        for each, dot, side in zip(best, dots, names_apart(dots, WIDTH), strict=True)
        if side is not None
    ]


def _label(variant: Variant, height: float, text: str, side: str) -> dict[str, Any]:
    """A name beside its dot on one side of it, and the line between them."""
    vertical, across = side.split()
    return {
        "text": text,
        "x": log10(variant.n_bytes),  # as Plotly places notes on such an axis
        "y": height,
        "ax": AWAY[0] if across == "right" else -AWAY[0],
        "ay": AWAY[1] if vertical == "bottom" else -AWAY[1],
        "xanchor": "left" if across == "right" else "right",
        "yanchor": "top" if vertical == "bottom" else "bottom",
        "showarrow": True,
        "arrowhead": 0,
        "arrowwidth": 1,
        "arrowcolor": palette.BEFORE,
        "standoff": 6,
        "font": {"size": 11},
    }


def _reach(facts: FrontierFacts) -> tuple[float, float]:
    """From the smallest file to the largest, in powers of ten, with a little room."""
    sizes = [each.n_bytes for each in facts.variants]
    return log10(min(sizes)) - ROOM, log10(max(sizes)) + ROOM


def _score(facts: FrontierFacts, _: Translate) -> dict[str, Any]:
    """The share of what was asked that was right, or the loss on what was not trained on."""
    if not facts.is_share:
        return {"title": _("held-out loss, nats")}
    return {"title": _(facts.score_name), "tickformat": ".0%"}


def _heights(facts: FrontierFacts) -> tuple[float, float]:
    if facts.is_share:
        return -0.03, 1.15
    worst = max(facts.quality(each) for each in facts.variants)
    return 0.0, 1.15 * worst

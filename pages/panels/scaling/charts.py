"""The valleys, the best sizes, and losses against what is expected, as charts."""

from collections.abc import Iterable

import pandas as pd

from blocks.scaling.lab import PredictFacts, ValleyFacts
from blocks.scaling.plan import floor
from pages.figures import palette
from pages.figures.chart import Axis, Chart, Legend, Level, Look, Series, band, dots, line
from pages.panels.scaling.shared import in_flops, size
from pages.words.language import _

COLORS = (
    palette.CROSS_ATTENTION,
    palette.NORM,
    palette.FEED_FORWARD,
    palette.PINNED,
    palette.EMBEDDING,
    palette.MTP,
)
ROOM = 430  # pixels of two pictures side by side before a class


def size_axis(values: pd.Series) -> Axis:
    title = _("parameters N (logarithmic)")
    return Axis(title, (values.min(), values.max()), of="n", is_log=True, said=size)


def flops_axis(values: pd.Series) -> Axis:
    title = _("training FLOPs C = 6·N·D (logarithmic)")
    return Axis(title, (values.min(), values.max()), of="flops", is_log=True, said=in_flops)


def tried_axis(title: str, of: str, tried: Iterable[float]) -> Axis:
    """An axis with the whole numbers that were tried, on a logarithmic scale."""
    return Axis(title, of=of, is_log=True, ticks=sorted(set(tried)), said="{:.0f}".format)


def valley_chart(facts: ValleyFacts) -> Chart:
    """A dot a run, by budget; through each budget its parabola and the one law of all.

    In the legend the budgets stand first, in their colors, then the kinds of lines.
    """
    series: list[Series] = []
    kinds: list[Series] = []
    for i, valley in enumerate(facts.valleys):
        color = COLORS[i % len(COLORS)]
        runs = facts.table[(facts.table["flops"] / valley.flops - 1).abs() < 0.25]
        curve = facts.curves[facts.curves["valley"] == i]
        bottom = pd.DataFrame({"n": [valley.size], "loss": [valley.loss]})
        look = Look(_("parabolas"), color, width=1.5, dash="dot")
        name = _("{c} FLOPs").format(c=in_flops(valley.flops))
        series.append(dots("loss", Look(name, color), rows=runs))
        kinds += [
            line("parabola", look, rows=curve, in_legend=i == 0),
            line("law", Look(_("the law"), color, width=2), rows=curve, in_legend=i == 0),
            dots(
                "loss",
                Look(_("bottom of a parabola"), color, "star", size=12),
                rows=bottom,
                in_legend=i == 0,
            ),
        ]
    if not series:
        series = [dots("loss", Look(_("runs"), COLORS[0]), rows=facts.table)]
    return Chart(
        _("Loss at equal cost: a valley for each budget"),
        facts.table,
        size_axis(facts.table["n"]),
        Axis(_("loss, nats per token")),
        [*series, *kinds],
        hover="N = {n:,.0f}: {y:.4f}",
        legend=Legend.FOOT,
        tall=340,
    )


def best_chart(facts: ValleyFacts) -> Chart:
    """The best size of each budget, by the law with its band and by parabolas."""
    bottoms = pd.DataFrame(
        {"flops": [each.flops for each in facts.valleys], "n": [e.size for e in facts.valleys]}
    )
    rows = facts.best
    ends = rows[["least", "most"]].to_numpy()
    title = _("best size N (logarithmic)")
    return Chart(
        _("The best size of each budget"),
        rows,
        flops_axis(rows["flops"]),
        Axis(title, (ends.min(), ends.max()), is_log=True, said=size),
        [
            band("least", "most", palette.ATTENTION),
            line("value", Look(_("the law, with its 90% band"), palette.ATTENTION)),
            line("line", Look(_("line through the parabolas"), palette.FEED_FORWARD, dash="dash")),
            dots("n", Look(_("bottom of a parabola"), palette.FEED_FORWARD, "star", size=12),
                 rows=bottoms),
        ],
        hover="{flops:.2e} FLOPs: N = {y:,.0f}",
        legend=Legend.FOOT,
        tall=340,
    )  # fmt: skip


def miss_chart(facts: PredictFacts) -> Chart:
    """The valley that was expected of a larger budget, with its band, and what came out."""
    rows = facts.table.sort_values("n", ignore_index=True)
    rows["least"] = rows["least"].clip(lower=floor())  # no run can come lower
    return Chart(
        _("A larger budget, {c} FLOPs: predicted and measured").format(
            c=in_flops(rows["flops"].mean())
        ),
        rows,
        size_axis(rows["n"]),
        Axis(_("loss, nats per token")),
        [
            band("least", "most", palette.ATTENTION),
            line("expected", Look(_("predicted, 90% band"), palette.ATTENTION)),
            dots("loss", Look(_("measured"), palette.PINNED, "diamond", size=9)),
        ],
        hover="N = {n:,.0f}: {y:.4f}",
        legend=Legend.FOOT,
        tall=320,
        levels=[Level(floor(), name=_("entropy: the lowest possible loss"), color=palette.NORM)],
    )

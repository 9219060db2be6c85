"""The loss after each step from a bigram to a GPT."""

from blocks.inspection.staircase import StaircaseFacts
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.theme import TITLE, Picture, Translate, figure

HEIGHT, BOTTOM = 300, 64
NAMES = {
    "bigram": N_("bigram"),
    "one_head": N_("one head"),
    "many_heads": N_("four heads"),
    "feed_forward": N_("feed-forward layer"),
    "residual": N_("residual connections"),
    "norm": N_("norms"),
    "larger": N_("wider and deeper"),
}


def losses(facts: StaircaseFacts, *, _: Translate) -> Picture:
    """The mean over the seeds as a stair, and each seed."""
    names = [_(NAMES[stair.name]) for stair in facts.stairs]
    means = [stair.loss for stair in facts.stairs]
    each = [
        (name, loss)
        for name, stair in zip(names, facts.stairs, strict=True)
        for loss in stair.losses
    ]
    low, high = min(loss for _name, loss in each), max(loss for _name, loss in each)
    room = 0.15 * (high - low)
    line = marks.line(
        names,
        means,
        mode="lines+markers+text",
        text=[f"{mean:.2f}" for mean in means],
        textposition="top right",
        name=_("mean"),
        line={"color": palette.HELD_OUT, "width": 2.5, "shape": "hvh"},
        marker={"color": palette.HELD_OUT, "size": 8},
        customdata=[[stair.parameters] for stair in facts.stairs],
        hovertemplate=_("%{{x}}: %{{y:.3f}} nats, {n} parameters").format(n="%{customdata[0]:,}")
        + "<extra></extra>",
    )
    dots = marks.dots(
        [name for name, _loss in each],
        [loss for _name, loss in each],
        marker={"color": palette.HELD_OUT, "size": 6, "opacity": 0.5},
        hovertemplate="%{x} · %{y:.4f}<extra></extra>",
    )
    return figure(
        [dots, line],
        title=_("Loss on unseen text after each step"),
        height=TITLE + HEIGHT + BOTTOM,
        margin=(TITLE, BOTTOM),
        showlegend=False,
        xaxis={"type": "category", "automargin": "right"},
        yaxis={"title": _("nats per character"), "range": [low - room, high + room]},
    )

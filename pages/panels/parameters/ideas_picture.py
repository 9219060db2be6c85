"""What each idea costs and saves, against GPT-2, and the loss that it was trained to."""

from typing import Any

from blocks.inspection.ideas import IdeasFacts
from blocks.model.faults import N_
from pages.figures import marks, palette
from pages.figures.theme import TITLE, TITLE_AND_LEGEND, Picture, Translate, faint, figure, legend

HEIGHT, BOTTOM = 340, 64
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
NAMES = {
    "gpt2": "GPT-2",
    "rope": "RoPE",
    "rmsnorm": "RMSNorm",
    "no_bias": N_("no biases"),
    "swiglu": "SwiGLU",
    "gqa": "GQA",
    "qk_norm": "QK norm",
    "experts": N_("experts"),
    "mla": "MLA",
    "hybrid": N_("hybrid"),
    "mtp": "MTP",
}
MEASURES = {
    "parameters": (N_("parameters"), palette.FEED_FORWARD, "circle"),
    "active": (N_("active parameters"), palette.EMBEDDING, "square"),
    "kv_bytes": (N_("KV cache per token"), palette.ATTENTION, "diamond"),
    "flops": (N_("FLOPs per token"), palette.NORM, "triangle-up"),
}


def costs(facts: IdeasFacts, *, _: Translate) -> Picture:
    """Each count as a multiple of GPT-2's, on a logarithmic axis."""
    names = [_(NAMES[idea.name]) for idea in facts.ideas]
    traces = []
    for measure, (label, color, symbol) in MEASURES.items():
        counts = [getattr(idea, measure) for idea in facts.ideas]
        traces.append(
            marks.line(
                names,
                [count / counts[0] for count in counts],
                mode="lines+markers",
                customdata=counts,
                name=_(label),
                line={"color": color, "width": 2},
                marker={"color": color, "symbol": symbol, "size": 8},
                hovertemplate="%{x} · %{customdata:,} · × %{y:.3g}<extra></extra>",
            )
        )
    return figure(
        traces,
        title=_("Size and cost at each step, relative to GPT-2 small"),
        height=HEIGHT + 40,
        margin=(TITLE_AND_LEGEND + 24, BOTTOM),
        **legend(),
        xaxis=_steps(),
        yaxis={
            "title": _("ratio to GPT-2 small (logarithmic)"),
            "type": "log",
            "tickvals": TICKS,
            "ticktext": [f"{tick:g}" for tick in TICKS],
        },
    )


def losses(facts: IdeasFacts, *, _: Translate) -> Picture:
    """The mean over the seeds, a band from the least to the most, and each seed."""
    names = [_(NAMES[idea.name]) for idea in facts.ideas]
    least = [min(idea.losses) for idea in facts.ideas]
    most = [max(idea.losses) for idea in facts.ideas]
    each = [(name, loss) for name, i in zip(names, facts.ideas, strict=True) for loss in i.losses]
    low, high = min(least), max(most)
    room = 0.1 * (high - low)
    silent: dict[str, Any] = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    edge = {**silent, "x": names, "line": {"width": 0}, "showlegend": False}
    return figure(
        [
            {**edge, "y": least},
            {**edge, "y": most, "fill": "tonexty", "fillcolor": faint(palette.HELD_OUT, 0.18)},
            marks.line(
                names,
                [idea.loss for idea in facts.ideas],
                line={"color": palette.HELD_OUT, "width": 2},
                hovertemplate="%{x} · %{y:.3f}<extra></extra>",
            ),
            marks.dots(
                [name for name, _loss in each],
                [loss for _name, loss in each],
                marker={"color": palette.HELD_OUT, "size": 6, "opacity": 0.7},
                hovertemplate="%{x} · %{y:.4f}<extra></extra>",
            ),
        ],
        title=_("Held-out loss: mean and range over the seeds"),
        height=HEIGHT,
        margin=(TITLE, BOTTOM),
        showlegend=False,
        xaxis=_steps(),
        yaxis={"title": _("nats per token"), "range": [low - room, high + room]},
    )


def _steps() -> dict[str, Any]:
    return {"type": "category", "tickangle": -35, "automargin": False}

"""The likeliest tokens at one position."""

from blocks.inspection.flow_facts import PredictionFacts
from pages.figures import palette
from pages.figures.counting import told_apart
from pages.figures.theme import EDGE, TITLE, Picture, Translate, figure, token_label

ROW, BOTTOM = 26, 44


def bars(facts: PredictionFacts, *, _: Translate) -> Picture:
    """Probability of each candidate, the likeliest on top."""
    candidates, token = facts.candidates, told_apart(facts.run.input.labels)[facts.token]
    n = len(candidates)
    bar = {
        "type": "bar",
        "orientation": "h",
        "x": candidates["probability"].tolist(),
        "y": list(range(n)),
        "text": [f"{share:.1%}" for share in candidates["probability"]],
        "textposition": "outside",
        "cliponaxis": False,
        "marker": {"color": palette.EMBEDDING},
        "hovertemplate": "%{x:.3%}<extra></extra>",
    }
    return figure(
        [bar],
        title=_("Predictions at {token}").format(token=token_label(token)),
        height=TITLE + BOTTOM + ROW * n + EDGE,
        margin=(TITLE, BOTTOM),
        xaxis={
            "title": {"text": _("probability")},
            "tickformat": ".0%",
            "range": [0, 1.15 * max(0.05, candidates["probability"].max())],
        },
        yaxis={
            "tickvals": list(range(n)),
            "ticktext": [token_label(label) for label in candidates["label"]],
            "range": [n - 0.5, -0.5],
        },
    )

"""The likeliest tokens at one position."""

from blocks.inspection.flow_facts import PredictionFacts
from pages.figures import marks, palette
from pages.figures.axes import plot_room, row_names
from pages.figures.counting import told_apart
from pages.figures.theme import EDGE, Picture, Translate, figure, token_label

ROW, BOTTOM = 26, 44


def bars(facts: PredictionFacts, *, _: Translate) -> Picture:
    """Probability of each candidate, the likeliest on top."""
    candidates, token = facts.candidates, told_apart(facts.run.input.labels)[facts.token]
    n = len(candidates)
    bar = marks.lying(
        candidates["probability"].tolist(),
        range(n),
        **marks.written(f"{share:.1%}" for share in candidates["probability"]),
        marker={"color": palette.EMBEDDING},
        hovertemplate="%{x:.3%}<extra></extra>",
    )
    return figure(
        [bar],
        title=_("Predictions at {token}").format(token=token_label(token)),
        **plot_room(ROW * n + EDGE, BOTTOM),
        xaxis={
            "title": _("probability"),
            "tickformat": ".0%",
            "range": [0, 1.15 * max(0.05, candidates["probability"].max())],
        },
        yaxis=row_names([token_label(label) for label in candidates["label"]]),
    )

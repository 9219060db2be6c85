"""How surprised the model was by each token of a text."""

from typing import Any

from blocks.inspection.predictions import SurpriseFacts
from pages.figures import marks, palette
from pages.figures.counting import from_one, told_apart
from pages.figures.marks import dashed, level
from pages.figures.table_rows import each_row
from pages.figures.theme import TITLE_AND_LEGEND, Picture, Translate, figure, token_label
from pages.figures.token_axis import columns, label_room, slanted
from pages.figures.weights import behind

NAMES, BARS = 24, 230


def bars(facts: SurpriseFacts, *, _: Translate) -> Picture:
    """Bits of surprise at each token, with the mean; a click returns the token's position."""
    tokens, guess_bits = facts.tokens, facts.guess_bits
    labels = [told_apart(facts.run.input.labels)[position] for position in tokens["position"]]
    room = label_room(labels)
    most = 1.12 * max(guess_bits, tokens["bits"].max())
    mean, n = facts.bits, len(tokens)
    bar = marks.bars(
        range(n),
        tokens["bits"].tolist(),
        marker={"color": palette.EMBEDDING},
        **marks.steady(),
        hoverinfo="skip",
    )
    hovers = [_hover(*each, _) for each in zip(labels, each_row(tokens), strict=True)]
    outlined = [i for i, position in enumerate(tokens["position"]) if position == facts.pinned]
    return figure(
        [bar, columns(hovers, tokens["position"].tolist(), most)],
        title=_("Surprisal of each token"),
        height=TITLE_AND_LEGEND + BARS + room,
        margin=(TITLE_AND_LEGEND, room),
        barmode="overlay",
        xaxis=slanted(labels, NAMES),
        yaxis={"title": _("surprisal (bits)"), "range": [0, most]},
        shapes=[
            level(mean, line=dashed(dash="solid")),
            level(guess_bits, line=dashed(dash="dot")),
            *(behind(i) for i in outlined),
        ],
        annotations=[
            _line_names(
                _("solid: mean {bits:.2f} bits").format(bits=mean),
                _("dotted: uniform guess {bits:.2f} bits").format(bits=guess_bits),
            )
        ],
    )


def _line_names(*names: str) -> dict[str, Any]:
    """What the lines are, above the bars, where nothing stands in the way."""
    place = {"x": 0, "xref": "paper", "y": 1, "yref": "paper", "yanchor": "bottom"}
    return {**place, "text": " · ".join(names), "xanchor": "left"}


def _hover(label: str, row: Any, _: Translate) -> str:
    text = _("{position} · {token}: {bits:.2f} bits, probability {share:.3%}, rank {rank}")
    return text.format(
        position=from_one(row.position),
        token=token_label(label),
        bits=row.bits,
        share=row.probability,
        rank=row.rank,
    )

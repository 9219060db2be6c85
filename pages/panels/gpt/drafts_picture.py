"""How fast a text grows with drafts, and how many drafts of each module stand."""

from blocks.inspection.drafts import DraftFacts
from pages.figures import marks, palette
from pages.figures.counting import from_one
from pages.figures.theme import TITLE, TITLE_AND_LEGEND, Picture, Translate, figure, legend

HEIGHT, BOTTOM, ROOM = 320, 48, 1.08


def growth(facts: DraftFacts, *, _: Translate) -> Picture:
    """Tokens written over passes, against one token a pass."""
    rows = facts.table()
    passes, so_far = [0, *rows["pass"]], [0, *rows["n_tokens"]]
    hover = _("pass {n}: {tokens} tokens so far").format(n="%{x}", tokens="%{y}")
    return figure(
        [
            marks.line(
                passes,
                passes,
                name=_("one token per pass"),
                line=marks.dashed(),
                hoverinfo="skip",
            ),
            marks.line(
                passes,
                so_far,
                name=_("with drafts"),
                mode="lines+markers",
                line={"color": palette.MTP, "width": 2.5, "shape": "hv"},
                marker={"color": palette.MTP, "size": 6},
                hovertemplate=f"{hover}<extra></extra>",
            ),
        ],
        title=_("Total tokens written after each pass"),
        height=HEIGHT,
        margin=(TITLE_AND_LEGEND, BOTTOM),
        **legend(),
        xaxis={"title": _("forward passes"), "range": [0, ROOM * passes[-1]]},
        yaxis={"title": _("new tokens"), "range": [0, ROOM * so_far[-1]]},
    )


def acceptance(facts: DraftFacts, *, _: Translate) -> Picture:
    """The share of its drafts that the model would have written too, a bar a module."""
    text = _("module {number}: {n} of {all} drafts accepted")
    modules = facts.modules
    names = [_("module {n}").format(n=from_one(k)) for k in range(len(modules))]
    hovers = [
        text.format(number=from_one(k), n=each.n_accepted, all=each.n_drafted)
        for k, each in enumerate(modules)
    ]
    return figure(
        [
            marks.bars(
                names,
                [each.share for each in modules],
                text=[f"{each.share:.0%}" for each in modules],
                textposition="auto",
                insidetextfont={"color": "white"},
                cliponaxis=False,
                marker={"color": palette.MTP},
                **marks.told(hovers),
            )
        ],
        title=_("Drafts that the model accepts"),
        height=HEIGHT,
        margin=(TITLE, BOTTOM),
        showlegend=False,
        bargap=0.5,
        xaxis={"title": _("drafted by"), "type": "category"},
        yaxis={"title": _("acceptance rate"), "range": [0, 1.04], "tickformat": ".0%"},
    )

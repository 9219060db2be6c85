"""By how much each token makes the next one more likely, or less."""

from blocks.inspection.leave_one_out import LeftOut
from pages.figures import marks, palette
from pages.figures.counting import from_one, told_apart
from pages.figures.theme import Picture, Translate, figure, token_label
from pages.figures.token_axis import columns, label_room, slanted

NAMES, BARS, TOP = 24, 250, 30


def bars(facts: LeftOut, *, _: Translate) -> Picture:
    """Bits that each token adds to the prediction; a click returns the token's position."""
    names = told_apart(facts.run.input.labels)
    labels, effects = [names[place] for place in facts.places], facts.effects
    room = label_room(labels)
    low, high = min(-1.0, 1.1 * effects.min()), max(1.0, 1.1 * effects.max())
    bar = marks.bars(
        range(len(labels)),
        effects.tolist(),
        marker={"color": [palette.ATTENTION if x >= 0 else palette.FEED_FORWARD for x in effects]},
        **marks.steady(),
        hoverinfo="skip",
    )
    hovers = [_hover(facts, i, label, _) for i, label in enumerate(labels)]
    targets = columns(hovers, list(facts.places), high - low) | {"base": low}
    return figure(
        [bar, targets],
        title=_("Effect of each token on the prediction"),
        height=TOP + BARS + room,
        margin=(TOP, room),
        barmode="overlay",
        xaxis=slanted(labels, NAMES),
        yaxis={"title": _("gain in log-probability (bits)"), "range": [low, high]},
    )


def _hover(facts: LeftOut, i: int, label: str, _: Translate) -> str:
    text = _(
        "{position} · {token}: {bits:+.2f} bits; hiding it changes the probability from "
        "{whole:.2%} to {share:.2%}"
    )
    return text.format(
        position=from_one(facts.places[i]),
        token=token_label(label),
        bits=facts.effects[i],
        share=facts.left(i),
        whole=facts.probability,
    )

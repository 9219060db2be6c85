"""By how much each token makes the next one more likely, or less."""

from collections.abc import Iterable
from typing import NamedTuple

from blocks.inspection.leave_one_out import LeftOut
from pages.figures import marks, palette
from pages.figures.counting import from_one, read_apart, told_apart
from pages.figures.theme import Picture, Translate, figure, token_label, word_label
from pages.figures.token_axis import columns, label_room, slanted
from pages.panels.gpt.few_bars_picture import few_bars

NAMES, BARS, TOP, N_FEW = 24, 250, 30, 5
OF_TEXT = 0.35  # of the length of the bars: room for what is written at their ends


class Answer(NamedTuple):
    """What was predicted, as it is called, and what is left of it without each token."""

    label: str
    facts: LeftOut


def few(answer: Answer, *, _: Translate) -> Picture:
    """The tokens without which a prediction loses most; a click returns the token's position."""
    facts = answer.facts
    names, shown = read_apart(facts.run.input.labels), facts.most(N_FEW)
    places, bits = [facts.places[i] for i in shown], facts.effects[shown]
    low, high = min(0.0, bits.min()), max(1.0, bits.max())
    room = OF_TEXT * (high - low)
    low, high = low - room * (low < 0), high + room
    bars = marks.lying(
        bits.tolist(),
        range(len(shown)),
        **marks.written(_("{bits:.1f} bits").format(bits=each) for each in bits),
        marker={"color": _colors(bits)},
        **marks.steady(),
        hoverinfo="skip",
    )
    return few_bars(
        bars,
        [names[place] for place in places],
        [_hover(facts, i, names[place], _) for i, place in zip(shown, places, strict=True)],
        places,
        title=_("What “{token}” loses without a token").format(token=word_label(answer.label)),
        reach=(low, high),
    )


def _colors(bits: Iterable[float]) -> list[str]:
    return [palette.ATTENTION if each >= 0 else palette.FEED_FORWARD for each in bits]


def bars(facts: LeftOut, *, _: Translate) -> Picture:
    """Bits that each token adds to the prediction; a click returns the token's position."""
    names = told_apart(facts.run.input.labels)
    labels, effects = [names[place] for place in facts.places], facts.effects
    room = label_room(labels)
    low, high = min(-1.0, 1.1 * effects.min()), max(1.0, 1.1 * effects.max())
    bar = marks.bars(
        range(len(labels)),
        effects.tolist(),
        marker={"color": _colors(effects)},
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

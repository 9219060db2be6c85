"""By how much each token makes the next one more likely, or less."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from blocks.inspection.leave_one_out import LeftOut
from pages.figures import marks, palette
from pages.figures.counting import from_one, read_apart
from pages.figures.theme import Picture, Translate, token_label, word_label
from pages.panels.gpt.few_bars_picture import few_bars

N_FEW = 5
OF_TEXT, BY_NAMES = 0.35, 0.45  # of the length of the bars: room for what is written at an end


class Answer(NamedTuple):
    """What was predicted, as it is called, and what is left of it without each token."""

    label: str
    facts: LeftOut


def few(answer: Answer, *, _: Translate) -> Picture:
    """The tokens without which a prediction loses most; a click returns the token's position."""
    facts = answer.facts
    labels, shown = read_apart(facts.run.input.labels), facts.most(N_FEW)
    names = [labels[place] for place in facts.places]
    places, bits = [facts.places[i] for i in shown], facts.effects[shown]
    low, high = min(0.0, bits.min()), max(1.0, bits.max())
    length = high - low
    low, high = low - BY_NAMES * length * (low < 0), high + OF_TEXT * length
    bars = marks.lying(
        bits.tolist(),
        range(len(shown)),
        **marks.written(_("{bits:.1f} bits").format(bits=each) for each in bits),
        marker={"color": colors(bits)},
        **marks.steady(),
        hoverinfo="skip",
    )
    return few_bars(
        bars,
        [names[i] for i in shown],
        hovers(facts, names, shown, _=_),
        places,
        title=_("How much each token helps to predict “{token}”").format(
            token=word_label(answer.label)
        ),
        reach=(low, high),
    )


def colors(bits: Iterable[float]) -> list[str]:
    return [palette.ATTENTION if each >= 0 else palette.FEED_FORWARD for each in bits]


def hovers(
    facts: LeftOut, names: Sequence[str], shown: Iterable[int] | None = None, *, _: Translate
) -> list[str]:
    """What hiding each of the places does to the prediction; or each that is `shown`."""
    text = _(
        "{position} · {token}: {bits:+.2f} bits; hiding it changes the probability from "
        "{whole:.2%} to {share:.2%}"
    )
    return [
        text.format(
            position=from_one(facts.places[i]),
            token=token_label(names[i]),
            bits=facts.effects[i],
            share=facts.left(i),
            whole=facts.probability,
        )
        for i in (range(len(facts.places)) if shown is None else shown)
    ]

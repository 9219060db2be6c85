"""What the loss says to each score of one row."""

from blocks.inspection.head_facts import window
from blocks.inspection.score_gradient import ScoreGradient
from pages.figures import marks, palette
from pages.figures.counting import from_one, head_called, told_apart
from pages.figures.numbers import readable
from pages.figures.theme import TITLE, Picture, Translate, figure, token_label
from pages.figures.token_axis import columns, label_room, slanted

HEIGHT, NAMES, MOST_KEYS = 200, 24, 48


def bars(facts: ScoreGradient, *, _: Translate) -> Picture:
    """∂L/∂S of each key, the one that is written out marked; a click returns a key."""
    shown = window(len(facts.weights), facts.key, MOST_KEYS)
    names = told_apart(facts.run.input.labels)[shown.rows]
    values, keys = facts.of_scores[shown.rows], range(shown.first, shown.end)
    largest = 1.15 * (abs(values).max() or 1.0)
    colors = [palette.FEED_FORWARD if value > 0 else palette.ATTENTION for value in values]
    lines = [2.5 if key == facts.key else 0 for key in keys]
    bar = marks.bars(
        range(len(names)),
        values.tolist(),
        marker={"color": colors, "line": {"color": palette.PINNED, "width": lines}},
        **marks.steady(),
        hoverinfo="skip",
    )
    hovers = [_hover(facts, key, name, _) for key, name in zip(keys, names, strict=True)]
    targets = columns(hovers, list(keys), 2 * largest) | {"base": -largest}
    room = label_room(names)
    title = _("{head}: gradient of the loss at each score")
    return figure(
        [bar, targets],
        title=title.format(head=head_called(facts.layer, facts.head, _)),
        height=TITLE + HEIGHT + room,
        margin=(TITLE, room),
        barmode="overlay",
        xaxis=slanted(names, NAMES),
        yaxis={"title": "∂L/∂S", "range": [-largest, largest], "nticks": 5},
    )


def _hover(facts: ScoreGradient, key: int, name: str, _: Translate) -> str:
    text = _("{position} · {token}: A = {weight}, ∂L/∂A = {of_weight}, ∂L/∂S = {of_score}")
    return text.format(
        position=from_one(key),
        token=token_label(name),
        weight=readable(facts.weights[key]),
        of_weight=readable(facts.of_weights[key]),
        of_score=readable(facts.of_scores[key]),
    )

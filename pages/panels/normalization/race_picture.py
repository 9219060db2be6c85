"""Loss curves of placements that are trained side by side."""

from collections.abc import Mapping

from blocks.training.race import GUESS, RaceFacts
from pages.figures import marks
from pages.figures.series import legend_room, placement_line, step_hover, training_losses
from pages.figures.theme import Picture, Translate

HEIGHT = 310  # with the controls above it, above the fold of a laptop


def losses(facts: RaceFacts, names: Mapping[str, str], *, _: Translate) -> Picture:
    """Loss over updates, a curve a placement."""
    traces = [
        marks.line(
            found["update"],
            found["loss"],
            name=names[str(placement)],
            line=placement_line(str(placement)),
            hovertemplate=step_hover(names[str(placement)], _),
        )
        for placement, found in facts.curves.groupby("placement", sort=False)
    ]
    return training_losses(
        traces,
        title=_("Training loss of each run"),
        n_updates=facts.n_planned,
        guess=GUESS,
        room=legend_room(names),
        height=HEIGHT,
        _=_,
    )

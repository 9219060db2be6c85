"""Why scores are divided by √d_head: with and without, in one head and in random vectors."""

from blocks.inspection import scaling, source
from blocks.observe.run import Run
from pages.figures import scaling as pictures
from pages.ui import link
from pages.ui.attention import controls, frames, measured, scaling_words, step_words
from pages.ui.attention.words import head_called
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say


@section
def why_divide(run: Run, layer: int, head: int, token: int) -> None:
    """The switch, the row of the pinned token, and the curves."""
    code = (*source.heads_source(), scaling.sharpness)
    with explained(("scaling",), code, key="scaling"):
        say(scaling_words.scaling_sentence, run, layer, head)
    controls.scaling_switch()
    is_scaled = link.value("is_scaled")
    left, right = columns([5, 7])
    with left:
        shown = run, layer, head, token, is_scaled
        show(draw_row, *shown, key="scaled_row", alt=scaling_words.row_alt)
    with right:
        shown = run, layer, head, is_scaled
        show(draw_curves, *shown, key="scaling_curves", alt=scaling_words.scaling_alt)
    shown = frames.window(run, token, frames.MOST_LINES)
    if said := step_words.drawn_note(run, layer, head, token, shown):
        note(said)
    note(scaling_words.random_scaling_note(run))


def draw_row(run: Run, layer: int, head: int, token: int, is_scaled: bool):
    """The weights of the pinned token, and where they would be the other way."""
    keys = slice(*frames.window(run, token, frames.MOST_LINES))
    chosen, other = (
        measured.row_weights(run, layer, head, token, way)[keys]
        for way in (is_scaled, not is_scaled)
    )
    title = _("What the pinned token attends to")
    return pictures.row(chosen, other, run.input.labels[keys], title=title, _=_)


def draw_curves(run: Run, layer: int, head: int, is_scaled: bool):
    """Random vectors of every width, and this head."""
    return pictures.curves(
        measured.random_sharpness(run),
        measured.both_ways(run, layer, head),
        is_scaled=is_scaled,
        head_name=head_called(layer, head),
        _=_,
    )

"""Attention is not contribution: weight beside what is really added, and heads that rest."""

from functools import partial

from blocks.inspection import contribution as measures
from blocks.observe.run import Run
from pages.figures import contribution as pictures
from pages.ui.attention import contribution_words, controls, measured, tables
from pages.ui.attention.words import head_called
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.steps import in_steps
from pages.ui.views import pin_token


@section
def weight_and_contribution(run: Run, layer: int, head: int, token: int) -> None:
    """The keys of the pinned token, by weight and by what they add; then the first token."""
    code = (measures.contribution, measures.value_norms, measures.first_token)
    shown = run, layer, controls.counted_head(head), token
    with explained(("contribution",), code, key="contribution"):
        say(contribution_words.contribution_sentence, *shown)
    controls.counted_choice()
    left, right = columns([7, 5])
    with left:
        show(
            draw_contribution,
            *shown,
            key="contribution",
            alt=contribution_words.contribution_alt,
            on_click=pin_token,
        )
        note(tables.contribution_note(*shown))
    with right:
        rests_on_the_first(run, layer, head)


def rests_on_the_first(run: Run, layer: int, head: int) -> None:
    """Every head of the model: its weight on the first token, and what that would move."""
    layers = [partial(measured.first_token, run, number) for number in range(run.config.n_layers)]
    if in_steps(layers, what=run, key="first_token").is_stopped:
        return
    show(
        draw_sinks,
        run,
        layer,
        head,
        key="sinks",
        alt=contribution_words.sinks_alt,
        on_click=controls.open_head,
    )
    note(contribution_words.sinks_sentence(run))


def draw_contribution(run: Run, layer: int, head: int | None, token: int):
    """Weight, length and share, a row a key."""
    counted = _("all heads of the layer") if head is None else head_called(layer, head)
    title = _("At {token}: {counted}").format(token=run.input.labels[token], counted=counted)
    rows = tables.contribution_rows(run, layer, head, token)
    return pictures.bars(rows, title=title, _=_)


def draw_sinks(run: Run, layer: int, head: int):
    """A point a head."""
    return pictures.sinks(
        tables.sink_points(run),
        above=measures.SINK_ABOVE,
        below=measures.SMALL_BELOW,
        selected=(layer, head),
        _=_,
    )

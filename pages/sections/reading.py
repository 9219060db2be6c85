"""How the model reads the text: what each layer would say, and what surprises it."""

from blocks.inspection import lens as lenses
from blocks.inspection import predictions
from blocks.observe.run import Run
from pages.figures import lens, surprise
from pages.ui import gpt_tables, next_words, predicted, reading_words
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.frame import section
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.sampling_controls import pin_position


@section
def what_each_layer_says(run: Run, position: int) -> None:
    """The logit lens: what the model would say if it stopped after each layer."""
    with explained(("logit_lens",), (lenses.logit_lens,), key="lens"):
        say(reading_words.lens_sentence, run, position)
    show(
        draw_lens,
        run,
        position,
        key="lens_grid",
        alt=reading_words.lens_alt,
        on_click=pin_position,
    )
    note(reading_words.lens_note(run, position))


@section
def what_surprises(run: Run, position: int) -> None:
    """Loss and surprise at each token of the text."""
    place = explained(("surprise",), (predictions.surprise,), key="surprise")
    if predicted.surprise(run).empty:
        place.info(reading_words.one_token_only(), icon=":material/lightbulb:")
        return
    if said := next_words.sees_ahead(run):
        note(said)
    with place:
        say(reading_words.surprise_sentence, run)
    left, right = columns([7, 4])
    with left:
        show(
            draw_surprise,
            run,
            position,
            key="surprise_bars",
            alt=reading_words.surprise_alt,
            on_click=pin_position,
        )
    with right:
        gpt_tables.surprise(run)


def draw_lens(run: Run, position: int):
    """The lens around the pinned token."""
    view = predicted.lens_view(run, position)
    return lens.grid(
        view.labels,
        reading_words.lens_hovers(run, position),
        view.probability,
        view.rank,
        tokens=[run.input.labels[at] for at in view.positions],
        layers=[reading_words.layer_name(layer) for layer in view.layers],
        numbers=view.positions,
        pinned=view.positions.index(position),
        _=_,
    )


def draw_surprise(run: Run, position: int):
    """Bits at each token."""
    return surprise.bars(
        predicted.surprise(run), guess_bits=predicted.guess_bits(run), pinned=position, _=_
    )

"""What comes next: the model's own probabilities, and what sampling makes of them."""

from blocks.observe.run import Run
from blocks.text import sampling as source
from blocks.text.sampling import SamplingConfig
from pages.figures import next_token
from pages.ui import gpt_tables, next_words, predicted
from pages.ui.chart import columns, show
from pages.ui.explain import explained, note
from pages.ui.language import _
from pages.ui.said import say
from pages.ui.sampling_controls import sampling_controls


def what_comes_next(run: Run, position: int, sampling: SamplingConfig) -> None:
    """The likeliest tokens after the pinned one, before and after sampling."""
    code = (source.filtered, source.choose, source.next_tokens)
    place = explained(("sampling",), code, key="next")
    if said := next_words.sees_ahead(run):
        note(said)
    left, right = columns([4, 7], gap="large")
    with left:
        sampling_controls()
        with place:
            say(next_words.next_sentence, run, position, sampling)
    with right:
        show(draw_next, run, position, sampling, key="next_bars", alt=next_words.next_alt)
    gpt_tables.next_tokens(run, position, sampling)


def draw_next(run: Run, position: int, sampling: SamplingConfig):
    """The likeliest tokens, and the chance of each."""
    return next_token.bars(
        predicted.likeliest(run, position, sampling), after=run.input.labels[position], _=_
    )

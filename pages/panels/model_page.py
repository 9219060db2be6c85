"""A page about one model that runs: what goes in, and its questions."""

from collections.abc import Callable, Sequence

from blocks.model.kinds import Architecture
from blocks.observe.run import Run
from pages.page import panel
from pages.page.frame import recorded, show_page, shown_run, subtitle
from pages.page.panel import Panel
from pages.panels.inputs import what_goes_in
from pages.panels.legible import note_what_is_not_read
from pages.show import words
from pages.stage import link, progress


def show_model_page(
    title: str,
    panels: Sequence[Panel],
    *,
    architecture: Architecture | None = None,
    files: Callable[..., None] | None = None,
    input_of: Callable[[Run], None] | None = None,
    summary: Callable[[Run], str] = words.summary,
) -> None:
    """Draw the page; `architecture`: the one it is about, `files`: what can be taken away.

    `input_of` draws the controls of its input, `summary` says what the model is.
    """

    def body() -> None:
        run = shown_run(architecture, panel.fields(panels))
        if panel.reads_input(panels):
            what_goes_in(run, input_of)
            if architecture is Architecture.GPT and not progress.now():  # it gives answers away
                note_what_is_not_read(run, link.now())
        recorded(run)
        if panel.is_of_this_run(panels):
            subtitle(summary(run))
        panel.show(panels, run, files=files)

    show_page(title, body, architecture)
